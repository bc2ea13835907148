//! Streamable HTTP: every message is a POST of its own, answered by JSON or by a stream of events.
//!
//! ```text
//! request ─► protocol_headers (headers of the era) ─► endpoint (origin, credentials, redirects) ─► body (bounded) ─► answer
//!                                                                                       │
//!                                        listen (GET stream of the legacy era) ─► inbox ◄┘ everything else
//! ```
//!
//! In the modern era that is all, and dropping a request tells the server. The legacy era adds a session, which the server
//! may forget, a stream to listen to, and streams that can be resumed where they broke.

pub(crate) mod body;
pub(crate) mod client;
pub(crate) mod endpoint;
pub(crate) mod exchange;
pub(crate) mod protocol_headers;
mod unbroken;

pub use endpoint::HttpOptions;

use super::{OutgoingRequest, Transport, too_large};
use crate::mcp::inbox::{Answerer, Inbox};
use crate::mcp::proof;
use crate::mcp::protocol::Era;
use crate::web::shown_url;
use arc_swap::ArcSwap;
use body::{EVENTS, Events, is_message, is_of_type};
use client::{HttpResponse, OutgoingBody};
use endpoint::HttpEndpoint;
use exchange::{Refusal, read_refusal};
use protocol_headers::ProtocolHeaders;

use reqwest::{Method, Url};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use toolhub_protocol::sse::SseParser;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result};
use toolhub_types::telemetry::{SpanAttribute, SpanAttributes, session_name};
use toolhub_types::tool::BoxFuture;

/// How long the server may take to end a session.
const GOODBYE_TIME: Duration = Duration::from_millis(1500);

/// Streamable HTTP, or HTTP+SSE: see [`HttpTransport::open_sse`].
pub struct HttpTransport {
    shared: Arc<HttpShared>,
}

impl HttpTransport {
    /// Checks the options. The first request makes the first connection.
    pub fn open(options: HttpOptions, inbox: Arc<Inbox>) -> Result<Arc<Self>> {
        let remote = HttpEndpoint::new(options)?;
        let endpoint = remote.url.clone();
        Ok(Arc::new(HttpTransport { shared: HttpShared::new(remote, endpoint, inbox, false) }))
    }
}

impl Transport for HttpTransport {
    fn request<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<Box<RawValue>>> {
        Box::pin(self.shared.request(request))
    }

    fn send<'a>(&'a self, message: String) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.shared.send(message))
    }

    fn on_negotiated(&self, era: Era, version: &'static str) {
        let headers = &self.shared.protocol_headers;
        headers.rcu(|headers| ProtocolHeaders::clone(headers).on_negotiated(era, version));
        if era == Era::Legacy && !self.shared.is_sse {
            tokio::spawn(exchange::listen(self.shared.clone()));
        }
    }

    fn cancels_by_drop(&self) -> bool {
        !self.shared.is_sse && self.shared.protocol_headers.load().era != Some(Era::Legacy)
    }

    fn retired(&self) -> Option<HubError> {
        self.shared.inbox.retired()
    }

    fn breaks(&self) -> u64 {
        // A session is that of one program, and so is the one stream.
        let has_session = self.shared.is_sse || self.shared.protocol_headers.load().session().is_some();
        if has_session { 0 } else { self.shared.remote.client.open.breaks() }
    }

    fn place(&self) -> SpanAttributes {
        let (endpoint, headers) = (&self.shared.endpoint, self.shared.protocol_headers.load());
        let mut place =
            vec![(SpanAttribute::Network, "tcp".into()), (SpanAttribute::NetworkProtocol, "http".into())];
        let session = headers.session().and_then(|id| id.to_str().ok());
        place.extend(session.map(|id| (SpanAttribute::SessionId, session_name(id).into())));
        place.extend(endpoint.host_str().map(|host| (SpanAttribute::Address, host.into())));
        place.extend(endpoint.port_or_known_default().map(|port| (SpanAttribute::Port, port.into())));
        place
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let HttpShared { remote, inbox, protocol_headers, .. } = &*self.shared;
            // Not a second time, and not if the server has forgotten it.
            let is_known = inbox.retired().is_none();
            inbox.end(&closed(remote));
            let protocol_headers = protocol_headers.load_full();
            if protocol_headers.session().is_some() && is_known {
                let headers = || Ok(protocol_headers.base.clone());
                let goodbye = remote.ask(Method::DELETE, &remote.url, headers, OutgoingBody::default());
                let _ = tokio::time::timeout(GOODBYE_TIME, goodbye).await;
            }
        })
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.shared.inbox.end(&closed(&self.shared.remote));
    }
}

// What a transport over HTTP and its tasks share, and posting what the server does not have to answer.

/// How long the server may take to accept it.
pub(crate) const SEND_TIME: Duration = Duration::from_secs(3);

pub(crate) struct HttpShared {
    pub(crate) remote: HttpEndpoint,
    /// Where messages are posted to. Its query may name a session, so it is shown nowhere.
    pub(crate) endpoint: Url,
    pub(crate) protocol_headers: ArcSwap<ProtocolHeaders>,
    pub(crate) inbox: Arc<Inbox>,
    /// HTTP+SSE: one stream brings all answers.
    is_sse: bool,
}

impl HttpShared {
    fn new(remote: HttpEndpoint, endpoint: Url, inbox: Arc<Inbox>, is_sse: bool) -> Arc<Self> {
        let protocol_headers = ArcSwap::from_pointee(ProtocolHeaders::new(&remote));
        Arc::new(HttpShared { remote, endpoint, protocol_headers, inbox, is_sse })
    }

    /// Posts a message in the session.
    async fn post(&self, message: OutgoingBody) -> Result<HttpResponse> {
        let protocol_headers = self.protocol_headers.load_full();
        let headers = || Ok(protocol_headers.base.clone());
        self.remote.ask(Method::POST, &self.endpoint, headers, message).await
    }

