//! Who makes an HTTP request, and in which era: from its headers and what it says of itself.

use crate::Gateway;
use crate::era::{self, ClientInfo};
use crate::http::{HttpReply, once};
use crate::identity::Caller;
use crate::rpc::{RpcError, RpcId, RpcRequest, error_message};
use base64::engine::general_purpose::STANDARD;
use base64::prelude::*;
use http::{HeaderMap, HeaderName, StatusCode};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::SystemTime;
use toolhub_engine::served::View;
use toolhub_protocol::param_headers::{Mirrored, mirrored};
use toolhub_protocol::{Era, HEADER_MISMATCH, VERSION_KEY};
use toolhub_types::principal::Principal;
use toolhub_types::telemetry::{SpanAttribute, SpanSide};

const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// The code with which a session that is not there is reported; the status 404 is what counts.
const NO_SESSION: i64 = -32001;

/// Who calls, and what they see.
#[derive(Clone)]
pub struct RequestOrigin {
    pub principal: Arc<Principal>,
    pub view: Arc<View>,
}

impl RequestOrigin {
    pub fn caller(&self, era: Era, info: ClientInfo) -> Caller {
        let ClientInfo { version, capabilities } = info;
        let (principal, view) = (self.principal.clone(), self.view.clone());
        Caller { principal, view, era, version, capabilities, session: None, has_one_stream: false }
    }

    /// The caller of a request. A version header that names no legacy version belongs to the modern era.
    pub fn of_request(
        &self,
        gateway: &Gateway,
        headers: &HeaderMap,
        request: &RpcRequest,
    ) -> Result<Caller, HttpReply> {
        let refuse = |error| bad_request(Some(&request.id), &error);
        let meta = request.params.meta();
        if is_modern_header(headers) || era::is_modern(&request.method, meta) {
            era::has_envelope(meta).map_err(refuse)?;
            check_headers(gateway, &self.view, headers, request).map_err(refuse)?;
            return Ok(self.caller(Era::Modern, era::envelope(meta).map_err(refuse)?));
        }
        if request.method == "initialize" {
            return Ok(self.caller(Era::Legacy, era::initialize(&request.params).map_err(refuse)?));
        }
        self.of_session(gateway, headers, Some(&request.id))
    }

    /// The caller of a legacy message that is not `initialize`. A client without a session has no capabilities.
    pub fn of_session(
        &self,
        gateway: &Gateway,
        headers: &HeaderMap,
        id: Option<&RpcId>,
    ) -> Result<Caller, HttpReply> {
        let header = version_header(headers);
        let Some(session) = headers.get(SESSION_HEADER) else {
            let version = header.and_then(era::legacy_version).unwrap_or(era::WITHOUT_HEADER);
            return Ok(self.caller(Era::Legacy, ClientInfo::unknown(version)));
        };
        let session = session.to_str().unwrap_or_default();
        let (principal, view) = (&self.principal.id, &self.view.name);
        let session = gateway.sessions.open(session, principal, view, SystemTime::now());
        let session = session.map_err(|_| no_session(id))?;
        let claims = &session.claims;
        let version = era::legacy_version(&claims.version).unwrap_or(era::WITHOUT_HEADER);
        if header.is_some_and(|header| header != version) {
            let text = format!("Invalid Request: the session was opened with protocol version {version}");
            return Err(bad_request(id, &RpcError::invalid_request(text)));
        }
        let capabilities = claims.capabilities.clone();
        let caller = self.caller(Era::Legacy, ClientInfo { version, capabilities });
        Ok(Caller { session: Some(session.id.clone()), ..caller })
    }

    /// Ends the session that `DELETE` names.
    pub fn end_session(&self, gateway: &Gateway, headers: &HeaderMap) -> Result<HttpReply, HttpReply> {
        let Some(session) = headers.get(SESSION_HEADER) else {
            let error = RpcError::invalid_request("Invalid Request: the header Mcp-Session-Id is missing");
            return Err(bad_request(None, &error));
        };
        let session = session.to_str().unwrap_or_default();
        let ended = gateway.sessions.end(session, &self.principal.id, &self.view.name, SystemTime::now());
        let lived = ended.map_err(|_| no_session(None))?;
        let over_http =
            || vec![(SpanAttribute::Network, "tcp".into()), (SpanAttribute::NetworkProtocol, "http".into())];
        gateway.operation.metrics.session_ended(lived);
        gateway.hub.telemetry.session_ended(SpanSide::Server, lived, over_http);
        gateway.forget_session(&self.principal.id, session);
        Ok(HttpReply::empty(StatusCode::NO_CONTENT))
    }
}

pub fn version_header(headers: &HeaderMap) -> Option<&str> {
    headers.get(VERSION_HEADER).map(|value| value.to_str().unwrap_or_default())
}

/// Whether the version header names no version of the older protocol.
pub fn is_modern_header(headers: &HeaderMap) -> bool {
    version_header(headers).is_some_and(|version| era::legacy_version(version).is_none())
}

pub fn bad_request(id: Option<&RpcId>, error: &RpcError) -> HttpReply {
    HttpReply::json(StatusCode::BAD_REQUEST, error_message(id, error))
}

/// The same for an id that is forged, foreign, expired or ended.
fn no_session(id: Option<&RpcId>) -> HttpReply {
    let error = RpcError::new(NO_SESSION, "Session not found");
    HttpReply::json(StatusCode::NOT_FOUND, error_message(id, &error))
}

