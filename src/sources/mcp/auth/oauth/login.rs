//! The grants: a login in the browser, client credentials, a refresh.

use super::super::{Secret, denied, quote};
use super::client::{Cure, Failure, IssuedToken, renew_at};
use super::config::OAuthConfig;
use super::discovery::{Discovered, words};
use super::store::{Client, StoredToken, now};
use super::web::{Web, text};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures_util::stream::{FuturesUnordered, StreamExt};
use reqwest::Url;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;
use std::collections::HashMap;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use toolhub_text::{Message, message};
use toolhub_types::error::Result;

/// What all grants have in common.
pub(super) struct Login<'a> {
    pub(super) config: &'a OAuthConfig,
    pub(super) web: &'a Web,
    pub(super) found: &'a Discovered,
    /// The scopes to request.
    pub(super) scopes: Vec<String>,
}

impl Login<'_> {
    /// Authorization code with PKCE. `registered` is the client that an earlier login registered here.
    pub(super) async fn in_browser(&self, registered: Option<Client>) -> Result<StoredToken> {
        let endpoint = self.authorization_endpoint()?;
        let (redirect, client) = self.client(registered).await?;
        let (verifier, state) = (random()?, random()?);
        // In the letters that the authorization server knows: a `Url` drops the port 80.
        let known = client.redirect.as_ref().or(self.config.settings.redirect_uri.as_ref());
        let redirect_uri = known.map_or_else(|| redirect.uri.to_string(), String::clone);
        let url = self.page(endpoint, &client, &redirect_uri, &state, &verifier);
        let code = self.ask_user(url, redirect, &state).await?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &redirect_uri),
            ("code_verifier", &verifier),
        ];
        self.token(&client, &fields).await.map_err(|failure| failure.error)
    }

    pub(super) async fn with_client_credentials(&self) -> Result<StoredToken> {
        let client = Client::known(&self.config.settings, self.found)
            .ok_or_else(|| denied("OAuth with client credentials needs a client_id."))?;
        let (mut fields, scopes) = (vec![("grant_type", "client_credentials")], self.scopes.join(" "));
        if !scopes.is_empty() {
            fields.push(("scope", &scopes));
        }
        self.token(&client, &fields).await.map_err(|failure| failure.error)
    }

    /// The scopes are left out: the new token has those of the old one.
    pub(super) async fn refresh(&self, old: &StoredToken) -> Result<StoredToken, Failure> {
        let Some(refresh_token) = &old.refresh_token else {
            return Err(Failure { cure: Cure::NewLogin, error: denied("There is no refresh token.") });
        };
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh_token.expose())];
        let mut new = self.token(&old.client, &fields).await?;
        // Without a new one the refresh token stays.
        new.refresh_token.get_or_insert_with(|| refresh_token.clone());
        new.asked_scopes.clone_from(&old.asked_scopes);
        if new.scopes.is_empty() {
            new.scopes.clone_from(&old.scopes);
        }
        Ok(new)
    }

    /// Sends the fields of a grant.
    async fn token(&self, client: &Client, fields: &[(&str, &str)]) -> Result<StoredToken, Failure> {
        let issuer = &self.found.issuer;
        let fields = [fields, &[("resource", &self.found.resource.id)]].concat();
        let issued = client.ask_token(self.web, issuer, &fields).await?;
        let IssuedToken { token, lifetime, answer, way } = issued;
        // Without a `scope`, the requested scopes were granted.
        let granted = answer.get("scope").and_then(Value::as_str).map(words);
        Ok(StoredToken {
            server: self.config.server_url.clone(),
            issuer: issuer.id.clone(),
            resource: self.found.resource.id.clone(),
            client: Client { method: Some(way.to_owned()), ..client.clone() },
            access_token: token,
            refresh_token: text(&answer, "refresh_token").map(Secret::new),
            scopes: granted.unwrap_or_else(|| self.scopes.clone()),
            asked_scopes: self.scopes.clone(),
            renew_at: lifetime.map(renew_at),
            expires_at: lifetime.map(|lifetime| now().saturating_add(lifetime)),
        })
    }

    fn authorization_endpoint(&self) -> Result<&Url> {
        let issuer = &self.found.issuer;
        let Some(endpoint) = &issuer.authorization_endpoint else {
            return Err(denied(message!(
                "The authorization server '{}' has no page to sign in at; use client credentials or a bearer token.",
                quote(&issuer.id, &[])
            )));
        };
        // Without PKCE a stolen code is worth a token.
        if !issuer.challenge_methods.iter().any(|method| method == "S256") {
            return Err(denied(message!(
                "The authorization server '{}' does not offer PKCE with S256, which a safe login needs; use a bearer token.",
                quote(&issuer.id, &[])
            )));
        }
        self.web.check(endpoint, "authorization endpoint")?;
        Ok(endpoint)
    }

    /// The port to come back to, and the client that may: many authorization servers compare the whole redirect, so an
    /// earlier registration is only good with the port that it was made with.
    async fn client(&self, registered: Option<Client>) -> Result<(Redirect, Client)> {
        let settings = &self.config.settings;
        let with_port = |port| format!("http://127.0.0.1:{port}/callback");
        let chosen = settings.redirect_uri.clone().or_else(|| settings.redirect_port.map(with_port));
        let chosen = chosen.and_then(|uri| Url::parse(&uri).ok());
        if let Some(client) = Client::known(settings, self.found) {
            return Ok((Redirect::bind(chosen).await?, client));
        }
        if let Some(client) = registered
            && let Some(uri) = client.redirect.as_deref().and_then(|uri| Url::parse(uri).ok())
            && chosen.as_ref().is_none_or(|chosen| *chosen == uri)
            && let Ok(redirect) = Redirect::bind(Some(uri)).await
        {
            return Ok((redirect, client));
        }
        let redirect = Redirect::bind(chosen).await?;
        let client = Client::register(self.web, self.found, redirect.uri.as_str(), &self.scopes).await?;
        Ok((redirect, client))
    }

    fn page(&self, endpoint: &Url, client: &Client, redirect: &str, state: &str, verifier: &str) -> Url {
        let mut url = endpoint.clone();
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &client.id),
            ("redirect_uri", redirect),
            ("state", state),
            ("code_challenge", &s256(verifier)),
            ("code_challenge_method", "S256"),
            ("resource", &self.found.resource.id),
        ]);
        if !self.scopes.is_empty() {
            url.query_pairs_mut().append_pair("scope", &self.scopes.join(" "));
        }
        if self.scopes.iter().any(|scope| scope == "offline_access") {
            // OpenID Connect gives a refresh token only when the user is asked.
            url.query_pairs_mut().append_pair("prompt", "consent");
        }
        url.set_fragment(None);
        url
    }

    /// Shows the page and waits for the answer. The opener may take as long as the user does.
    async fn ask_user(&self, url: Url, redirect: Redirect, state: &str) -> Result<String> {
        let answer = self.code(redirect, state);
        let open = (self.config.opener)(url);
        let both = async {
            tokio::pin!(answer);
            tokio::select! {
                code = &mut answer => code,
                opened = open => { opened?; answer.await }
            }
        };
        let limit = self.config.login_timeout;
        timeout(limit, both).await.unwrap_or_else(|_| {
            Err(denied(message!("Login timed out after {} s; retry to get a new link.", limit.as_secs())))
        })
    }
}

