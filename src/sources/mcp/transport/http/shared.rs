//! What a transport and its tasks share.

use super::endpoint::HttpEndpoint;
use super::outgoing::OutgoingBody;
use super::protocol_headers::ProtocolHeaders;
use super::sending::{SEND_TIME, accepted, closed, unaccepted};
use crate::error::{ErrorKind, HubError, Outcome};
use crate::sources::mcp::inbox::{Answerer, Inbox};
use crate::sources::mcp::protocol::Era;
use arc_swap::{ArcSwap, ArcSwapOption};
use reqwest::Method;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

pub(crate) struct HttpShared {
    /// Gone once the transport is closed, and its connections with it.
    pub(super) remote: ArcSwapOption<HttpEndpoint>,
    pub(super) protocol_headers: ArcSwap<ProtocolHeaders>,
    pub(super) inbox: Arc<Inbox>,
    /// Set when the server has forgotten our session.
    pub(super) forgotten: OnceLock<HubError>,
    pub(super) closed: CancellationToken,
}

impl HttpShared {
    pub(super) fn remote(&self) -> Result<Arc<HttpEndpoint>, HubError> {
        self.remote.load_full().ok_or_else(|| {
            let error = HubError::new(ErrorKind::Closed, "the connection to the server is closed");
            error.with_outcome(Outcome::NotSent)
        })
    }

    pub(super) async fn send(&self, message: String) -> Result<(), HubError> {
        let remote = self.remote()?;
        let protocol_headers = self.protocol_headers.load_full();
        let message = OutgoingBody::of_message(message);
        let post = remote.ask(Method::POST, &remote.url, || Ok(protocol_headers.plain()), message);
        tokio::select! {
            () = self.closed.cancelled() => Err(closed(&remote)),
            sent = tokio::time::timeout(SEND_TIME, accepted(&remote, post, None)) => {
                sent.map_or_else(|_| Err(unaccepted(&remote)), |sent| sent.map_err(|refusal| refusal.error))
            }
        }
    }

    /// The way back for a request of the server, which the modern era does not have.
    pub(super) fn answerer(self: &Arc<Self>) -> Option<Answerer> {
        if self.protocol_headers.load().era() == Some(Era::Modern) {
            return None;
        }
        let shared = self.clone();
        Some(Box::new(move |answer| {
            Box::pin(async move {
                let _ = shared.send(answer).await;
            })
        }))
    }
}
