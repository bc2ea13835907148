//! What happens to an HTTP request before its body is read: origin, credentials, view, limits. Then how long, how much and how fast
//! its body may come.
//!
//! ```text
//! Host, Origin, CORS ─► /healthz, /readyz, /.well-known ─► /inspect ─► who calls (401, 403) ─► /metrics ─► view (404) ─► limits (429)
//! ```
//!
//! While the gateway drains, new requests get 503. Answers to the questions of running calls, cancellations, and requests about
//! tasks are taken: its body shows which one a message is.

use crate::Gateway;
use crate::exchange::stopping;
use crate::http::{
    HttpReply, InspectRoute, RequestOrigin, inspect, origin, refuse, resource_metadata, serve,
};
use crate::identity::{AuthenticationRefusal, Authenticator};
use crate::operate::{AdmissionPermit, DrainPermit, HeldBytes, PermitKind, SMALL, TooMany};
use crate::rpc::RpcRequest;
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;
use toolhub_engine::served::View;
use toolhub_types::principal::Principal;

const HEALTH: &str = "/healthz";
const READINESS: &str = "/readyz";
const METRICS: &str = "/metrics";
/// The text format of Prometheus.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A request that may be read: who calls, what they see, and its place among those that are running.
pub struct Admitted {
    pub origin: RequestOrigin,
    pub place: RequestPermit,
    /// It uses the transport HTTP+SSE.
    pub is_sse: bool,
    /// It is for the inspector.
    pub inspects: Option<InspectRoute>,
    /// It came while the gateway drains.
    is_late: bool,
}

/// Held while a request runs.
pub struct RequestPermit {
    _occupied: AdmissionPermit,
    /// A long-lived stream does not keep the gateway from stopping.
    _running: Option<Arc<DrainPermit>>,
    /// The body, until the request has ended: what was read of it is as large.
    held: HeldBytes,
}

impl RequestPermit {
    fn new(
        gateway: &Gateway,
        principal: &Principal,
        kind: PermitKind,
        running: Option<Arc<DrainPermit>>,
    ) -> Result<Self, TooMany> {
        let admission = &gateway.operation.admission;
        let occupied = admission.enter(&principal.id, kind)?;
        Ok(RequestPermit { _occupied: occupied, _running: running, held: admission.held.of(&principal.id) })
    }

    /// The place of a request whose answer is a long-lived stream.
    pub fn into_stream(self, gateway: &Gateway, principal: &Principal) -> Result<RequestPermit, TooMany> {
        RequestPermit::new(gateway, principal, PermitKind::Stream, None)
    }

    /// A place for each request of a batch; all of them or none. A batch for which there never is room gets 413, because a client
    /// would send it again after 429.
    pub fn for_requests(
        self,
        gateway: &Gateway,
        principal: &Principal,
        requests: usize,
    ) -> Result<Vec<RequestPermit>, HttpReply> {
        let most = gateway.operation.admission.limits().max_in_flight;
        if requests > most {
            return Err(HttpReply::invalid(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "Invalid Request: a batch of {requests} requests is larger than this server runs at once, {most}; send several batches"
                ),
            ));
        }
        let running = self._running.clone();
        let other = |_| RequestPermit::new(gateway, principal, PermitKind::Request, running.clone());
        let mut places = (1..requests).map(other).collect::<Result<Vec<_>, _>>()?;
        places.push(self);
        Ok(places)
    }
}

impl Admitted {
    fn new(gateway: &Gateway, origin: RequestOrigin, kind: PermitKind) -> Result<Self, TooMany> {
        let running = gateway.operation.drain.enter();
        let is_late = running.is_none();
        let running = running.filter(|_| kind == PermitKind::Request).map(Arc::new);
        let place = RequestPermit::new(gateway, &origin.principal, kind, running)?;
        Ok(Admitted { origin, place, is_sse: false, inspects: None, is_late })
    }

    /// Refuses a request that came while the gateway drains, unless it belongs to a call or task that runs.
    pub fn for_request(mut self, gateway: &Gateway, request: &RpcRequest) -> Result<Admitted, HttpReply> {
        if self.is_late
            && let Some(running) = gateway.enter(request)
        {
            self.place._running = Some(Arc::new(running));
            return Ok(self);
        }
        self.not_draining()
    }

    /// Refuses a request that came while the gateway drains.
    pub fn not_draining(self) -> Result<Admitted, HttpReply> {
        match self.is_late {
            true => Err(HttpReply::refused(StatusCode::SERVICE_UNAVAILABLE, &stopping())
                .with(header::RETRY_AFTER, HeaderValue::from_static("1"))),
            false => Ok(self),
        }
    }
}

