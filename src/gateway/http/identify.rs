//! Who makes an HTTP request, and in which era: from its headers and what it says of itself.

use crate::Gateway;
use crate::era::{self, ClientInfo};
use crate::http::{HttpReply, modern_headers};
use crate::identity::Caller;
use crate::rpc::{RpcError, RpcId, RpcRequest, error_message};
use http::{HeaderMap, HeaderName, StatusCode};
use std::sync::Arc;
use std::time::SystemTime;
use toolhub_engine::served::View;
use toolhub_protocol::Era;
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
        let ClientInfo { version, capabilities, client } = info;
        let (principal, view) = (self.principal.clone(), self.view.clone());
        let (capabilities, client) = (Arc::new(capabilities), Arc::new(client));
        Caller { principal, view, era, version, capabilities, client, session: None, has_one_stream: false }
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
            modern_headers::check(gateway, &self.view, headers, request).map_err(refuse)?;
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
        let session = gateway.sessions.ids.open(session, principal, view, SystemTime::now());
        let session = session.map_err(|_| no_session(id))?;
        let claims = &session.claims;
        let version = era::legacy_version(&claims.version).unwrap_or(era::WITHOUT_HEADER);
        if header.is_some_and(|header| header != version) {
            let text = format!("Invalid Request: the session was opened with protocol version {version}");
            return Err(bad_request(id, &RpcError::invalid_request(text)));
        }
        let (capabilities, client) = (claims.capabilities.clone(), claims.client.clone());
        let caller = self.caller(Era::Legacy, ClientInfo::unknown(version));
        Ok(Caller { capabilities, client, session: Some(session.id.clone()), ..caller })
    }

    /// Ends the session that `DELETE` names.
    pub fn end_session(&self, gateway: &Gateway, headers: &HeaderMap) -> Result<HttpReply, HttpReply> {
        let Some(session) = headers.get(SESSION_HEADER) else {
            let error = RpcError::invalid_request("Invalid Request: the header Mcp-Session-Id is missing");
            return Err(bad_request(None, &error));
        };
        let session = session.to_str().unwrap_or_default();
        let ended = gateway.sessions.ids.end(session, &self.principal.id, &self.view.name, SystemTime::now());
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
