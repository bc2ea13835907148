//! The body of a request while it arrives: how long, how much, how fast.

use crate::Gateway;
use crate::http::{Admitted, HttpReply, admit, origin, refuse, serve};
use crate::operate::{HeldBytes, SMALL};
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http::request::Parts;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use toolhub_types::principal::Principal;

/// How long a body may take that brings nothing.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a body has to bring in each further second.
const BYTES_A_SECOND: u64 = 8 * 1024;

/// A body that arrives.
pub struct ArrivingBody {
    parts: BytesMut,
    held: HeldBytes,
    most_held: usize,
    max_body: usize,
    timeout: Duration,
    begun: Instant,
}

impl ArrivingBody {
    pub fn new(gateway: &Gateway, principal: &Principal) -> Self {
        let limits = gateway.operation.admission.limits();
        ArrivingBody {
            parts: BytesMut::new(),
            held: gateway.operation.admission.held.of(&principal.id),
            most_held: limits.max_buffered,
            max_body: gateway.options.max_body,
            timeout: limits.body_timeout,
            begun: Instant::now(),
        }
    }

    /// When the next part has to be here: a body that is slower than it may be gets 408.
    pub fn deadline(&self) -> Instant {
        let earned = Duration::from_secs(self.parts.len() as u64) / BYTES_A_SECOND as u32;
        self.begun + (PATIENCE + earned).min(self.timeout)
    }

    pub fn too_slow() -> HttpReply {
        HttpReply::empty(StatusCode::REQUEST_TIMEOUT)
    }

    pub fn take(&mut self, part: &[u8]) -> Result<(), HttpReply> {
        self.hold(part.len())?;
        self.parts.extend_from_slice(part);
        Ok(())
    }

    /// What has arrived, and its place among what is held, which it needs until it was answered.
    pub fn finish(self) -> (Bytes, HeldBytes) {
        (self.parts.freeze(), self.held)
    }

    fn hold(&mut self, more: usize) -> Result<(), HttpReply> {
        let (before, after) = (self.parts.len(), self.parts.len() + more);
        if after > self.max_body {
            return Err(HttpReply::too_large());
        }
        if after <= SMALL {
            return Ok(());
        }
        let uncounted = if before <= SMALL { before } else { 0 };
        self.held.grow(uncounted + more, self.most_held).map_err(HttpReply::from)
    }
}

/// Reads the body of a request that was admitted.
pub async fn read(
    gateway: &Gateway,
    principal: &Principal,
    mut body: Incoming,
) -> Result<(Bytes, HeldBytes), HttpReply> {
    let mut arriving = ArrivingBody::new(gateway, principal);
    // One allocation; what does not arrive is not touched.
    let declared = body.size_hint().exact().filter(|length| *length > SMALL as u64);
    if let Some(length) = declared.and_then(|length| usize::try_from(length).ok()) {
        arriving.parts.reserve(length.min(arriving.max_body));
    }
    loop {
        let frame = tokio::time::timeout_at(arriving.deadline(), body.frame()).await;
        match frame.map_err(|_| ArrivingBody::too_slow())? {
            None => return Ok(arriving.finish()),
            Some(Err(_)) => return Err(HttpReply::empty(StatusCode::BAD_REQUEST)),
            Some(Ok(frame)) => {
                let Ok(part) = frame.into_data() else { continue };
                // Most bodies have one part, which need not be copied.
                if arriving.parts.is_empty() && body.is_end_stream() {
                    arriving.hold(part.len())?;
                    return Ok((part, arriving.held));
                }
                arriving.take(&part)?;
            }
        }
    }
}

/// A request that was admitted before anything of its body was read.
pub struct ArrivingRequest {
    gateway: Arc<Gateway>,
    parts: Parts,
    admitted: Admitted,
    body: ArrivingBody,
}

impl ArrivingRequest {
    pub async fn admit(gateway: Arc<Gateway>, parts: Parts) -> Result<Self, HttpReply> {
        match admit(&gateway, &parts).await {
            Ok(admitted) => {
                let body = ArrivingBody::new(&gateway, &admitted.origin.principal);
                Ok(ArrivingRequest { gateway, parts, admitted, body })
            }
            Err(refusal) => Err(origin::readable(&gateway, &parts, refusal)),
        }
    }

    pub fn take(&mut self, part: &[u8]) -> Result<(), HttpReply> {
        self.body.take(part).map_err(|refusal| self.refused(refusal))
    }

    /// How long the next part may take.
    pub fn time_left(&self) -> Duration {
        self.body.deadline().saturating_duration_since(Instant::now())
    }

    /// The next part has not come in time.
    pub fn expire(self) -> HttpReply {
        self.refused(ArrivingBody::too_slow())
    }

    /// Answers the request. Dropping the future, or the body of the reply, cancels the call.
    pub async fn answer(self) -> HttpReply {
        let ArrivingRequest { gateway, parts, admitted, body } = self;
        let reply = serve(&gateway, admitted, &parts, body.finish()).await;
        origin::readable(&gateway, &parts, reply)
    }

    fn refused(&self, refusal: HttpReply) -> HttpReply {
        let refusal = refuse(&self.gateway, &self.admitted.origin.principal, refusal);
        origin::readable(&self.gateway, &self.parts, refusal)
    }
}
