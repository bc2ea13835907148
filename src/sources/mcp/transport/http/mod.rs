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
pub(crate) mod endpoint;
pub(crate) mod failure;
mod listen;
pub(crate) mod protocol_headers;
pub(crate) mod reconnect_delay;

use super::{Request, Transport};
use crate::error::{ErrorKind, HubError, Outcome};
use crate::sources::mcp::auth::Credentials;
use crate::sources::mcp::heavy::heavy;
use crate::sources::mcp::inbox::{Answerer, Inbox, RpcReply};
use crate::sources::mcp::protocol::Era;
use crate::sources::mcp::wire::{self, Incoming};
use crate::tool::BoxFuture;
use arc_swap::{ArcSwap, ArcSwapOption};
use body::{BodyKind, Events, is_message};
use bytes::Bytes;
use endpoint::HttpEndpoint;
use protocol_headers::ProtocolHeaders;
use reconnect_delay::ReconnectDelay;
use reqwest::{Method, Response};
use serde_json::value::RawValue;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long the server may take to accept what it does not have to answer.
pub(crate) const SEND_TIME: Duration = Duration::from_secs(3);
/// How long the server may take to end a session.
const GOODBYE_TIME: Duration = Duration::from_millis(1500);
/// How often a broken stream is asked for in vain before its request is given up.
const RESUME_ATTEMPTS: usize = 3;

/// Where a server is and what it gets.
pub struct HttpOptions {
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// The bytes of one message, after unpacking.
    pub limit: usize,
    /// Credentials that change: a callable, OAuth.
    pub credentials: Option<Arc<dyn Credentials>>,
}

impl fmt::Debug for HttpOptions {
    /// By hand: URL and headers may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions").field("limit", &self.limit).finish_non_exhaustive()
    }
}

pub struct StreamableHttp {
    shared: Arc<HttpShared>,
}

/// What the tasks of a transport share with it.
pub(crate) struct HttpShared {
    /// Gone once the transport is closed, and its connections with it.
    remote: ArcSwapOption<HttpEndpoint>,
    protocol_headers: ArcSwap<ProtocolHeaders>,
    inbox: Arc<Inbox>,
    /// Set when the server has forgotten our session.
    forgotten: OnceLock<HubError>,
    closed: CancellationToken,
}

impl StreamableHttp {
    /// Checks the options. The first request makes the first connection.
    pub fn open(options: HttpOptions, inbox: Arc<Inbox>) -> Result<Arc<Self>, HubError> {
        let remote = HttpEndpoint::new(options)?;
        let shared = HttpShared {
            protocol_headers: ArcSwap::from_pointee(ProtocolHeaders::new(&remote)),
            remote: ArcSwapOption::from_pointee(remote),
            inbox,
            forgotten: OnceLock::new(),
            closed: CancellationToken::new(),
        };
        Ok(Arc::new(StreamableHttp { shared: Arc::new(shared) }))
    }
}

impl Transport for StreamableHttp {
    fn request<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Box<RawValue>, HubError>> {
        Box::pin(async move {
            let shared = &self.shared;
            if let Some(forgotten) = shared.forgotten.get() {
                return Err(forgotten.clone());
            }
            let remote = shared.remote()?;
            let protocol_headers = shared.protocol_headers.load_full();
            // The answer may come on another stream than its own, and closing ends the wait here.
            let expected = shared.inbox.await_answer(request.id)?;
            let mut answer = pin!(expected.answer());
            let carried = tokio::select! {
                biased;
                reply = &mut answer => return reply,
                carried = shared.carry(&remote, &protocol_headers, request) => carried?,
            };
            match carried {
                Carried::RpcReply(reply) => reply,
                Carried::Settled => answer.await,
            }
        })
    }

