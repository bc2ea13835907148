//! Streamable HTTP: every message is a POST of its own, answered by JSON or by a stream of events.
//!
//! ```text
//! request ─► speech (headers of the era) ─► peer (origin, credentials, redirects) ─► body (bounded) ─► answer
//!                                                                                       │
//!                                        listen (GET stream of the legacy era) ─► inbox ◄┘ everything else
//! ```
//!
//! In the modern era that is all, and dropping a request tells the server. The legacy era adds a session, which the server
//! may forget, a stream to listen to, and streams that can be resumed where they broke.

pub(crate) mod body;
pub(crate) mod failure;
mod listen;
pub(crate) mod pace;
pub(crate) mod peer;
pub(crate) mod speech;

use super::{Request, Transport};
use crate::error::{ErrorKind, HubError, Outcome};
use crate::sources::mcp::auth::Credentials;
use crate::sources::mcp::heavy::heavy;
use crate::sources::mcp::inbox::{Answerer, Inbox, Reply};
use crate::sources::mcp::protocol::Era;
use crate::sources::mcp::wire::{self, Incoming};
use crate::tool::BoxFuture;
use arc_swap::{ArcSwap, ArcSwapOption};
use body::{Events, Kind, is_message};
use bytes::Bytes;
use pace::Pace;
use peer::Peer;
use reqwest::{Method, Response};
use serde_json::value::RawValue;
use speech::Speech;
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
    shared: Arc<Shared>,
}

/// What the tasks of a transport share with it.
pub(crate) struct Shared {
    /// Gone once the transport is closed, and its connections with it.
    peer: ArcSwapOption<Peer>,
    speech: ArcSwap<Speech>,
    inbox: Arc<Inbox>,
    /// Set when the server has forgotten our session.
    forgotten: OnceLock<HubError>,
    closed: CancellationToken,
}

impl StreamableHttp {
    /// Checks the options. The first request makes the first connection.
    pub fn open(options: HttpOptions, inbox: Arc<Inbox>) -> Result<Arc<Self>, HubError> {
        let peer = Peer::new(options)?;
        let shared = Shared {
            speech: ArcSwap::from_pointee(Speech::new(&peer)),
            peer: ArcSwapOption::from_pointee(peer),
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
            let peer = shared.peer()?;
            let speech = shared.speech.load_full();
            // The answer may come on another stream than its own, and closing ends the wait here.
            let expected = shared.inbox.await_answer(request.id)?;
            let mut answer = pin!(expected.answer());
            let carried = tokio::select! {
                biased;
                reply = &mut answer => return reply,
                carried = shared.carry(&peer, &speech, request) => carried?,
            };
            match carried {
                Carried::Reply(reply) => reply,
                Carried::Settled => answer.await,
            }
        })
    }

    fn send<'a>(&'a self, message: String) -> BoxFuture<'a, Result<(), HubError>> {
        Box::pin(self.shared.send(message))
    }

    fn agreed(&self, era: Era, version: &'static str) {
        self.shared.speech.rcu(|speech| Speech::clone(speech).agreed(era, version));
        if era == Era::Legacy {
            tokio::spawn(listen::listen(self.shared.clone()));
        }
    }

    fn cancels_by_drop(&self) -> bool {
        self.shared.speech.load().era() != Some(Era::Legacy)
    }

    fn retired(&self) -> Option<HubError> {
        self.shared.forgotten.get().cloned().or_else(|| self.shared.peer().err())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let shared = &self.shared;
            shared.closed.cancel();
            let Some(peer) = shared.peer.swap(None) else { return };
            shared.inbox.end(&closed(&peer));
            let speech = shared.speech.load_full();
            if speech.has_session() && shared.forgotten.get().is_none() {
                let goodbye = peer.ask(Method::DELETE, &peer.url, || Ok(speech.plain()), Bytes::new());
                let _ = tokio::time::timeout(GOODBYE_TIME, goodbye).await;
            }
        })
    }
}

impl Drop for StreamableHttp {
    fn drop(&mut self) {
        self.shared.closed.cancel();
        self.shared.peer.store(None);
    }
}

/// The error of what is in flight when a transport is closed.
pub(crate) fn closed(peer: &Peer) -> HubError {
    HubError::new(ErrorKind::Closed, format!("the connection was closed ({})", peer.shown))
}

/// What became of a request that was carried to the server and back.
enum Carried {
    Reply(Reply),
    /// The inbox has the reply.
    Settled,
}

impl Shared {
    fn peer(&self) -> Result<Arc<Peer>, HubError> {
        self.peer.load_full().ok_or_else(|| {
            let error = HubError::new(ErrorKind::Closed, "the connection to the server is closed");
            error.with_outcome(Outcome::NotSent)
        })
    }

