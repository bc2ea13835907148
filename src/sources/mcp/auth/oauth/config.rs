//! The configuration of the login at one server.

use super::super::{Secret, denied};
use super::store::TokenStore;
use http::Uri;
use reqwest::Url;
use serde::Serialize;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::process::Command;
use toolhub_protocol::net::is_loopback;
use toolhub_text::{Message, message};
use toolhub_types::error::{Result, clip};
use toolhub_types::model::Lang;
use toolhub_types::tool::BoxFuture;

/// Shows the user the page of a login. It may return before the user has answered. It only ever gets http(s) URLs.
pub type Opener = Arc<dyn Fn(Url) -> BoxFuture<'static, Result<()>> + Send + Sync>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Grant {
    /// A person signs in, in a browser.
    #[default]
    AuthorizationCode,
    /// The program has an identity of its own.
    ClientCredentials,
}

/// What the user says about a login. What is not given is found out, or registered. As JSON: whom the login is for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OAuthSettings {
    pub grant: Grant,
    /// A client that was registered at the authorization server beforehand.
    pub client_id: Option<String>,
    #[serde(skip)]
    pub client_secret: Option<Secret>,
    /// The scopes to request first. Empty: those that the server names.
    pub scopes: Vec<String>,
    /// Of the redirect to this machine. `None`: any free one.
    #[serde(skip)]
    pub redirect_port: Option<u16>,
    /// The whole redirect, for a client that was registered with this one: `http://localhost:8080/…`.
    #[serde(skip)]
    pub redirect_uri: Option<String>,
    /// The authorization server that the client belongs to. A server that names another one is refused.
    pub issuer: Option<String>,
    /// Where the metadata of the authorization server is, for servers that do not say it.
    pub metadata_url: Option<String>,
    /// The endpoints themselves, for authorization servers without metadata. The first one is enough for client credentials.
    pub token_url: Option<String>,
    pub authorization_url: Option<String>,
    /// A document on the web that describes this client; its URL is the client's id.
    pub client_id_metadata_url: Option<String>,
}

impl OAuthSettings {
    /// The key that is missing or wrong, and the rest of a sentence about it.
    ///
    /// A client secret goes to the authorization server that the user names, and to no other. Otherwise the MCP server would say
    /// who gets it.
    pub fn problem(&self) -> Option<(&'static str, &'static str)> {
        const MISSING: &str = "is missing.";
        let is_robot = self.grant == Grant::ClientCredentials;
        let has_secret = self.client_secret.is_some();
        let names_issuer = [&self.issuer, &self.metadata_url, &self.token_url] != [&None; 3];
        let is_bad = |text: &Option<String>, is_good: fn(&Url) -> bool| {
            text.as_ref().is_some_and(|text| !Url::parse(text).is_ok_and(|url| is_good(&url)))
        };
        let is_document = |url: &Url| url.scheme() == "https" && url.path() != "/";
        let is_of_this_machine =
            |url: &Url| url.scheme() == "http" && is_loopback(url) && url.query().is_none();
        // A `Url` drops the port 80.
        let has_port = |text: &String| text.parse::<Uri>().is_ok_and(|uri| uri.port().is_some());
        let rules = [
            (self.client_id.is_none() && (has_secret || is_robot), "client_id", MISSING),
            (is_robot && !has_secret, "client_secret", MISSING),
            (
                has_secret && !names_issuer,
                "issuer",
                "is missing, so this server could choose who gets the client secret; add the line \"issuer\": \"https://YOUR-AUTHORIZATION-SERVER\" (or \"metadata_url\" or \"token_url\").",
            ),
            (self.authorization_url.is_some() && self.token_url.is_none(), "token_url", MISSING),
            (
                is_bad(&self.client_id_metadata_url, is_document),
                "client_metadata_url",
                "must be an https URL with a path.",
            ),
            (
                is_bad(&self.redirect_uri, is_of_this_machine)
                    || self.redirect_uri.as_ref().is_some_and(|text| !has_port(text)),
                "redirect_uri",
                "must be an http URL of this machine with a port.",
            ),
        ];
        rules.into_iter().find(|(is_broken, ..)| *is_broken).map(|(_, key, why)| (key, why))
    }
}

#[derive(Clone)]
pub struct OAuthConfig {
    pub server_url: String,
    pub settings: OAuthSettings,
    pub store: Arc<TokenStore>,
    pub opener: Opener,
    /// The language of the page that the browser shows after the login.
    pub lang: Lang,
    /// How long the user may take to sign in.
    pub login_timeout: Duration,
    /// The id of the server, for advice.
    pub server_id: Arc<str>,
    /// Set while no user could answer a login: it then fails at once.
    pub is_unattended: Arc<AtomicBool>,
}