    fn send<'a>(&'a self, message: String) -> BoxFuture<'a, Result<(), HubError>> {
        Box::pin(self.shared.send(message))
    }

    fn on_negotiated(&self, era: Era, version: &'static str) {
        self.shared
            .protocol_headers
            .rcu(|protocol_headers| ProtocolHeaders::clone(protocol_headers).on_negotiated(era, version));
        if era == Era::Legacy {
            tokio::spawn(listen::listen(self.shared.clone()));
        }
    }

    fn cancels_by_drop(&self) -> bool {
        self.shared.protocol_headers.load().era() != Some(Era::Legacy)
    }

    fn retired(&self) -> Option<HubError> {
        self.shared.forgotten.get().cloned().or_else(|| self.shared.remote().err())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let shared = &self.shared;
            shared.closed.cancel();
            let Some(remote) = shared.remote.swap(None) else { return };
            shared.inbox.end(&closed(&remote));
            let protocol_headers = shared.protocol_headers.load_full();
            if protocol_headers.has_session() && shared.forgotten.get().is_none() {
                let goodbye =
                    remote.ask(Method::DELETE, &remote.url, || Ok(protocol_headers.plain()), Bytes::new());
                let _ = tokio::time::timeout(GOODBYE_TIME, goodbye).await;
            }
        })
    }
}

impl Drop for StreamableHttp {
    fn drop(&mut self) {
        self.shared.closed.cancel();
        self.shared.remote.store(None);
    }
}

/// The error of what is in flight when a transport is closed.
pub(crate) fn closed(remote: &HttpEndpoint) -> HubError {
    HubError::new(ErrorKind::Closed, format!("the connection was closed ({})", remote.shown))
}

/// What became of a request that was carried to the server and back.
enum Carried {
    RpcReply(RpcReply),
    /// The inbox has the reply.
    Settled,
}

impl HttpShared {
    fn remote(&self) -> Result<Arc<HttpEndpoint>, HubError> {
        self.remote.load_full().ok_or_else(|| {
            let error = HubError::new(ErrorKind::Closed, "the connection to the server is closed");
            error.with_outcome(Outcome::NotSent)
        })
    }

    async fn carry(
        self: &Arc<Self>,
        remote: &HttpEndpoint,
        protocol_headers: &ProtocolHeaders,
        request: &Request,
    ) -> Result<Carried, HubError> {
        let body = Bytes::from(request.body.clone());
        let headers = || protocol_headers.of_request(request);
        let mut response = remote.ask(Method::POST, &remote.url, headers, body).await?;
        if !matches!(response.status().as_u16(), 200 | 201 | 203) {
            return Err(self.refused(remote, protocol_headers, request, response).await);
        }
        if protocol_headers.opens_session(request.method) {
            self.protocol_headers.rcu(|protocol_headers| {
                ProtocolHeaders::clone(protocol_headers).in_session(response.headers())
            });
        }
        match body::kind(&response) {
            BodyKind::Events => self.follow(remote, request, response).await,
            BodyKind::Page => {
                let text =
                    "Failed to parse MCP response: the server answered with an HTML page; check the address.";
                Err(failure::unknown(ErrorKind::Protocol, text))
            }
            BodyKind::Message => {
                let body = body::whole(remote, &mut response).await?;
                self.read(&body, request.id)
            }
        }
    }

    /// A whole body that should be the answer.
    fn read(self: &Arc<Self>, body: &[u8], id: u64) -> Result<Carried, HubError> {
        let mut messages = heavy(body.len(), || wire::decode(body));
        if messages.len() == 1 {
            match messages.pop() {
                Some(Ok(Incoming::Response { id: Some(given), outcome })) if given == id => {
                    return Ok(Carried::RpcReply(outcome));
                }
                other => messages.extend(other),
            }
        }
        if messages.is_empty() {
            let text = "Failed to parse MCP response: unexpected end of input";
            return Err(failure::unknown(ErrorKind::Protocol, text));
        }
        if self.inbox.receive(body, Some(id), &|| self.answerer()) {
            return Ok(Carried::Settled);
        }
        let text = "Failed to parse MCP response: the body is no answer to the request";
        Err(failure::unknown(ErrorKind::Protocol, text))
    }

