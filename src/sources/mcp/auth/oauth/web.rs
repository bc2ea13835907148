//! The one way out to an authorization server: checked addresses, no redirects, small answers, bounded time.
//!
//! Documents written by third parties name the servers of a login. To prevent requests into the own network (SSRF), only
//! hosts that the user named may be there.

use super::super::{denied, quote};
use crate::web::read_body;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder, Url};
use serde_json::Value;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use toolhub_protocol::net::{self, is_loopback, literal, unmapped};
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Result, clip};

const TIMEOUT: Duration = Duration::from_secs(30);
/// Metadata and tokens are a few kilobytes.
const MAX_BODY: usize = 1 << 20;

pub(super) struct Web {
    pub(super) server: Url,
    /// URLs that the user wrote: their hosts may be private.
    named: Vec<Url>,
    near: OnceLock<Client>,
    far: OnceLock<Client>,
}

/// The status of an answer, and its body if that is JSON.
pub(super) type WebAnswer = (u16, Option<Value>);

impl Web {
    pub(super) fn new(server: Url, others: impl IntoIterator<Item = Url>) -> Self {
        let named = [server.clone()].into_iter().chain(others).collect();
        Web { server, named, near: OnceLock::new(), far: OnceLock::new() }
    }

    /// https to public addresses, or this machine when the server is on it as well. `what` names the URL in the error.
    pub(super) fn check(&self, url: &Url, what: &str) -> Result<()> {
        let named = self.named.iter().any(|known| known.origin() == url.origin());
        let refuse = |why: &'static str| {
            let url = clip(&quote(url.as_str(), &[])).into_owned();
            Err(denied(message!("The {} '{}' is refused: {}.", what, url, Message::from(why))))
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

    pub(super) async fn get(&self, url: &Url, what: &str) -> Result<WebAnswer> {
        self.check(url, what)?;
        self.send(self.client(url)?.get(url.clone()), url).await
    }

    /// `kind` is the media type of the body.
    pub(super) async fn post(
        &self,
        url: &Url,
        what: &str,
        kind: &str,
        body: String,
        authorization: Option<&str>,
    ) -> Result<WebAnswer> {
        self.check(url, what)?;
        let mut request = self.client(url)?.post(url.clone()).header(CONTENT_TYPE, kind).body(body);
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value);
        }
        self.send(request, url).await
    }

    async fn send(&self, request: RequestBuilder, url: &Url) -> Result<WebAnswer> {
        let host = url.host_str().unwrap_or_default();
        let failed = |error: reqwest::Error| unreachable(host, &error);
        let mut response = request.header(ACCEPT, "application/json").send().await.map_err(failed)?;
        let mut body = Vec::new();
        if !read_body(&mut response, MAX_BODY, &mut body).await.map_err(failed)? {
            return Err(denied(message!("The authorization server '{}' sent more than 1 MB.", host)));
        }
        Ok((response.status().as_u16(), serde_json::from_slice(&body).ok()))
    }

    /// Certificates take milliseconds to load and may be missing on a machine that only talks to itself: two clients, each
    /// made when it is needed. What is on this machine is never asked for through a proxy.
    fn client(&self, url: &Url) -> Result<&Client> {
        let near = url.scheme() == "http";
        let place = if near { &self.near } else { &self.far };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        let builder = net::builder().timeout(TIMEOUT);
        let hosts = self.named.iter().filter_map(|url| url.host_str().map(str::to_owned));
        let names = || Arc::new(PublicNames { trusted: hosts.chain(proxy_hosts()).collect() });
        let builder = if near { builder.no_proxy() } else { builder.dns_resolver(names()) };
        let client = net::build(builder, near).map_err(|error| {
            denied(message!("The HTTP client for the login cannot be set up: {}; for https the system needs its CA certificates (or SSL_CERT_FILE).", error))
        })?;
        Ok(place.get_or_init(|| client))
    }
}

/// A text in an answer, unless it is empty.
pub(super) fn text<'a>(fields: &'a Value, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// What is known of a refusal, and what its answer says.
pub(super) fn with_reason(known: String, fields: &Value, secrets: &[&str]) -> String {
    let said = ["error", "error_description"].into_iter().filter_map(|name| text(fields, name));
    said.fold(known, |known, part| format!("{known}: {}", quote(part, secrets)))
}

