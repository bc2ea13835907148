//! HTTP+SSE, the oldest of the HTTP transports: one stream brings everything, and each message is a POST to the address
//! that the stream names first.

use super::http::body::{self, Events, Kind, is_message};
use super::http::peer::{Peer, shown};
use super::http::speech::Speech;
use super::http::{HttpOptions, SEND_TIME, accepted, closed, failure, unaccepted};
use super::{Request, Transport};
use crate::error::{ErrorKind, HubError, Outcome};
use crate::sources::mcp::inbox::{Answerer, Inbox};
use crate::sources::mcp::protocol::Era;
use crate::tool::BoxFuture;
use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use reqwest::{Method, Url};
use serde_json::value::RawValue;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

pub struct LegacySse {
    shared: Arc<Shared>,
}

struct Shared {
    /// Gone once the transport is closed, and its connections with it.
    peer: ArcSwapOption<Peer>,
    /// Where messages are posted to. Its query may name the session, so it is shown nowhere.
    endpoint: Url,
    speech: ArcSwap<Speech>,
    inbox: Arc<Inbox>,
    /// Why the stream is over.
    over: OnceLock<HubError>,
    closed: CancellationToken,
}

impl LegacySse {
    /// Opens the stream and waits until it has named the address for messages.
    pub async fn open(options: HttpOptions, inbox: Arc<Inbox>) -> Result<Arc<Self>, HubError> {
        let peer = Arc::new(Peer::new(options)?);
        let speech = Speech::new(&peer);
        let response = peer.ask(Method::GET, &peer.url, || Ok(speech.listening(None)), Bytes::new()).await?;
        if response.status() != 200 {
            return Err(failure::refusal(&peer, response, None).await);
        }
        if !matches!(body::kind(&response), Kind::Events) {
            let text = format!("the server offers no event stream at {}; check the address", peer.shown);
            return Err(HubError::new(ErrorKind::Protocol, text).with_outcome(Outcome::NotSent));
        }
        let base = response.url().clone();
        let mut events = Events::new(response, peer.limit);
        let endpoint = loop {
            let event = events.next(&peer).await?;
            if event.name == "endpoint" {
                break endpoint(&peer, &base, &event.data)?;
            }
        };
        let shared = Arc::new(Shared {
            peer: ArcSwapOption::new(Some(peer.clone())),
            endpoint,
            speech: ArcSwap::from_pointee(speech),
            inbox,
            over: OnceLock::new(),
            closed: CancellationToken::new(),
        });
        tokio::spawn(read(shared.clone(), peer, events));
        Ok(Arc::new(LegacySse { shared }))
    }
}

/// The address that the stream named, relative to its own. Only our origin gets our messages and headers.
fn endpoint(peer: &Peer, base: &Url, text: &str) -> Result<Url, HubError> {
    let refuse = |text: String| HubError::new(ErrorKind::Protocol, text).with_outcome(Outcome::NotSent);
    let url = base.join(text.trim()).map_err(|error| {
        refuse(format!("the server named no valid address for messages ({error}) ({})", peer.shown))
    })?;
    if !peer.is_same_origin(&url) {
        return Err(refuse(format!(
            "the server wants its messages at another origin, {}, where nothing is sent; configure the server's own address",
            peer.quote(&shown(&url))
        )));
    }
    Ok(url)
}

/// Reads the stream to its end, which is the end of the connection.
async fn read(shared: Arc<Shared>, peer: Arc<Peer>, mut events: Events) {
    let error = loop {
        let event = tokio::select! {
            biased;
            () = shared.closed.cancelled() => return,
            event = events.next(&peer) => event,
        };
        match event {
            Ok(event) if is_message(&event) => {
                shared.inbox.receive(event.data.as_bytes(), None, &|| Some(shared.answerer()));
            }
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    let _ = shared.over.set(error.clone().with_outcome(Outcome::NotSent));
    shared.inbox.end(&error);
}

impl Transport for LegacySse {
    fn request<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Box<RawValue>, HubError>> {
        Box::pin(async move {
            let peer = self.shared.peer()?;
            let expected = self.shared.inbox.await_answer(request.id)?;
            let mut answer = pin!(expected.answer());
            tokio::select! {
                biased;
                reply = &mut answer => return reply,
                posted = self.shared.post(&peer, request.body.clone().into(), Some(request.id)) => posted?,
            }
            answer.await
        })
    }

    fn send<'a>(&'a self, message: String) -> BoxFuture<'a, Result<(), HubError>> {
        Box::pin(self.shared.send(message))
    }

    fn agreed(&self, era: Era, version: &'static str) {
        self.shared.speech.rcu(|speech| Speech::clone(speech).agreed(era, version));
    }

    fn cancels_by_drop(&self) -> bool {
        false
    }

    fn retired(&self) -> Option<HubError> {
        self.shared.over.get().cloned().or_else(|| self.shared.peer().err())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.shared.closed.cancel();
            if let Some(peer) = self.shared.peer.swap(None) {
                self.shared.inbox.end(&closed(&peer));
            }
        })
    }
}

impl Drop for LegacySse {
    fn drop(&mut self) {
        self.shared.closed.cancel();
        self.shared.peer.store(None);
    }
}

impl Shared {
    fn peer(&self) -> Result<Arc<Peer>, HubError> {
        self.peer.load_full().ok_or_else(|| {
            let error = HubError::new(ErrorKind::Closed, "the connection to the server is closed");
            error.with_outcome(Outcome::NotSent)
        })
    }

    async fn post(&self, peer: &Peer, message: Bytes, id: Option<u64>) -> Result<(), HubError> {
        let speech = self.speech.load_full();
        let post = peer.ask(Method::POST, &self.endpoint, || Ok(speech.plain()), message);
        accepted(peer, post, id).await
    }

    async fn send(&self, message: String) -> Result<(), HubError> {
        let peer = self.peer()?;
        tokio::select! {
            () = self.closed.cancelled() => Err(closed(&peer)),
            sent = tokio::time::timeout(SEND_TIME, self.post(&peer, message.into(), None)) => {
                sent.unwrap_or_else(|_| Err(unaccepted(&peer)))
            }
        }
    }

    fn answerer(self: &Arc<Self>) -> Answerer {
        let shared = self.clone();
        Box::new(move |answer| {
            Box::pin(async move {
                let _ = shared.send(answer).await;
            })
        })
    }
}
