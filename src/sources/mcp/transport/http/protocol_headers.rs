//! The headers in which a request says what it is: made once for what was agreed, copied for each request.

use super::endpoint::HttpEndpoint;
use crate::mcp::protocol::{Era, MODERN};
use crate::mcp::transport::OutgoingRequest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result};
use toolhub_types::telemetry::TRACE_PARENT;

/// The method that opens a session.
pub(super) const HANDSHAKE: &str = "initialize";

static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
static METHOD: HeaderName = HeaderName::from_static("mcp-method");
static NAME: HeaderName = HeaderName::from_static("mcp-name");
static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
static TRACE: HeaderName = HeaderName::from_static(TRACE_PARENT);
const PARAM: &str = "mcp-param-";

#[derive(Clone)]
pub(crate) struct ProtocolHeaders {
    pub era: Option<Era>,
    /// The headers of what is neither a request nor a stream.
    pub base: HeaderMap,
}

impl ProtocolHeaders {
    pub(crate) fn new(remote: &HttpEndpoint) -> Self {
        let mut base = remote.headers.clone();
        base.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        base.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        ProtocolHeaders { era: None, base }
    }

    pub(crate) fn on_negotiated(mut self, era: Era, version: &'static str) -> Self {
        self.era = Some(era);
        self.base.insert(&PROTOCOL_VERSION, HeaderValue::from_static(version));
        self
    }

    /// Remembers the session that the answer to the handshake gave.
    pub(crate) fn in_session(mut self, answer: &HeaderMap) -> Self {
        self.base.remove(&SESSION_ID);
        if let Some(id) = answer.get(&SESSION_ID) {
            let mut id = id.clone();
            id.set_sensitive(true);
            self.base.insert(&SESSION_ID, id);
        }
        self
    }

    pub(crate) fn session(&self) -> Option<&HeaderValue> {
        self.base.get(&SESSION_ID)
    }

    /// Whether a request is one of the modern era.
    pub(crate) fn is_modern(&self, method: &str) -> bool {
        self.era.map_or(method != HANDSHAKE, |era| era == Era::Modern)
    }

    /// The headers of a stream that is listened to, from after the event with this id.
    pub(crate) fn listening(&self, last_id: Option<&str>) -> HeaderMap {
        let mut headers = self.base.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.remove(CONTENT_TYPE);
        if let Some(id) = last_id.and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok()) {
            headers.insert(&LAST_EVENT_ID, id);
        }
        headers
    }

    pub(crate) fn of_request(&self, request: &OutgoingRequest) -> Result<HeaderMap> {
        let mut headers = self.base.clone();
        if let Some(trace) = request.trace.as_deref().and_then(|trace| HeaderValue::from_str(trace).ok()) {
            headers.insert(&TRACE, trace);
        }
        if !self.is_modern(request.method) {
            return Ok(headers);
        }
        if self.era.is_none() {
            headers.insert(&PROTOCOL_VERSION, HeaderValue::from_static(MODERN));
        }
        headers.insert(&METHOD, HeaderValue::from_static(request.method));
        if let Some(name) = &request.name {
            headers.insert(&NAME, encoded(name)?);
        }
        for (name, value) in &request.headers {
            headers.insert(param(name)?, encoded(value)?);
        }
        Ok(headers)
    }
}

/// The header of a tool's parameter, named with or without its prefix. The prefix is always there in the end: a server
/// chooses these names, and must not get at any other header.
fn param(name: &str) -> Result<HeaderName> {
    let lower = name.to_ascii_lowercase();
    let full = if lower.starts_with(PARAM) { lower } else { format!("{PARAM}{lower}") };
    HeaderName::try_from(full).map_err(|_| unsendable(name))
}

fn unsendable(what: &str) -> HubError {
    let shown = format!("{:?}", toolhub_types::error::clip(what));
    let text = message!("{} cannot be sent in a header; the tool's `x-mcp-header` is wrong.", shown);
    HubError::new(ErrorKind::Protocol, text).with_outcome(Outcome::NotSent)
}

/// A value as a header can carry it: as it is, or in Base64 between marks.
fn encoded(value: &str) -> Result<HeaderValue> {
    const START: &str = "=?base64?";
    const END: &str = "?=";
    let is_plain = value.bytes().all(|b| matches!(b, b' '..=b'~'))
        && value.trim_matches(' ').len() == value.len()
        && !(value.starts_with(START) && value.ends_with(END));
    let header = match is_plain {
        true => HeaderValue::from_str(value),
        false => HeaderValue::try_from(format!("{START}{}{END}", STANDARD.encode(value))),
    };
    header.map_err(|_| unsendable(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_where_a_header_cannot_carry_them() {
        // The examples of the specification, and all lengths of padding.
        for (value, expected) in [
            ("us-west1", "us-west1"),
            ("a b", "a b"),
            ("a\tb", "=?base64?YQli?="),
            ("", ""),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("é", "=?base64?w6k=?="),
            ("aé", "=?base64?YcOp?="),
        ] {
            assert_eq!(encoded(value).unwrap(), expected, "{value:?}");
        }
    }

    #[test]
    fn a_server_cannot_name_another_header() {
        for name in ["Region", "Mcp-Param-Region", "MCP-PARAM-region"] {
            assert_eq!(param(name).unwrap(), "mcp-param-region");
        }
        assert_eq!(param("Authorization").unwrap(), "mcp-param-authorization");
        assert!(param("a b").is_err() && param("a\r\nb: c").is_err());
    }
}