/// Admits a request, or answers it without its body.
async fn admit(gateway: &Gateway, parts: &Parts) -> Result<Admitted, HttpReply> {
    let mut known = None;
    let admitted = admission(gateway, parts, &mut known).await;
    if let Err(reply) = &admitted
        && (reply.status.is_client_error() || reply.status.is_server_error())
        && parts.uri.path() != READINESS
    {
        gateway.refused(reply.status, known.as_deref());
    }
    admitted
}

/// `known` gets the principal as soon as it is.
async fn admission(
    gateway: &Gateway,
    parts: &Parts,
    known: &mut Option<Arc<Principal>>,
) -> Result<Admitted, HttpReply> {
    let options = &gateway.options;
    if let Err(refusal) = origin::check(parts, &options.allowed_hosts, &options.allowed_origins) {
        return Err(HttpReply::invalid(StatusCode::FORBIDDEN, refusal));
    }
    if let Some(reply) = origin::preflight(gateway, parts) {
        return Err(reply);
    }
    let path = parts.uri.path();
    let is_get = parts.method == Method::GET;
    match path {
        HEALTH if is_get => return Err(HttpReply::text(StatusCode::OK, "ok\n")),
        READINESS if is_get => return Err(readiness(gateway)),
        _ => {}
    }
    if head_size(parts) > gateway.operation.admission.limits().max_headers {
        return Err(HttpReply::empty(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
    }
    let authenticator = gateway.identity.authenticator.load_full();
    if is_get && let Some(reply) = resource_metadata::reply(&authenticator, &options.path, parts) {
        return Err(reply);
    }
    if let Some(route) = inspect::route(gateway, path) {
        inspect::check(gateway, route, parts)?;
        // The operator is not a caller: it has the limits of callers without credentials, and no view.
        let (principal, view) = (gateway.identity.anonymous.clone(), Arc::new(View::everything()));
        let admitted = Admitted::new(gateway, RequestOrigin { principal, view }, PermitKind::Request)?;
        return Ok(Admitted { inspects: Some(route), ..admitted });
    }
    let is_metrics = path == METRICS && is_get;
    let operator = authenticator.shows_metrics_token(&parts.headers).filter(|_| is_metrics);
    let (metrics, shown) =
        (&gateway.operation.metrics, |text| HttpReply::of(StatusCode::OK, METRICS_TYPE, text));
    if operator == Some(true) {
        return Err(shown(metrics.text(&gateway.gauges())));
    }
    let authenticated = authenticator.authenticate(&parts.headers, SystemTime::now()).await;
    let principal =
        authenticated.map_err(|refusal| unauthenticated(gateway, &authenticator, parts, &refusal))?;
    *known = Some(principal.clone());
    // Metrics name all tools, so they are not for callers who see some of them only.
    if is_metrics && principal.view.is_none() {
        return Err(match operator {
            Some(_) if principal.is_anonymous() => {
                unauthenticated(gateway, &authenticator, parts, &AuthenticationRefusal::Missing)
            }
            // What others did is not for a caller: it sees all only where there is no other, and no token for metrics.
            None if !authenticator.has_several_callers() => shown(metrics.text(&gateway.gauges())),
            _ => shown(metrics.text_of(&principal.id)),
        });
    }
    let views = gateway.identity.views.load_full();
    let below = |base: &str| views.of_path(path, base, &principal);
    let usual = below(&options.path);
    let is_sse = usual.is_none();
    let view = usual.or_else(|| below(options.sse_path.as_deref()?));
    let view = view.ok_or_else(|| HttpReply::empty(StatusCode::NOT_FOUND))?;
    let kind = if is_get { PermitKind::Stream } else { PermitKind::Request };
    let origin = RequestOrigin { principal, view };
    let admitted = Admitted::new(gateway, origin, kind)?;
    let full = gateway.operation.admission.is_full(&admitted.origin.principal.id);
    if let Some(no_room) = full.filter(|_| !is_get) {
        return Err(no_room.into());
    }
    // Said before a client that waits for `100 Continue` sends its body.
    let declared = parts.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if declared
        .and_then(|length| length.parse().ok())
        .is_some_and(|length: u64| length > options.max_body as u64)
    {
        return Err(HttpReply::too_large());
    }
    Ok(Admitted { is_sse, ..admitted })
}

/// In bytes. hyper has a limit of its own, ASGI servers have others.
fn head_size(parts: &Parts) -> usize {
    let headers =
        parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    headers.sum::<usize>() + parts.uri.path().len() + parts.uri.query().map_or(0, str::len)
}

fn readiness(gateway: &Gateway) -> HttpReply {
    match gateway.operation.drain.is_draining() || gateway.hub.is_closed() {
        true => HttpReply::text(StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
        false => HttpReply::text(StatusCode::OK, "ready\n"),
    }
}

fn unauthenticated(
    gateway: &Gateway,
    authenticator: &Authenticator,
    parts: &Parts,
    refusal: &AuthenticationRefusal,
) -> HttpReply {
    let reply = HttpReply::invalid(refusal.status(), refusal.message());
    let metadata = resource_metadata::address(authenticator, &gateway.options.path, parts);
    let challenge = authenticator.challenge(refusal, metadata.as_deref());
    match challenge.and_then(|challenge| HeaderValue::try_from(challenge).ok()) {
        Some(challenge) => reply.with(header::WWW_AUTHENTICATE, challenge),
        None => reply,
    }
}

/// How long a body may take that brings nothing.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a body has to bring in each further second.
const BYTES_A_SECOND: u64 = 8 * 1024;

/// A request that was admitted before anything of its body was read.
pub struct ArrivingRequest {
    gateway: Arc<Gateway>,
    parts: Parts,
    admitted: Admitted,
    /// A body of one part, as most are: it is not copied.
    whole: Bytes,
    body: BytesMut,
    begun: Instant,
}

impl ArrivingRequest {
    pub async fn admit(gateway: Arc<Gateway>, parts: Parts) -> Result<Self, HttpReply> {
        let admitted = match admit(&gateway, &parts).await {
            Ok(admitted) => admitted,
            Err(refusal) => return Err(origin::readable(&gateway, &parts, refusal)),
        };
        let (whole, body, begun) = (Bytes::new(), BytesMut::new(), Instant::now());
        Ok(ArrivingRequest { gateway, parts, admitted, whole, body, begun })
    }

    /// Reads the whole body.
    pub async fn read(mut self, mut body: Incoming) -> Result<Self, HttpReply> {
        // One allocation; what does not arrive is not touched.
        let declared = body.size_hint().exact().filter(|length| *length > SMALL as u64);
        if let Some(length) = declared.and_then(|length| usize::try_from(length).ok()) {
            self.body.reserve(length.min(self.gateway.options.max_body));
        }
        loop {
            match tokio::time::timeout_at(self.deadline(), body.frame()).await {
                Err(_) => return Err(self.expire()),
                Ok(None) => return Ok(self),
                Ok(Some(Err(_))) => return Err(self.refused(HttpReply::empty(StatusCode::BAD_REQUEST))),
                Ok(Some(Ok(frame))) => {
                    let Ok(part) = frame.into_data() else { continue };
                    if self.body.is_empty() && body.is_end_stream() {
                        self.hold(part.len())?;
                        self.whole = part;
                        return Ok(self);
                    }
                    self.take(&part)?;
                }
            }
        }
    }

    pub fn take(&mut self, part: &[u8]) -> Result<(), HttpReply> {
        self.hold(part.len())?;
        self.body.extend_from_slice(part);
        Ok(())
    }

    fn hold(&mut self, more: usize) -> Result<(), HttpReply> {
        let (before, after) = (self.body.len(), self.body.len() + more);
        if after > self.gateway.options.max_body {
            return Err(self.refused(HttpReply::too_large()));
        }
        if after <= SMALL {
            return Ok(());
        }
        let uncounted = if before <= SMALL { before } else { 0 };
        let most = self.gateway.operation.admission.limits().max_buffered;
        let grown = self.admitted.place.held.grow(uncounted + more, most);
        grown.map_err(|no_room| self.refused(no_room.into()))
    }

    /// When the next part has to be here: a body that is slower than it may be gets 408.
    fn deadline(&self) -> Instant {
        let earned = Duration::from_secs(self.body.len() as u64) / BYTES_A_SECOND as u32;
        self.begun + (PATIENCE + earned).min(self.gateway.operation.admission.limits().body_timeout)
    }

    /// How long the next part may take.
    pub fn time_left(&self) -> Duration {
        self.deadline().saturating_duration_since(Instant::now())
    }

    /// The next part has not come in time.
    pub fn expire(self) -> HttpReply {
        self.refused(HttpReply::empty(StatusCode::REQUEST_TIMEOUT))
    }

    /// Answers the request. Dropping the future, or the body of the reply, cancels the call.
    pub async fn answer(self) -> HttpReply {
        let ArrivingRequest { gateway, parts, admitted, whole, body, .. } = self;
        let body = if whole.is_empty() { body.freeze() } else { whole };
        let reply = serve(&gateway, admitted, &parts, body).await;
        origin::readable(&gateway, &parts, reply)
    }

    fn refused(&self, refusal: HttpReply) -> HttpReply {
        let refusal = refuse(&self.gateway, &self.admitted.origin.principal, refusal);
        origin::readable(&self.gateway, &self.parts, refusal)
    }
}
