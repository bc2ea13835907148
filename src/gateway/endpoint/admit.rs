//! What happens to an HTTP request before its body is read: origin, credentials, view, limits.
//!
//! ```text
//! Host, Origin ─► /healthz, /readyz ─► who calls (401, 403) ─► /metrics ─► view (404) ─► limits (429)
//! ```
//!
//! While the gateway drains, new requests get 503. Answers to the questions of running calls, and cancellations, are taken:
//! which one a message is shows its body.

use super::identify::RequestOrigin;
use super::origin;
use super::reply::HttpReply;
use super::stopping;
use crate::gateway::authenticator::AuthenticationRefusal;
use crate::gateway::limits::{Occupied, OccupiedPlace, TooMany};
use crate::gateway::operate::DrainPlace;
use crate::gateway::rpc::RpcError;
use crate::gateway::state::Gateway;
use crate::principal::Principal;
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, header};
use std::time::SystemTime;

const HEALTH: &str = "/healthz";
const READINESS: &str = "/readyz";
const METRICS: &str = "/metrics";
/// The text format of Prometheus.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A request that may be read: who calls, what they see, and its place among those that are running.
pub struct Admitted {
    pub origin: RequestOrigin,
    pub place: RequestPlace,
    /// It uses the transport HTTP+SSE.
    pub is_sse: bool,
    /// It came while the gateway drains.
    is_late: bool,
}

/// Held while a request runs.
pub struct RequestPlace {
    _occupied: OccupiedPlace,
    /// A standing stream does not keep the gateway from stopping.
    _running: Option<DrainPlace>,
}

impl RequestPlace {
    /// The place of a request whose answer is a standing stream.
    pub fn into_stream(self, gateway: &Gateway, principal: &Principal) -> Result<RequestPlace, TooMany> {
        let occupied = gateway.admission.enter(&principal.id, Occupied::Stream)?;
        Ok(RequestPlace { _occupied: occupied, _running: None })
    }
}

impl Admitted {
    /// Refuses a request that came while the gateway drains.
    pub fn not_draining(self, gateway: &Gateway) -> Result<Admitted, HttpReply> {
        match self.is_late {
            true => {
                gateway.metrics.refused(StatusCode::SERVICE_UNAVAILABLE.as_u16());
                Err(HttpReply::refused(StatusCode::SERVICE_UNAVAILABLE, &stopping())
                    .with(header::RETRY_AFTER, HeaderValue::from_static("1")))
            }
            false => Ok(self),
        }
    }
}

/// Admits a request, or answers it without its body.
pub async fn admit(gateway: &Gateway, parts: &Parts) -> Result<Admitted, HttpReply> {
    let admitted = admission(gateway, parts).await;
    if let Err(reply) = &admitted
        && reply.status.is_client_error() | reply.status.is_server_error()
    {
        gateway.metrics.refused(reply.status.as_u16());
    }
    admitted
}

async fn admission(gateway: &Gateway, parts: &Parts) -> Result<Admitted, HttpReply> {
    let options = &gateway.options;
    if let Err(refusal) = origin::check(parts, &options.allowed_hosts, &options.allowed_origins) {
        let error = RpcError::invalid_request(refusal.message());
        return Err(HttpReply::refused(StatusCode::FORBIDDEN, &error));
    }
    let path = parts.uri.path();
    let is_get = parts.method == Method::GET;
    match path {
        HEALTH if is_get => return Err(HttpReply::text(StatusCode::OK, "ok\n")),
        READINESS if is_get => return Err(readiness(gateway)),
        _ => {}
    }
    let authenticated = gateway.authenticator.authenticate(&parts.headers, SystemTime::now()).await;
    let principal = authenticated.map_err(|refusal| unauthenticated(gateway, &refusal))?;
    // Metrics name all tools, so they are not for callers who see some of them only.
    if path == METRICS && is_get && principal.view.is_none() {
        return Err(metrics(gateway));
    }
    let below = |base: &str| gateway.views.of_path(path, base, &principal);
    let usual = below(&options.path);
    let is_sse = usual.is_none();
    let view = usual.or_else(|| below(options.sse_path.as_deref()?));
    let view = view.ok_or_else(|| HttpReply::empty(StatusCode::NOT_FOUND))?;
    let running = gateway.drain.enter();
    let is_late = running.is_none();
    let what = if is_get { Occupied::Stream } else { Occupied::Request };
    let occupied = gateway.admission.enter(&principal.id, what).map_err(|refused| too_many(&refused))?;
    let place = RequestPlace { _occupied: occupied, _running: running.filter(|_| !is_get) };
    Ok(Admitted { origin: RequestOrigin { principal, view }, place, is_sse, is_late })
}

fn readiness(gateway: &Gateway) -> HttpReply {
    match gateway.drain.is_draining() || gateway.hub.is_closed() {
        true => HttpReply::text(StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
        false => HttpReply::text(StatusCode::OK, "ready\n"),
    }
}

fn metrics(gateway: &Gateway) -> HttpReply {
    let mut reply = HttpReply::text(StatusCode::OK, gateway.metrics.text(&gateway.gauges()));
    reply.headers.clear();
    reply.with(header::CONTENT_TYPE, HeaderValue::from_static(METRICS_TYPE))
}

fn unauthenticated(gateway: &Gateway, refusal: &AuthenticationRefusal) -> HttpReply {
    let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::UNAUTHORIZED);
    let reply = HttpReply::refused(status, &RpcError::invalid_request(refusal.message()));
    let challenge = gateway.authenticator.challenge(refusal);
    match challenge.and_then(|challenge| HeaderValue::try_from(challenge).ok()) {
        Some(challenge) => reply.with(header::WWW_AUTHENTICATE, challenge),
        None => reply,
    }
}

/// The reply to a caller who has too much running.
pub fn too_many(refused: &TooMany) -> HttpReply {
    let error = RpcError::invalid_request("Too many requests at once; try again later");
    HttpReply::refused(StatusCode::TOO_MANY_REQUESTS, &error)
        .with(header::RETRY_AFTER, HeaderValue::from(refused.seconds()))
}