    async fn carry(
        self: &Arc<Self>,
        peer: &Peer,
        speech: &Speech,
        request: &Request,
    ) -> Result<Carried, HubError> {
        let body = Bytes::from(request.body.clone());
        let headers = || speech.of_request(request);
        let mut response = peer.ask(Method::POST, &peer.url, headers, body).await?;
        if !matches!(response.status().as_u16(), 200 | 201 | 203) {
            return Err(self.refused(peer, speech, request, response).await);
        }
        if speech.opens_session(request.method) {
            self.speech.rcu(|speech| Speech::clone(speech).in_session(response.headers()));
        }
        match body::kind(&response) {
            Kind::Events => self.follow(peer, request, response).await,
            Kind::Page => {
                let text =
                    "Failed to parse MCP response: the server answered with an HTML page; check the address.";
                Err(failure::unknown(ErrorKind::Protocol, text))
            }
            Kind::Message => {
                let body = body::whole(peer, &mut response).await?;
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
                    return Ok(Carried::Reply(outcome));
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
        peer: &Peer,
        request: &Request,
        response: Response,
    ) -> Result<Carried, HubError> {
        let mut events = Events::new(response, peer.limit);
        let mut pace = Pace::of_resuming();
        loop {
            match events.next(peer).await {
                Ok(event) if !is_message(&event) => {}
                Ok(event) => {
                    if self.inbox.receive(event.data.as_bytes(), Some(request.id), &|| self.answerer()) {
                        events.end(&self.closed).await;
                        return Ok(Carried::Settled);
                    }
                    pace.reset();
                }
                Err(lost) => self.resume(peer, request, &mut events, &mut pace, lost).await?,
            }
        }
    }

    /// Asks for the rest of a stream that broke, where the era and the server allow it; otherwise `lost` it stays.
    async fn resume(
        &self,
        peer: &Peer,
        request: &Request,
        events: &mut Events,
        pace: &mut Pace,
        lost: HubError,
    ) -> Result<(), HubError> {
        // The session may be as new as the answer that is awaited.
        let speech = self.speech.load_full();
        let last_id = events.last_id().map(str::to_owned);
        if lost.kind != ErrorKind::Closed || last_id.is_none() || speech.is_modern(request.method) {
            return Err(lost);
        }
        for _ in 0..RESUME_ATTEMPTS {
            tokio::time::sleep(pace.wait(events.retry())).await;
            let headers = || Ok(speech.listening(last_id.as_deref()));
            match peer.ask(Method::GET, &peer.url, headers, Bytes::new()).await {
                Ok(response) if response.status() == 200 && matches!(body::kind(&response), Kind::Events) => {
                    events.resume(response, peer.limit);
                    return Ok(());
                }
                Ok(_) => return Err(lost),
                Err(_) => {}
            }
        }
        Err(lost)
    }

    /// The error for a response that is no answer, which may be that our session is gone.
    async fn refused(&self, peer: &Peer, speech: &Speech, request: &Request, response: Response) -> HubError {
        let error = failure::refusal(peer, response, Some(request.id)).await;
        // A method that the server does not know is no lost session, whatever the status.
        let is_forgotten = error.status == Some(404) && error.code != Some(-32601);
        if !is_forgotten || !speech.has_session() || speech.is_modern(request.method) {
            return error;
        }
        let text =
            format!("the server has forgotten the session ({}); a new one has to be opened", peer.shown);
        let error = HubError { status: Some(404), ..HubError::new(ErrorKind::Closed, text) };
        self.forgotten.get_or_init(|| error.with_outcome(Outcome::NotSent)).clone()
    }

    async fn send(&self, message: String) -> Result<(), HubError> {
        let peer = self.peer()?;
        let speech = self.speech.load_full();
        let post = peer.ask(Method::POST, &peer.url, || Ok(speech.plain()), message.into());
        tokio::select! {
            () = self.closed.cancelled() => Err(closed(&peer)),
            sent = tokio::time::timeout(SEND_TIME, accepted(&peer, post, None)) => sent.unwrap_or_else(|_| Err(unaccepted(&peer))),
        }
    }

    /// The way back for a request of the server, which the modern era does not have.
    fn answerer(self: &Arc<Self>) -> Option<Answerer> {
        if self.speech.load().era() == Some(Era::Modern) {
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
    peer: &Peer,
    post: impl Future<Output = Result<Response, HubError>>,
    id: Option<u64>,
) -> Result<(), HubError> {
    let response = post.await?;
    if response.status().is_success() {
        body::beginning(response).await;
        return Ok(());
    }
    Err(failure::refusal(peer, response, id).await)
}

pub(crate) fn unaccepted(peer: &Peer) -> HubError {
    let text =
        format!("the server did not accept a message within {} s ({})", SEND_TIME.as_secs(), peer.shown);
    HubError::new(ErrorKind::Timeout, text)
}