// The headers in which a modern request repeats what its body says, so that proxies can route it without reading the
// body. Headers that contradict the body are refused: a proxy and the gateway would see different requests.

const VERSION: &str = "Mcp-Protocol-Version";
const METHOD: &str = "Mcp-Method";
const NAME: &str = "Mcp-Name";

/// Compares the headers of a request with its body.
fn check_headers(
    gateway: &Gateway,
    view: &View,
    headers: &HeaderMap,
    request: &RpcRequest,
) -> Result<(), RpcError> {
    let params = &request.params;
    let plain = |value: &str| Some(value.to_owned());
    let version = params.meta().and_then(|meta| meta.get(VERSION_KEY)).and_then(Value::as_str);
    // A version that is not text is refused as such.
    if let Some(version) = version {
        same(headers, VERSION, version, plain)?;
    }
    same(headers, METHOD, &request.method, plain)?;
    let member = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return Ok(()),
    };
    // The method, which reads the same parameters, refuses a request without a name.
    let Ok(name) = params.text(member) else { return Ok(()) };
    same(headers, NAME, name, decoded)?;
    match request.method == "tools/call" {
        true => arguments(gateway, view, headers, name, params),
        false => Ok(()),
    }
}

fn mismatch(text: &str) -> RpcError {
    RpcError::new(HEADER_MISMATCH, format!("Header mismatch: {text}"))
}

/// Compares a header, as `read` understands it, with the body.
fn same(
    headers: &HeaderMap,
    name: &str,
    expected: &str,
    read: impl FnOnce(&str) -> Option<String>,
) -> Result<(), RpcError> {
    let value = read_once(headers, name)?.ok_or_else(|| missing(name))?;
    match read(value).as_deref() == Some(expected) {
        true => Ok(()),
        false => Err(contradicts(name)),
    }
}

fn missing(name: &str) -> RpcError {
    mismatch(&format!("the header {name} is missing"))
}

fn contradicts(name: &str) -> RpcError {
    mismatch(&format!("the header {name} contradicts the body"))
}

fn read_once<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, RpcError> {
    once(headers, name).map_err(|why| mismatch(&format!("the header {name} {why}")))
}

/// A value as it is, or from Base64 between marks; `None` if what is between the marks is not what we would write.
fn decoded(value: &str) -> Option<String> {
    let Some(inner) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    let bytes = STANDARD.decode(inner).ok()?;
    String::from_utf8(bytes).ok()
}

/// The arguments that the schema of the tool mirrors into headers.
fn arguments(
    gateway: &Gateway,
    view: &View,
    headers: &HeaderMap,
    tool: &str,
    params: &Map<String, Value>,
) -> Result<(), RpcError> {
    let snapshot = gateway.hub.registry.snapshot();
    let Some(shown) = view.tool(&snapshot, tool) else { return Ok(()) };
    let args = params.get("arguments").unwrap_or(&Value::Null);
    // A schema that breaks the rules mirrors nothing.
    let mirrored = mirrored(&shown.spec().parameters).unwrap_or_default();
    mirrored.iter().try_for_each(|one| argument(headers, one, args))
}

fn argument(headers: &HeaderMap, mirrored: &Mirrored, args: &Value) -> Result<(), RpcError> {
    let name = mirrored.header();
    match (read_once(headers, &name)?, mirrored.value(args)) {
        (None, None) => Ok(()),
        (Some(_), None) => Err(mismatch(&format!("{name} is there without its argument"))),
        (None, Some(_)) => Err(missing(&name)),
        (Some(header), Some(value)) => {
            let is_same =
                |header: &str| header == value || whole(header).is_some_and(|n| Some(n) == whole(&value));
            if decoded(header).as_deref().is_some_and(is_same) { Ok(()) } else { Err(contradicts(&name)) }
        }
    }
}

/// The digits of a whole number that may be written with zeros after the point.
fn whole(text: &str) -> Option<&str> {
    let (digits, fraction) = text.split_once('.').unwrap_or((text, ""));
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    let is_number = !unsigned.is_empty() && unsigned.bytes().all(|b| b.is_ascii_digit());
    (is_number && fraction.bytes().all(|b| b == b'0') && !text.ends_with('.')).then_some(digits)
}

#[cfg(test)]
mod modern_headers_tests {
    use super::*;

    #[test]
    fn values_are_read_as_clients_write_them() {
        for (header, value) in [
            ("us-west1", Some("us-west1")),
            ("=?base64?SGVsbG8sIOS4lueVjA==?=", Some("Hello, 世界")),
            ("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", Some("=?base64?literal?=")),
            ("=?base64?SGVsbG8?=", None),
            ("=?base64?YQ=?=", None),
            ("=?base64?YR==?=", None),
            ("=?base64?/w==?=", None),
        ] {
            assert_eq!(decoded(header).as_deref(), value, "{header}");
        }
    }

    #[test]
    fn whole_numbers_are_equal_however_they_are_written() {
        assert_eq!(whole("42"), whole("42.0"));
        assert_eq!(whole("-7.00"), Some("-7"));
        for text in ["", "-", "4.", "4.5", "1e3", "x", "--4"] {
            assert_eq!(whole(text), None, "{text}");
        }
    }
}