/// `name=value&…` as a form is sent.
pub(super) fn form<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    // Only the query of this URL is used: its writer is the form encoder that is already here.
    let Ok(mut url) = Url::parse("http://localhost/") else { return String::new() };
    url.query_pairs_mut().extend_pairs(pairs);
    url.query().unwrap_or_default().to_owned()
}

/// Whether the address is public: not this machine, not private, not reserved. Of IPv6 that is global unicast without the ranges
/// that lead into other networks (Teredo, 6to4) or nowhere (documentation).
fn is_public(ip: IpAddr) -> bool {
    match unmapped(ip) {
        IpAddr::V4(ip) => !matches!(
            ip.octets(),
            [0 | 10 | 127 | 224.., ..]
                | [100, 64..128, ..]
                | [169, 254, ..]
                | [172, 16..32, ..]
                | [192, 168, ..]
                | [192, 0, 0 | 2, _]
                | [198, 18 | 19, ..]
                | [198, 51, 100, _]
                | [203, 0, 113, _]
        ),
        IpAddr::V6(ip) => {
            let [a, b, ..] = ip.segments();
            a & 0xe000 == 0x2000 && a != 0x2002 && !(a == 0x2001 && (b < 0x200 || b == 0xdb8))
        }
    }
}

/// Looks names up and keeps only public addresses, except for the hosts that the user named: a public name may well
/// point to a private address.
struct PublicNames {
    trusted: Arc<[String]>,
}

impl Resolve for PublicNames {
    fn resolve(&self, name: Name) -> Resolving {
        let trusted = Arc::clone(&self.trusted);
        Box::pin(async move {
            let host = name.as_str().trim_end_matches('.').to_ascii_lowercase();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            if trusted.contains(&host) {
                return Ok(Box::new(found.into_iter()) as Addrs);
            }
            let public: Vec<SocketAddr> = found.into_iter().filter(|a| is_public(a.ip())).collect();
            if public.is_empty() {
                return Err(format!("'{host}' is an address inside a private network").into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

/// The hosts of the proxies that the environment names. Requests through one look up the proxy, not the target.
fn proxy_hosts() -> impl Iterator<Item = String> {
    let names = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    names.into_iter().filter_map(|name| {
        let value = std::env::var(name).ok()?;
        let url = if value.contains("://") { value } else { format!("http://{value}") };
        Url::parse(&url).ok()?.host_str().map(str::to_owned)
    })
}

/// URLs are left out: they may carry a code.
fn unreachable(host: &str, error: &reqwest::Error) -> HubError {
    let reason = match error.is_timeout() {
        true => message!("no answer within {} s", TIMEOUT.as_secs()),
        false => quote(&net::reason(error), &[]).into(),
    };
    HubError::new(
        ErrorKind::Connect,
        message!("The authorization server '{}' cannot be reached: {}.", host, reason),
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

    #[test]
    fn forms_keep_any_value() {
        assert_eq!(form([("a", "1 &2=ü+"), ("b", "")]), "a=1+%262%3D%C3%BC%2B&b=");
    }

    #[test]
    fn only_the_open_internet_is_public() {
        for ip in [
            "93.184.216.34",
            "100.63.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "2606:4700::1111",
            "64:ff9b::5db8:d822",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public(ip.parse().unwrap()), "{ip}");
        }
        for ip in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "198.51.100.1",
            "203.0.113.1",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "2002:a00:1::",
            "2001:0:4136:e378::1",
            "64:ff9b:1::1",
        ] {
            assert!(!is_public(ip.parse().unwrap()), "{ip}");
        }
    }

    #[tokio::test]
    async fn a_name_of_a_private_address_is_refused_unless_the_user_named_it() {
        let resolve = |trusted: &[&str]| {
            let trusted = trusted.iter().map(|host| (*host).to_owned()).collect();
            PublicNames { trusted }.resolve("localhost".parse().unwrap())
        };
        assert!(resolve(&[]).await.is_err());
        assert!(resolve(&["localhost"]).await.is_ok());
    }
}
