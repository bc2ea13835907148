//! The redirect at the end of a login: a listener on this machine that takes one answer.

use super::super::{denied, quote};
use reqwest::Url;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use toolhub_text::message;
use toolhub_text::message::Message;
use toolhub_types::error::HubError;
use toolhub_types::model::Lang;

const DEFAULT: &str = "http://127.0.0.1/callback";
/// Codes are short, but some servers send long extra parameters.
const MAX_HEAD: usize = 32 << 10;
/// For one connection: browsers open some in advance and send nothing on them.
const PATIENCE: Duration = Duration::from_secs(20);
const MAX_CONNECTIONS: usize = 32;

pub(super) struct Redirect {
    listener: TcpListener,
    uri: Url,
}

/// What identifies the answer of this login.
pub(super) struct Expected {
    pub(super) state: String,
    pub(super) issuer: String,
    /// The authorization server promised to name itself (RFC 9207).
    pub(super) must_name_issuer: bool,
    /// The language of the page.
    pub(super) lang: Lang,
}

impl Redirect {
    /// Listens for this redirect, which is one of this machine; without one, on any free port.
    pub(super) async fn bind(uri: Option<&str>) -> Result<Self, HubError> {
        let unusable = |why: &str| {
            let uri = uri.map(|uri| format!(" '{uri}'")).unwrap_or_default();
            denied(format!("The login redirect{uri} cannot be waited for: {why}."))
        };
        let mut wanted = Url::parse(uri.unwrap_or(DEFAULT)).map_err(|error| unusable(&error.to_string()))?;
        let bound = TcpListener::bind(("127.0.0.1", wanted.port().unwrap_or(0))).await;
        let listener = bound.map_err(|error| unusable(&format!("the port is not free ({error})")))?;
        let port = listener.local_addr().map_err(|error| unusable(&error.to_string()))?.port();
        wanted.set_port(Some(port)).map_err(|()| unusable("it has no port"))?;
        Ok(Redirect { listener, uri: wanted })
    }

    /// The redirect with this port.
    pub(super) fn with_port(port: u16) -> String {
        format!("http://127.0.0.1:{port}/callback")
    }

    pub(super) fn uri(&self) -> &str {
        self.uri.as_str()
    }

    /// The code. Only an answer with the right state counts, so that no other page can end the login; the first one does,
    /// and then the listener is closed. Dropping the future closes the port.
    pub(super) async fn code(self, expected: Expected) -> Result<String, HubError> {
        let (expected, uri) = (Arc::new(expected), Arc::new(self.uri));
        let (found, mut answers) = mpsc::channel(1);
        let mut visitors = JoinSet::new();
        loop {
            tokio::select! {
                Some(answer) = answers.recv() => return answer,
                _ = visitors.join_next(), if visitors.len() >= MAX_CONNECTIONS => {}
                visit = self.listener.accept(), if visitors.len() < MAX_CONNECTIONS => {
                    if let Ok((stream, _)) = visit {
                        let visit = receive(stream, Arc::clone(&uri), Arc::clone(&expected), found.clone());
                        visitors.spawn(tokio::time::timeout(PATIENCE, visit));
                    }
                }
            }
        }
    }
}

type Found = mpsc::Sender<Result<String, HubError>>;

/// One visitor: reads the request, shows a page, and passes on what was found.
async fn receive(mut stream: TcpStream, uri: Arc<Url>, expected: Arc<Expected>, found: Found) {
    let Some(head) = read_head(&mut stream).await else { return };
    let (status, text, answer) = match parameters(&head, &uri) {
        None => ("404 Not Found", "There is nothing here.", None),
        Some(fields) if fields.get("state") != Some(&expected.state) => {
            ("400 Bad Request", "This page does not belong to a pending login.", None)
        }
        Some(fields) => match expected.check(&fields) {
            Ok(code) => ("200 OK", "You are signed in. You can close this window.", Some(Ok(code))),
            Err(error) => ("400 Bad Request", "The login failed. The program says why.", Some(Err(error))),
        },
    };
    let _ = stream.write_all(page(status, &Message::from(text).text(expected.lang)).as_bytes()).await;
    let _ = stream.shutdown().await;
    if let Some(answer) = answer {
        // Full: another answer was first.
        let _ = found.try_send(answer);
    }
}

