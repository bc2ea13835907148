//! What a transport over HTTP and its tasks share, and posting what the server does not have to answer.

use super::body::{self, SharedEvent, is_message};
use super::client::{HttpResponse, OutgoingBody};
use super::endpoint::{HttpEndpoint, HttpOptions};
use super::protocol_headers::ProtocolHeaders;
use super::refusal::{Refusal, read_refusal};
use crate::mcp::inbox::{Answerer, Inbox};
use crate::mcp::protocol::Era;
use crate::mcp::transport::too_large;
use arc_swap::{ArcSwap, ArcSwapOption};
use reqwest::{Method, Url};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome};

/// How long the server may take to accept it.
pub(crate) const SEND_TIME: Duration = Duration::from_secs(3);

pub(crate) struct HttpShared {
    /// Gone once the transport is closed, and its connections with it.
    pub(crate) remote: ArcSwapOption<HttpEndpoint>,
    /// Where messages are posted to. Its query may name a session, so it is shown nowhere.
    pub(crate) endpoint: Url,
    pub(crate) protocol_headers: ArcSwap<ProtocolHeaders>,
    pub(crate) inbox: Arc<Inbox>,
    /// Why no further request can be sent: the server has forgotten our session, or its stream is over.
    pub(crate) over: OnceLock<HubError>,
    pub(crate) closed: CancellationToken,
}

impl HttpShared {
    pub(super) fn open(options: HttpOptions, inbox: Arc<Inbox>) -> Result<Arc<Self>, HubError> {
        let remote = Arc::new(HttpEndpoint::new(options)?);
        let endpoint = remote.url.clone();
        Ok(HttpShared::new(ProtocolHeaders::new(&remote), remote, endpoint, inbox))
    }

    pub(crate) fn new(
        protocol_headers: ProtocolHeaders,
        remote: Arc<HttpEndpoint>,
        endpoint: Url,
        inbox: Arc<Inbox>,
    ) -> Arc<Self> {
        Arc::new(HttpShared {
            remote: ArcSwapOption::new(Some(remote)),
            endpoint,
            protocol_headers: ArcSwap::from_pointee(protocol_headers),
            inbox,
            over: OnceLock::new(),
            closed: CancellationToken::new(),
        })
    }

    pub(crate) fn remote(&self) -> Result<Arc<HttpEndpoint>, HubError> {
        self.remote.load_full().ok_or_else(|| {
            let error = HubError::new(ErrorKind::Closed, "the connection to the server is closed");
            error.with_outcome(Outcome::NotSent)
        })
    }

    /// Posts a message in the session.
    pub(crate) async fn post(
        &self,
        remote: &HttpEndpoint,
        message: OutgoingBody,
    ) -> Result<HttpResponse, HubError> {
        let protocol_headers = self.protocol_headers.load_full();
        remote.ask(Method::POST, &self.endpoint, || Ok(protocol_headers.plain()), message).await
    }

    pub(crate) async fn send(&self, message: String) -> Result<(), HubError> {
        let remote = self.remote()?;
        let post = self.post(&remote, OutgoingBody::of_message(message));
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

    /// Takes an event of a stream that belongs to no single request. True if it is a message.
    pub(crate) fn take(self: &Arc<Self>, event: SharedEvent, limit: usize) -> bool {
        match event {
            SharedEvent::Whole(event) if is_message(&event) => {
                self.inbox.receive(event.data.as_bytes(), None, &|| self.answerer());
                return true;
            }
            // The stream continues for the other requests.
            SharedEvent::TooLarge(Some(id)) => {
                self.inbox.settle(id, Err(too_large(limit)));
            }
            SharedEvent::Whole(_) | SharedEvent::TooLarge(None) => {}
        }
        false
    }

    pub(crate) fn on_negotiated(&self, era: Era, version: &'static str) {
        self.protocol_headers
            .rcu(|protocol_headers| ProtocolHeaders::clone(protocol_headers).on_negotiated(era, version));
    }

    pub(crate) fn retired(&self) -> Option<HubError> {
        self.over.get().cloned().or_else(|| self.remote().err())
    }

    /// Ends everything. The endpoint, if this was the first to do so.
    pub(crate) fn close(&self) -> Option<Arc<HttpEndpoint>> {
        self.closed.cancel();
        let remote = self.remote.swap(None)?;
        self.inbox.end(&closed(&remote));
        Some(remote)
    }
}

/// Waits for a 2xx, and for the end of its body, so that the connection can be used again.
pub(crate) async fn accepted(
    remote: &HttpEndpoint,
    post: impl Future<Output = Result<HttpResponse, HubError>>,
    id: Option<u64>,
) -> Result<(), Refusal> {
    let response = post.await.map_err(Refusal::unsent)?;
    if response.status().is_success() {
        body::beginning(response).await;
        return Ok(());
    }
    Err(read_refusal(remote, response, id).await)
}

fn unaccepted(remote: &HttpEndpoint) -> HubError {
    let text =
        message!("the server did not accept a message within {} s ({})", SEND_TIME.as_secs(), remote.shown);
    HubError::new(ErrorKind::Timeout, text)
}

/// The error of what is in flight when a transport is closed.
fn closed(remote: &HttpEndpoint) -> HubError {
    HubError::new(ErrorKind::Closed, message!("the connection was closed ({})", remote.shown))
}