    /// Posts a message, and waits for a 2xx and for the end of its body, so that the connection can be used again.
    async fn deliver(&self, message: OutgoingBody, id: Option<u64>) -> Result<(), Refusal> {
        let response = self.post(message).await.map_err(|error| Refusal { error, is_of_method: false })?;
        if response.status.is_success() {
            body::beginning(response).await;
            return Ok(());
        }
        Err(read_refusal(&self.remote, response, id).await)
    }

    pub(crate) async fn send(&self, message: String) -> Result<()> {
        if let Some(over) = self.inbox.retired() {
            return Err(over);
        }
        let delivered = self.deliver(OutgoingBody::of_message(message), None);
        tokio::select! {
            () = self.inbox.ended.cancelled() => Err(closed(&self.remote)),
            sent = tokio::time::timeout(SEND_TIME, delivered) => {
                let Ok(sent) = sent else {
                    let text = message!("the server did not accept a message within {} s ({})", SEND_TIME.as_secs(), self.remote.shown);
                    return Err(HubError::new(ErrorKind::Timeout, text));
                };
                sent.map_err(|refusal| refusal.error)
            }
        }
    }

    /// The way back for a request of the server, which the modern era does not have.
    pub(super) fn answerer(self: &Arc<Self>) -> Option<Answerer> {
        if self.protocol_headers.load().era == Some(Era::Modern) {
            return None;
        }
        // A person may think for long; the connections of a transport go with it.
        let shared = Arc::downgrade(self);
        Some(Box::new(move |answer| {
            Box::pin(async move {
                if let Some(shared) = shared.upgrade() {
                    let _ = shared.send(answer).await;
                }
            })
        }))
    }

    /// Takes the events of a stream that belongs to no single request, to its end. `on_message` is called for each message.
    async fn take_all(self: &Arc<Self>, events: &mut Events, mut on_message: impl FnMut()) -> HubError {
        loop {
            match events.next_shared(&self.remote).await {
                Ok(Ok(event)) if is_message(&event) => {
                    self.inbox.receive(event.data.as_bytes(), None, &|| self.answerer());
                    on_message();
                }
                Ok(Ok(_)) => {}
                // The stream continues for the other requests.
                Ok(Err(id)) => drop(self.inbox.settle(id, Err(too_large(self.remote.limit)))),
                Err(error) => return error,
            }
        }
    }
}

/// The error of what is in flight when a transport is closed.
fn closed(remote: &HttpEndpoint) -> HubError {
    HubError::new(ErrorKind::Closed, message!("the connection was closed ({})", remote.shown))
}

// HTTP+SSE, the oldest of the HTTP transports: one stream brings everything, and each message is a POST to the address
// that the stream names first.

impl HttpTransport {
    /// Opens the stream and waits until it has named the address for messages.
    pub async fn open_sse(options: HttpOptions, inbox: Arc<Inbox>) -> Result<Arc<Self>> {
        let remote = HttpEndpoint::new(options)?;
        let protocol_headers = ProtocolHeaders::new(&remote);
        let headers = || Ok(protocol_headers.listening(None));
        let response = remote.ask(Method::GET, &remote.url, headers, OutgoingBody::default()).await?;
        if response.status != 200 {
            return Err(read_refusal(&remote, response, None).await.error);
        }
        if !is_of_type(&response, EVENTS) {
            let text = message!("the server offers no event stream at {}; check the address", remote.shown);
            return Err(HubError::new(ErrorKind::Protocol, text).with_outcome(Outcome::NotSent));
        }
        let base = response.moved.as_ref().unwrap_or(&remote.url).clone();
        let mut events = Events::new(response, SseParser::new(remote.limit));
        let endpoint = loop {
            let Ok(event) = events.next_shared(&remote).await? else { continue };
            if event.name == "endpoint" {
                break endpoint(&remote, &base, &event.data)?;
            }
        };
        let shared = HttpShared::new(remote, endpoint, inbox, true);
        tokio::spawn(read(shared.clone(), events));
        Ok(Arc::new(HttpTransport { shared }))
    }
}

/// The address that the stream named, relative to its own. Only our origin gets our messages and headers.
fn endpoint(remote: &HttpEndpoint, base: &Url, text: &str) -> Result<Url> {
    let refuse = |text: Message| HubError::new(ErrorKind::Protocol, text).with_outcome(Outcome::NotSent);
    let url = base.join(text.trim()).map_err(|error| {
        refuse(message!("the server named no valid address for messages ({}) ({})", error, remote.shown))
    })?;
    if !remote.is_same_origin(&url) {
        return Err(refuse(message!(
            "the server asks for its messages at another origin, {}, where nothing is sent; configure the server's own address",
            remote.quote(&shown_url(&url))
        )));
    }
    Ok(url)
}

/// Reads the stream to its end, which is the end of the connection.
async fn read(shared: Arc<HttpShared>, mut events: Events) {
    let reading = shared.take_all(&mut events, || {});
    let Some(error) = shared.inbox.ended.run_until_cancelled(reading).await else { return };
    shared.inbox.end(&error);
}

impl HttpShared {
    /// Posts a request. The address is that of the session: a server that does not know it has not run the request.
    pub(super) async fn post_for_stream(&self, request: &OutgoingRequest) -> Result<()> {
        let body = OutgoingBody::of_request(&request.body, &request.stage);
        let Err(mut refusal) = self.deliver(body, Some(request.id)).await else { return Ok(()) };
        // The stream may bring a result all the same.
        refusal.error = proof::of_two_streams(refusal.error, false);
        Err(refusal.of_call(self, request.id).await)
    }
}
