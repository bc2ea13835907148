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
mod exchange;
pub(crate) mod protocol_headers;
pub(crate) mod refusal;
pub(crate) mod shared;
mod unbroken;

pub use endpoint::HttpOptions;

use super::{OutgoingRequest, Transport, TransportPlace};
use crate::mcp::inbox::Inbox;
use crate::mcp::protocol::Era;
use client::OutgoingBody;
use exchange::Carried;
use reqwest::Method;
use serde_json::value::RawValue;
use shared::HttpShared;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use toolhub_types::error::HubError;
use toolhub_types::tool::BoxFuture;

/// How long the server may take to end a session.
const GOODBYE_TIME: Duration = Duration::from_millis(1500);

pub struct StreamableHttp {
    shared: Arc<HttpShared>,
}

impl StreamableHttp {
    /// Checks the options. The first request makes the first connection.
    pub fn open(options: HttpOptions, inbox: Arc<Inbox>) -> Result<Arc<Self>, HubError> {
        Ok(Arc::new(StreamableHttp { shared: HttpShared::open(options, inbox)? }))
    }
}

impl Transport for StreamableHttp {
    fn request<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<Box<RawValue>, HubError>> {
        Box::pin(async move {
            let shared = &self.shared;
            if let Some(over) = shared.over.get() {
                return Err(over.clone());
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
        self.shared.on_negotiated(era, version);
        if era == Era::Legacy {
            tokio::spawn(exchange::listen(self.shared.clone()));
        }
    }

    fn cancels_by_drop(&self) -> bool {
        self.shared.protocol_headers.load().era() != Some(Era::Legacy)
    }

    fn retired(&self) -> Option<HubError> {
        self.shared.retired()
    }

    fn breaks(&self) -> u64 {
        // A session is that of one program.
        match (self.shared.protocol_headers.load().has_session(), &*self.shared.remote.load()) {
            (false, Some(remote)) => remote.connections().breaks(),
            _ => 0,
        }
    }

    fn place(&self) -> TransportPlace {
        let protocol_headers = self.shared.protocol_headers.load();
        let remote = self.shared.remote.load();
        remote.as_ref().map_or_else(TransportPlace::default, |remote| {
            TransportPlace::http(&remote.url, protocol_headers.session())
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let shared = &self.shared;
            let Some(remote) = shared.close() else { return };
            let protocol_headers = shared.protocol_headers.load_full();
            if protocol_headers.has_session() && shared.over.get().is_none() {
                let goodbye = remote.ask(
                    Method::DELETE,
                    &remote.url,
                    || Ok(protocol_headers.plain()),
                    OutgoingBody::empty(),
                );
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
