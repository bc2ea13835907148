//! The metadata of the gateway as a protected resource (RFC 9728): where clients get tokens for it.

use crate::http::{HttpReply, host_of};
use crate::identity::Authenticator;
use http::request::Parts;
use http::{HeaderValue, StatusCode, Uri, header};
use serde_json::json;

const PLACE: &str = "/.well-known/oauth-protected-resource";
/// A client may keep it for this long.
const CACHED: HeaderValue = HeaderValue::from_static("max-age=300");
const SCHEME: &str = "x-forwarded-proto";

/// The document, if the request asks for it: for the endpoint at `base`, or for what is below it.
pub fn reply(authenticator: &Authenticator, base: &str, parts: &Parts) -> Option<HttpReply> {
    let asked = parts.uri.path().strip_prefix(PLACE)?.trim_end_matches('/');
    let issuer = authenticator.described_issuer().filter(|issuer| url(&issuer.issuer).is_some())?;
    // Behind a proxy the endpoint may have another path.
    let is_audience = |one: &String| url(one).is_some_and(|url| url.path().trim_end_matches('/') == asked);
    if !asked.is_empty() && !is_below(asked, base) && !issuer.audience.iter().any(is_audience) {
        return None;
    }
    let mut document = json!({
        "resource": resource(&issuer.audience, parts, if asked.is_empty() { base } else { asked })?,
        "authorization_servers": [issuer.issuer],
        "bearer_methods_supported": ["header"],
    });
    if !issuer.scopes.is_empty() {
        document["scopes_supported"] = json!(issuer.scopes);
    }
    Some(HttpReply::json(StatusCode::OK, document.to_string()).with(header::CACHE_CONTROL, CACHED))
}

fn is_below(path: &str, base: &str) -> bool {
    let rest = path.strip_prefix(base.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Where a refused client finds the document.
pub fn address(authenticator: &Authenticator, base: &str, parts: &Parts) -> Option<String> {
    let issuer = authenticator.described_issuer().filter(|issuer| url(&issuer.issuer).is_some())?;
    let path = Some(parts.uri.path()).filter(|path| is_below(path, base)).unwrap_or(base);
    let uri = url(&resource(&issuer.audience, parts, path)?)?;
    let path = uri.path().trim_end_matches('/');
    Some(format!("{}://{}{PLACE}{path}", uri.scheme_str()?, uri.authority()?))
}

/// The identifier of the resource: the audience of its tokens if that is an address, otherwise the one that the client has used.
fn resource(audience: &[String], parts: &Parts, path: &str) -> Option<String> {
    if let Some(address) = audience.iter().find(|one| url(one).is_some()) {
        return Some(address.clone());
    }
    // Whoever says that it is a proxy with TLS gets an answer for it, and nobody else does.
    let is_tls = parts.headers.get(SCHEME).is_some_and(|scheme| scheme == "https")
        || parts.uri.scheme_str() == Some("https");
    let scheme = if is_tls { "https" } else { "http" };
    Some(format!("{scheme}://{}{path}", host_of(parts)?))
}

fn url(text: &str) -> Option<Uri> {
    let is_web = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https"));
    text.parse().ok().filter(is_web)
}
