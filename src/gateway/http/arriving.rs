//! A request whose body somebody else reads, part by part: the servers of ASGI applications do.

use crate::Gateway;
use crate::http::{Admitted, ArrivingBody, HttpReply, admit, cors, refuse, serve};
use http::request::Parts;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

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
            Err(refusal) => Err(cors::readable(&gateway, &parts, refusal)),
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
        cors::readable(&gateway, &parts, reply)
    }

    fn refused(&self, refusal: HttpReply) -> HttpReply {
        let refusal = refuse(&self.gateway, &self.admitted.origin.principal, refusal);
        cors::readable(&self.gateway, &self.parts, refusal)
    }
}