impl OAuthConfig {
    pub fn new(server_url: impl Into<String>) -> Self {
        OAuthConfig {
            server_url: server_url.into(),
            settings: OAuthSettings::default(),
            store: Arc::default(),
            opener: Arc::new(open_browser),
            lang: Lang::En,
            login_timeout: Duration::from_secs(300),
            server_id: Arc::from(""),
            is_unattended: Arc::default(),
        }
    }

    /// Fails when a user is needed and none is there.
    pub(super) fn check_attended(&self) -> Result<()> {
        if self.settings.grant != Grant::AuthorizationCode || !self.is_unattended.load(Ordering::Relaxed) {
            return Ok(());
        }
        let id = clip(&self.server_id);
        Err(denied(message!(
            "The server '{}' requires a login; run 'toolhub login {}' on this machine.",
            id,
            id
        )))
    }

    /// The server's URL, when all settings go together.
    pub(super) fn check(&self) -> Result<Url> {
        match self.settings.problem() {
            Some((key, why)) => Err(denied(format!("OAuth cannot be set up: `{key}` {why}"))),
            None => parse(&self.server_url, "server_url"),
        }
    }

    /// Further URLs that the user wrote.
    pub(super) fn named_urls(&self) -> impl Iterator<Item = Url> {
        let OAuthSettings { metadata_url, issuer, token_url, authorization_url, .. } = &self.settings;
        let named = [metadata_url, issuer, token_url, authorization_url].into_iter().flatten();
        named.filter_map(|text| Url::parse(text).ok())
    }
}

pub(super) fn parse(text: &str, what: &str) -> Result<Url> {
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        _ => Err(denied(format!("{what} must be an http(s) URL, but is '{}'.", clip(text)))),
    }
}

// Opens the page of a login in the user's browser: by a fixed program, without a shell.

const PROGRAM: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// The default opener. It ends when the program does, which may be when the user closes the browser.
pub fn open_browser(url: Url) -> BoxFuture<'static, Result<()>> {
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
        match command.status().await {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failed(status.to_string().into())),
            Err(error) => Err(failed(error.to_string().into())),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_do_not_go_together_are_named() {
        let with = |change: fn(&mut OAuthSettings)| {
            let mut config = OAuthConfig::new("https://mcp.example.com/mcp");
            change(&mut config.settings);
            config.check().err().map(|error| error.message.into_owned())
        };
        assert_eq!(with(|_| {}), None);
        for (change, named) in [
            ((|c| c.client_secret = Some("s".into())) as fn(&mut OAuthSettings), "client_id"),
            (|c| c.grant = Grant::ClientCredentials, "client_id"),
            (|c| (c.client_id, c.client_secret) = (Some("me".into()), Some("s".into())), "issuer"),
            (|c| c.client_id_metadata_url = Some("http://x/y".into()), "client_metadata_url"),
            (|c| c.authorization_url = Some("https://x/".into()), "token_url"),
            (|c| c.redirect_uri = Some("http://example.com:1/".into()), "redirect_uri"),
            (|c| c.redirect_uri = Some("http://localhost/".into()), "redirect_uri"),
            (|c| c.redirect_uri = Some("http://localhost/a:80".into()), "redirect_uri"),
        ] {
            assert!(with(change).is_some_and(|message| message.contains(named)), "{named}");
        }
        assert_eq!(with(|c| c.redirect_uri = Some("http://localhost:80/callback".into())), None);
    }

    #[test]
    fn the_address_of_the_server_is_checked() {
        assert!(OAuthConfig::new("mcp.example.com").check().unwrap_err().message.contains("server_url"));
    }

    #[test]
    fn debug_shows_no_secret() {
        let mut config = OAuthConfig::new("https://mcp.example.com/mcp");
        config.settings.client_secret = Some("t0p".into());
        assert!(!format!("{:?}", config.settings).contains("t0p"));
    }
}

#[cfg(test)]
mod browser_tests {
    use super::*;

    #[tokio::test]
    async fn only_web_addresses_are_opened() {
        for url in ["file:///etc/passwd", "javascript:alert(1)", "smb://host/share", "vscode://x"] {
            let error = open_browser(Url::parse(url).unwrap()).await.unwrap_err();
            assert!(error.message.contains("only http"), "{error}");
        }
    }
}
