//! Pages of the allowed origins may call the gateway and read its answers (CORS). The inspector is for no other page.
//!
//! Nothing is sent by a browser on its own: there are no cookies, and a page adds its token to each request.

use crate::Gateway;
use crate::http::{HttpReply, inspect, origin};
use http::header::{self, HeaderName};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};

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

fn allowed<'a>(gateway: &Gateway, parts: &'a Parts) -> Option<&'a HeaderValue> {
    let origin = origin::allowed(parts, &gateway.options.allowed_origins)?;
    inspect::route(gateway, parts.uri.path()).is_none().then_some(origin)
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
