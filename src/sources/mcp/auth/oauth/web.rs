//! The one way out to an authorization server: checked addresses, no redirects, small answers, bounded time.

use super::super::{denied, quote::quote};
use super::address::{PublicNames, is_public, proxy_hosts};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder, Url};
use serde::de::DeserializeOwned;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use toolhub_protocol::net::{self, is_loopback, literal};
use toolhub_types::error::{ErrorKind, HubError, clip};

const TIMEOUT: Duration = Duration::from_secs(30);
/// Metadata and tokens are a few kilobytes.
const MAX_BODY: usize = 1 << 20;

pub(super) struct Web {
    server: Url,
    /// URLs that the user wrote: their hosts may be private.
    named: Vec<Url>,
    near: OnceLock<Client>,
    far: OnceLock<Client>,
}

pub(super) struct WebAnswer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl WebAnswer {
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }
}

impl Web {
    pub(super) fn new(server: Url, others: impl IntoIterator<Item = Url>) -> Self {
        let named = [server.clone()].into_iter().chain(others).collect();
        Web { server, named, near: OnceLock::new(), far: OnceLock::new() }
    }

    /// https to public addresses, or this machine when the server is on it as well. `what` names the URL in the error.
    pub(super) fn check(&self, url: &Url, what: &str) -> Result<(), HubError> {
        let named = self.named.iter().any(|known| known.origin() == url.origin());
        let refuse = |why: &str| {
            Err(denied(format!("The {what} '{}' is refused: {why}.", clip(&quote(url.as_str(), &[])))))
        };
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("it carries a user name or a password");
        }
        if is_loopback(url) {
            return match matches!(url.scheme(), "http" | "https") && (named || is_loopback(&self.server)) {
                true => Ok(()),
                false => refuse("it is an address of this machine, which the server is not on"),
            };
        }
        if url.scheme() != "https" {
            return refuse("credentials need https (http is only for this machine)");
        }
        if !named && literal(url).is_some_and(|ip| !is_public(ip)) {
            return refuse(
                "it is an address inside a private network; if it is right, name it as the issuer or metadata_url",
            );
        }
        Ok(())
    }

    pub(super) async fn get(&self, url: &Url, what: &str) -> Result<WebAnswer, HubError> {
        self.check(url, what)?;
        self.send(self.client(url)?.get(url.clone()), url).await
    }

    pub(super) async fn post_json(&self, url: &Url, body: Vec<u8>) -> Result<WebAnswer, HubError> {
        self.check(url, "registration endpoint")?;
        let request = self.client(url)?.post(url.clone()).header(CONTENT_TYPE, "application/json").body(body);
        self.send(request, url).await
    }

    pub(super) async fn post_form(
        &self,
        url: &Url,
        form: String,
        authorization: Option<&str>,
    ) -> Result<WebAnswer, HubError> {
        self.check(url, "token endpoint")?;
        let request = self.client(url)?.post(url.clone());
        let mut request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form);
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value);
        }
        self.send(request, url).await
    }

    async fn send(&self, request: RequestBuilder, url: &Url) -> Result<WebAnswer, HubError> {
        let host = url.host_str().unwrap_or_default();
        let failed = |error: reqwest::Error| unreachable(host, &error);
        let mut response = request.header(ACCEPT, "application/json").send().await.map_err(failed)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > MAX_BODY {
                return Err(denied(format!("The authorization server '{host}' sent more than 1 MB.")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(WebAnswer { status: response.status().as_u16(), body })
    }

    /// Certificates take milliseconds to load and may be missing on a machine that only talks to itself: two clients, each
    /// made when it is needed. What is on this machine is never asked for through a proxy.
    fn client(&self, url: &Url) -> Result<&Client, HubError> {
        let near = url.scheme() == "http";
        let place = if near { &self.near } else { &self.far };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        let builder = net::builder().timeout(TIMEOUT);
        let builder = match near {
            true => net::without_certificates(builder.no_proxy()).map_err(|error| cannot_set_up(&error))?,
            false => builder.dns_resolver(self.names()),
        };
        let client = builder.build().map_err(|error| cannot_set_up(&error))?;
        Ok(place.get_or_init(|| client))
    }

    fn names(&self) -> Arc<PublicNames> {
        let hosts = self.named.iter().filter_map(|url| url.host_str().map(str::to_owned));
        Arc::new(PublicNames { trusted: hosts.chain(proxy_hosts()).collect() })
    }
}

fn cannot_set_up(error: &dyn std::error::Error) -> HubError {
    denied(format!(
        "The HTTP client for the login cannot be set up: {error}; for https the system needs its CA certificates (or SSL_CERT_FILE)."
    ))
}

/// The innermost reason is the one that helps. URLs are left out: they may carry a code.
fn unreachable(host: &str, error: &reqwest::Error) -> HubError {
    let reason = match net::sources(error).last() {
        _ if error.is_timeout() => format!("no answer within {} s", TIMEOUT.as_secs()),
        Some(inner) => quote(&inner.to_string(), &[]),
        None => "the request failed".to_owned(),
    };
    HubError::new(
        ErrorKind::Connect,
        format!("The authorization server '{host}' cannot be reached: {reason}."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(server: &str, named: &[&str], url: &str) -> bool {
        let parse = |text: &str| Url::parse(text).unwrap();
        let web = Web::new(parse(server), named.iter().map(|text| parse(text)));
        web.check(&parse(url), "URL").is_ok()
    }

    #[test]
    fn a_server_cannot_send_us_into_private_networks() {
        let public = "https://mcp.example.com/mcp";
        assert!(allows(public, &[], "https://login.example.net/token"));
        for url in [
            "http://login.example.net/token",
            "http://mcp.example.com/token",
            "https://localhost/token",
            "http://127.0.0.1:6379/",
            "https://[::1]/",
            "https://10.0.0.1/token",
            "https://169.254.169.254/latest/meta-data",
            "https://user:password@login.example.net/token",
            "ftp://login.example.net/token",
            "file:///etc/passwd",
        ] {
            assert!(!allows(public, &[], url), "{url}");
        }
    }

    #[test]
    fn what_the_user_named_may_be_private_but_not_plain() {
        assert!(allows("https://10.0.0.4/mcp", &[], "https://10.0.0.4/token"));
        assert!(!allows("https://10.0.0.4/mcp", &[], "https://10.0.0.5/token"));
        assert!(allows("https://10.0.0.4/mcp", &["https://10.0.0.5/"], "https://10.0.0.5/token"));
        assert!(!allows("http://10.0.0.4/mcp", &[], "http://10.0.0.4/token"));
        assert!(allows("http://localhost:1/mcp", &[], "http://127.0.0.1:2/token"));
    }
}
