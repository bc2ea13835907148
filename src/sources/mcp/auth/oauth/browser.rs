//! Opens the page of a login in the user's browser: by a fixed program, without a shell.

use super::super::denied;
use reqwest::Url;
use std::process::Stdio;
use tokio::process::Command;
use toolhub_text::message;
use toolhub_text::message::Message;
use toolhub_types::error::HubError;
use toolhub_types::tool::BoxFuture;

const PROGRAM: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// The default opener. It ends when the program does, which may be when the user closes the browser.
pub fn open_browser(url: Url) -> BoxFuture<'static, Result<(), HubError>> {
    Box::pin(async move {
        let failed = |why: Message| {
            denied(message!(
                "No browser can be opened for the login ({}: {}); give an opener that shows the address to the user.",
                PROGRAM,
                why
            ))
        };
        // The program's parser never sees anything but an http(s) URL, which cannot look like an option.
        if !matches!(url.scheme(), "http" | "https") {
            return Err(failed("only http and https addresses are opened".into()));
        }
        let mut command = Command::new(PROGRAM);
        command.arg(url.as_str());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // The browser outlives us and does not get our Ctrl-C.
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| failed(error.to_string().into()))?;
        match child.wait().await {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failed(status.to_string().into())),
            Err(error) => Err(failed(error.to_string().into())),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_web_addresses_are_opened() {
        for url in ["file:///etc/passwd", "javascript:alert(1)", "smb://host/share", "vscode://x"] {
            let error = open_browser(Url::parse(url).unwrap()).await.unwrap_err();
            assert!(error.message.contains("only http"), "{error}");
        }
    }
}