    /// A stream that should bring the answer, and may bring other messages before it.
    async fn follow(
        self: &Arc<Self>,
        remote: &HttpEndpoint,
        request: &Request,
        response: Response,
    ) -> Result<Carried, HubError> {
        let mut events = Events::new(response, remote.limit);
        let mut delay = ReconnectDelay::of_resuming();
        loop {
            match events.next(remote).await {
                Ok(event) if !is_message(&event) => {}
                Ok(event) => {
                    if self.inbox.receive(event.data.as_bytes(), Some(request.id), &|| self.answerer()) {
                        events.end(&self.closed).await;
                        return Ok(Carried::Settled);
                    }
                    delay.reset();
                }
                Err(lost) => self.resume(remote, request, &mut events, &mut delay, lost).await?,
            }
        }
    }

    /// Asks for the rest of a stream that broke, where the era and the server allow it; otherwise `lost` it stays.
    async fn resume(
        &self,
        remote: &HttpEndpoint,
        request: &Request,
        events: &mut Events,
        delay: &mut ReconnectDelay,
        lost: HubError,
    ) -> Result<(), HubError> {
        // The session may be as new as the answer that is awaited.
        let protocol_headers = self.protocol_headers.load_full();
        let last_id = events.last_id().map(str::to_owned);
        if lost.kind != ErrorKind::Closed || last_id.is_none() || protocol_headers.is_modern(request.method) {
            return Err(lost);
        }
        for _ in 0..RESUME_ATTEMPTS {
            tokio::time::sleep(delay.wait(events.retry())).await;
            let headers = || Ok(protocol_headers.listening(last_id.as_deref()));
            match remote.ask(Method::GET, &remote.url, headers, Bytes::new()).await {
                Ok(response)
                    if response.status() == 200 && matches!(body::kind(&response), BodyKind::Events) =>
                {
                    events.resume(response, remote.limit);
                    return Ok(());
                }
                Ok(_) => return Err(lost),
                Err(_) => {}
            }
        }
        Err(lost)
    }

    /// The error for a response that is no answer, which may be that our session is gone.
    async fn refused(
        &self,
        remote: &HttpEndpoint,
        protocol_headers: &ProtocolHeaders,
        request: &Request,
        response: Response,
    ) -> HubError {
        let error = failure::refusal(remote, response, Some(request.id)).await;
        // A method that the server does not know is no lost session, whatever the status.
        let is_forgotten = error.status == Some(404) && error.code != Some(-32601);
        if !is_forgotten || !protocol_headers.has_session() || protocol_headers.is_modern(request.method) {
            return error;
        }
        let text =
            format!("the server has forgotten the session ({}); a new one has to be opened", remote.shown);
        let error = HubError { status: Some(404), ..HubError::new(ErrorKind::Closed, text) };
        self.forgotten.get_or_init(|| error.with_outcome(Outcome::NotSent)).clone()
    }

    async fn send(&self, message: String) -> Result<(), HubError> {
        let remote = self.remote()?;
        let protocol_headers = self.protocol_headers.load_full();
        let post = remote.ask(Method::POST, &remote.url, || Ok(protocol_headers.plain()), message.into());
        tokio::select! {
            () = self.closed.cancelled() => Err(closed(&remote)),
            sent = tokio::time::timeout(SEND_TIME, accepted(&remote, post, None)) => sent.unwrap_or_else(|_| Err(unaccepted(&remote))),
        }
    }

    /// The way back for a request of the server, which the modern era does not have.
    fn answerer(self: &Arc<Self>) -> Option<Answerer> {
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

/// Waits for a 2xx, and for the end of its body, so that the connection can be used again.
pub(crate) async fn accepted(
    remote: &HttpEndpoint,
    post: impl Future<Output = Result<Response, HubError>>,
    id: Option<u64>,
) -> Result<(), HubError> {
    let response = post.await?;
    if response.status().is_success() {
        body::beginning(response).await;
        return Ok(());
    }
    Err(failure::refusal(remote, response, id).await)
}

pub(crate) fn unaccepted(remote: &HttpEndpoint) -> HubError {
    let text =
        format!("the server did not accept a message within {} s ({})", SEND_TIME.as_secs(), remote.shown);
    HubError::new(ErrorKind::Timeout, text)
}