impl Expected {
    fn check(&self, fields: &HashMap<String, String>) -> Result<String, HubError> {
        match fields.get("iss") {
            Some(issuer) if *issuer != self.issuer => {
                return Err(denied(message!(
                    "The login was answered by '{}' instead of the authorization server '{}'; its answer is not used.",
                    quote(issuer, &[]),
                    quote(&self.issuer, &[])
                )));
            }
            None if self.must_name_issuer => {
                return Err(denied(message!(
                    "The login response does not name its authorization server, as '{}' promised; it is not used.",
                    quote(&self.issuer, &[])
                )));
            }
            _ => {}
        }
        if let Some(code) = fields.get("code").filter(|code| !code.is_empty()) {
            return Ok(code.clone());
        }
        let error = fields.get("error").map_or("no code", String::as_str);
        let why = fields.get("error_description").map(|text| format!(": {}", quote(text, &[])));
        let why = format!("{}{}", quote(error, &[]), why.unwrap_or_default());
        Err(denied(message!("The login was refused ({}).", why)))
    }
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > MAX_HEAD || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

/// The query, when this is a GET of our path with our Host. Another Host means DNS rebinding by a foreign page.
fn parameters(head: &str, uri: &Url) -> Option<HashMap<String, String>> {
    let mut lines = head.split("\r\n");
    let target = lines.next()?.strip_prefix("GET ")?.strip_suffix(" HTTP/1.1")?;
    let host =
        lines.filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = host.map(|(_, value)| value.trim())?;
    let ours = format!("{}:{}", uri.host_str()?, uri.port()?);
    if host != ours || !target.starts_with('/') {
        return None;
    }
    let url = Url::parse(&format!("http://{ours}{target}")).ok()?;
    (url.path() == uri.path()).then(|| url.query_pairs().into_owned().collect())
}

/// The code is in the address of this page: it is neither kept nor passed on.
fn page(status: &str, text: &str) -> String {
    let body = format!(
        "<!doctype html><meta charset=utf-8><title>toolhub</title><body style=\"font:1.2em sans-serif;margin:4em\"><p>{text}</p>"
    );
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Referrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_our_path_by_our_name_is_read() {
        let uri = Url::parse(&Redirect::with_port(7)).unwrap();
        let read = |line: &str, host: &str| parameters(&format!("{line}\r\nHost: {host}\r\n\r\n"), &uri);
        let fields = read("GET /callback?code=a%20b&state=s HTTP/1.1", "127.0.0.1:7").unwrap();
        assert_eq!((fields["code"].as_str(), fields["state"].as_str()), ("a b", "s"));
        for (line, host) in [
            ("POST /callback?code=a HTTP/1.1", "127.0.0.1:7"),
            ("GET /callback/?code=a HTTP/1.1", "127.0.0.1:7"),
            ("GET /favicon.ico HTTP/1.1", "127.0.0.1:7"),
            ("GET http://evil.example/callback HTTP/1.1", "127.0.0.1:7"),
            ("GET @evil.example/callback HTTP/1.1", "127.0.0.1:7"),
            ("GET /callback?code=a HTTP/1.1", "evil.example:7"),
            ("GET /callback?code=a HTTP/1.1", "127.0.0.1:8"),
        ] {
            assert!(read(line, host).is_none(), "{line} {host}");
        }
    }

    proptest! {
        #[test]
        fn any_head_is_survived(head in "\\PC*") {
            let uri = Url::parse(&Redirect::with_port(7)).unwrap();
            parameters(&head, &uri);
            parameters(&format!("GET {head} HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n"), &uri);
        }
    }
}