/// 256 random bits as text that can stand in a URL.
fn random() -> Result<String> {
    let mut bytes = [0u8; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| denied("Could not read random bytes from the OS."))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// The challenge of PKCE's method S256 for this verifier.
fn s256(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

// The redirect at the end of a login: a listener on this machine that takes one answer.

const DEFAULT: &str = "http://127.0.0.1:0/callback";
/// Codes are short, but some servers send long extra parameters.
const MAX_HEAD: usize = 32 << 10;
/// For one connection: browsers open some in advance and send nothing on them.
const PATIENCE: Duration = Duration::from_secs(20);
const MAX_CONNECTIONS: usize = 32;

struct Redirect {
    listener: TcpListener,
    uri: Url,
}

impl Redirect {
    /// Listens for this redirect, which is one of this machine; without one, on any free port.
    async fn bind(uri: Option<Url>) -> Result<Self> {
        let shown = uri.as_ref().map(|uri| format!(" '{uri}'")).unwrap_or_default();
        let unusable = |why: &str| denied(format!("The login redirect{shown} cannot be waited for: {why}."));
        let wanted = uri.map_or_else(|| Url::parse(DEFAULT), Ok);
        let mut wanted = wanted.map_err(|error| unusable(&error.to_string()))?;
        let bound = TcpListener::bind(("127.0.0.1", wanted.port_or_known_default().unwrap_or(0))).await;
        let listener = bound.map_err(|error| unusable(&format!("the port is not free ({error})")))?;
        let port = listener.local_addr().map_err(|error| unusable(&error.to_string()))?.port();
        wanted.set_port(Some(port)).map_err(|()| unusable("it has no port"))?;
        Ok(Redirect { listener, uri: wanted })
    }
}

impl Login<'_> {
    /// The code. Only an answer with the right state counts, so that no other page can end the login; the first one does,
    /// and then the listener is closed. Dropping the future closes the port.
    async fn code(&self, Redirect { listener, uri }: Redirect, state: &str) -> Result<String> {
        let mut visitors = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(answer) = visitors.next() => if let Ok(Some(answer)) = answer {
                    return answer;
                },
                visit = listener.accept(), if visitors.len() < MAX_CONNECTIONS => {
                    if let Ok((stream, _)) = visit {
                        visitors.push(timeout(PATIENCE, self.receive(stream, &uri, state)));
                    }
                }
            }
        }
    }

    /// One visitor: reads the request and shows a page. `None`: it does not bring the answer.
    async fn receive(&self, mut stream: TcpStream, uri: &Url, state: &str) -> Option<Result<String>> {
        let head = read_head(&mut stream).await?;
        let (status, text, answer) = match parameters(&head, uri) {
            None => ("404 Not Found", "There is nothing here.", None),
            Some(fields) if fields.get("state").map(String::as_str) != Some(state) => {
                ("400 Bad Request", "This page does not belong to a pending login.", None)
            }
            Some(fields) => match self.check(&fields) {
                Ok(code) => ("200 OK", "You are signed in. You can close this window.", Some(Ok(code))),
                Err(error) => {
                    ("400 Bad Request", "The login failed. The program says why.", Some(Err(error)))
                }
            },
        };
        let _ = stream.write_all(page(status, &Message::from(text).text(self.config.lang)).as_bytes()).await;
        let _ = stream.shutdown().await;
        answer
    }

    fn check(&self, fields: &HashMap<String, String>) -> Result<String> {
        let issuer = &self.found.issuer;
        let own = &issuer.id;
        match fields.get("iss") {
            Some(other) if other != own => {
                return Err(denied(message!(
                    "The login was answered by '{}' instead of the authorization server '{}'; its answer is not used.",
                    quote(other, &[]),
                    quote(own, &[])
                )));
            }
            // The authorization server promised to name itself (RFC 9207).
            None if issuer.names_itself => {
                return Err(denied(message!(
                    "The login response does not name its authorization server, as '{}' promised; it is not used.",
                    quote(own, &[])
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
    let ours = uri.authority();
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

    #[test]
    fn the_challenge_is_the_one_of_rfc_7636() {
        assert_eq!(
            s256("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn random_values_are_long_and_differ() {
        let (a, b) = (random().unwrap(), random().unwrap());
        assert!(a.len() == 43 && b.len() == 43 && a != b);
    }
}

#[cfg(test)]
mod redirect_tests {
    use super::*;
    use proptest::prelude::*;

    #[tokio::test]
    async fn the_port_of_http_is_a_port_like_others() {
        let uri = Url::parse("http://127.0.0.1:80/callback").unwrap();
        match Redirect::bind(Some(uri.clone())).await {
            Ok(redirect) => assert_eq!(redirect.listener.local_addr().unwrap().port(), 80),
            Err(error) => assert!(error.message.contains("the port is not free"), "{error}"),
        }
        assert!(parameters("GET /callback?code=c HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", &uri).is_some());
    }

    #[test]
    fn only_our_path_by_our_name_is_read() {
        let uri = Url::parse("http://127.0.0.1:7/callback").unwrap();
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
            let uri = Url::parse("http://127.0.0.1:7/callback").unwrap();
            parameters(&head, &uri);
            parameters(&format!("GET {head} HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n"), &uri);
        }
    }
}
