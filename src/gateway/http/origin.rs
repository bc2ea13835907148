//! Which requests may come from a browser: a page of another site must not reach the gateway, not even through a name
//! that it lets point at this machine (DNS rebinding).

use crate::Gateway;
use crate::http::{HttpReply, inspect, once};
use http::header::HeaderName;
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, header};
use std::net::IpAddr;
use toolhub_protocol::net::unmapped;

const HOST: &str = "Forbidden: the Host header names neither this machine nor an allowed host";
const ORIGIN: &str = "Forbidden: the Origin header names neither this machine nor an allowed origin";

/// Refuses a request whose `Host` or `Origin` is foreign. An address is not a name that could be rebound, so any address is
/// a valid `Host`.
pub fn check(parts: &Parts, hosts: &[String], origins: &[String]) -> Result<(), &'static str> {
    let host = host_of(parts).ok_or(HOST)?;
    let is_allowed =
        |allowed: &String| allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(name_of(host));
    if !is_local_name(host) && address_of(host).is_none() && !hosts.iter().any(is_allowed) {
        return Err(HOST);
    }
    match once(&parts.headers, header::ORIGIN) {
        Ok(None) => Ok(()),
        Ok(Some(origin)) if origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)) => Ok(()),
        Ok(Some(origin)) if is_local_origin(origin) => Ok(()),
        _ => Err(ORIGIN),
    }
}

/// Headers with which a proxy says for whom it asks.
const FORWARDED: [&str; 5] = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];

/// Whether a request was meant for this machine by a program on it, as far as its head can show: its `Host` is a loopback
/// address or `localhost`, and no proxy says that it asks for somebody else.
pub fn is_from_this_machine(parts: &Parts) -> bool {
    let is_loopback =
        |host| is_local_name(host) || address_of(host).is_some_and(|address| unmapped(address).is_loopback());
    host_of(parts).is_some_and(is_loopback) && !FORWARDED.iter().any(|name| parts.headers.contains_key(*name))
}

/// The host that the client asked for: the authority of its target, or the header. If both are there, they agree.
pub fn host_of(parts: &Parts) -> Option<&str> {
    let header = once(&parts.headers, header::HOST).ok()?;
    match (parts.uri.authority().map(|authority| authority.as_str()), header) {
        (Some(target), Some(header)) if !target.eq_ignore_ascii_case(header) => None,
        (target, header) => target.or(header).filter(|host| !host.contains('@')),
    }
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

fn address_of(host: &str) -> Option<IpAddr> {
    name_of(host).parse().ok()
}

fn is_local_name(host: &str) -> bool {
    name_of(host).eq_ignore_ascii_case("localhost")
}

fn is_local_origin(origin: &str) -> bool {
    let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    host.is_some_and(|host| is_local_name(host) || address_of(host).is_some_and(|ip| ip.is_loopback()))
}

// Pages of the allowed origins may call the gateway and read its answers (CORS). The inspector is for no other page. Nothing is sent
// by a browser on its own: there are no cookies, and a page adds its token to each request.

/// Headers that a page may send, beside those of the protocol.
const SENT: [&str; 7] =
    ["accept", "authorization", "content-type", "last-event-id", "traceparent", "tracestate", "baggage"];
const PROTOCOL_PREFIX: &str = "mcp-";
/// Headers of an answer that a page may read.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("mcp-session-id, mcp-protocol-version, www-authenticate, retry-after");
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
/// The seconds for which a browser need not ask again.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");
const VARY: HeaderValue = HeaderValue::from_static("origin, access-control-request-headers");

/// The origin of the request, if it is one of the allowed ones.
fn allowed<'a>(gateway: &Gateway, parts: &'a Parts) -> Option<&'a HeaderValue> {
    let origin = once(&parts.headers, header::ORIGIN).ok()??;
    let mut origins = gateway.options.allowed_origins.iter();
    let is_allowed = origins.any(|allowed| allowed.eq_ignore_ascii_case(origin))
        && inspect::route(gateway, parts.uri.path()).is_none();
    parts.headers.get(header::ORIGIN).filter(|_| is_allowed)
}

/// The answer to the question of a browser whether a page may send a request. It has no credentials, so it is answered before
/// anyone asks who calls, and alike for all paths.
pub fn preflight(gateway: &Gateway, parts: &Parts) -> Option<HttpReply> {
    let is_question =
        parts.method == Method::OPTIONS && parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    allowed(gateway, parts).filter(|_| is_question)?;
    let reply = HttpReply::empty(StatusCode::NO_CONTENT)
        .with(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS)
        .with(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    Some(match requested(parts) {
        Some(names) => reply.with(header::ACCESS_CONTROL_ALLOW_HEADERS, names),
        None => reply,
    })
}

/// The headers among those that the page wants to send that it may send. `Mcp-Param-*` has no list of names.
fn requested(parts: &Parts) -> Option<HeaderValue> {
    let asked = parts.headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS)?.to_str().ok()?;
    let names = asked.split(',').filter_map(|name| HeaderName::try_from(name.trim()).ok());
    let may_be_sent =
        |name: &HeaderName| SENT.contains(&name.as_str()) || name.as_str().starts_with(PROTOCOL_PREFIX);
    let names: Vec<String> = names.filter(may_be_sent).map(|name| name.to_string()).collect();
    HeaderValue::try_from(names.join(", ")).ok()
}

/// The reply, which a page of an allowed origin may read.
pub fn readable(gateway: &Gateway, parts: &Parts, reply: HttpReply) -> HttpReply {
    let Some(origin) = allowed(gateway, parts) else { return reply };
    reply
        .with(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone())
        .with(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED)
        .with(header::VARY, VARY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn checked(headers: &[(&str, &str)]) -> Result<(), &'static str> {
        let mut request = Request::builder().uri("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        check(&parts, &["tools.example.com".to_owned()], &["https://app.example.com".to_owned()])
    }

    #[test]
    fn only_this_machine_addresses_and_allowed_names_are_hosts() {
        for host in [
            "localhost",
            "LOCALHOST:8000",
            "127.0.0.1:8000",
            "[::1]:8000",
            "10.0.0.5",
            "tools.example.com:80",
        ] {
            assert_eq!(checked(&[("host", host)]), Ok(()), "{host}");
        }
        for host in
            ["evil.example.com", "localhost.example.com", "127.0.0.1.nip.io", "", "a@localhost", "[::1"]
        {
            let refused = checked(&[("host", host)]);
            assert!(refused.is_err() || host == "[::1", "{host}");
        }
        assert_eq!(checked(&[]), Err(HOST));
        assert_eq!(checked(&[("host", "localhost"), ("host", "evil")]), Err(HOST));
    }

    #[test]
    fn a_page_of_another_site_is_refused() {
        for origin in
            ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:5", "https://app.example.com"]
        {
            assert_eq!(checked(&[("host", "localhost"), ("origin", origin)]), Ok(()), "{origin}");
        }
        for origin in
            ["null", "http://evil.example.com", "http://localhost.evil.com", "file://", "http://10.0.0.5", ""]
        {
            let refused = checked(&[("host", "localhost"), ("origin", origin)]);
            assert_eq!(refused, Err(ORIGIN), "{origin}");
        }
    }

    #[test]
    fn a_target_and_a_header_that_disagree_are_refused() {
        let request =
            Request::builder().uri("http://localhost:8/mcp").header("host", "other:8").body(()).unwrap();
        assert_eq!(check(&request.into_parts().0, &[], &[]), Err(HOST));
    }
}
