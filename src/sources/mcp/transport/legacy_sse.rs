//! HTTP+SSE, the oldest of the HTTP transports: one stream brings everything, and each message is a POST to the address
//! that the stream names first.

use super::http::HttpOptions;
use super::http::body::{self, BodyKind, Events};
use super::http::client::OutgoingBody;
use super::http::endpoint::HttpEndpoint;
use super::http::exchange::read_refusal;
use super::http::protocol_headers::ProtocolHeaders;
use super::http::{HttpShared, SEND_TIME, accepted};
use super::{OutgoingRequest, Transport, TransportPlace};
use crate::mcp::inbox::Inbox;
use crate::mcp::message::ping;
use crate::mcp::proof;
use crate::mcp::protocol::Era;
use crate::web::shown_url;
use reqwest::{Method, Url};
use serde_json::value::RawValue;
use std::pin::pin;
use std::sync::Arc;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome};
use toolhub_types::tool::BoxFuture;

pub struct LegacySse {
    shared: Arc<HttpShared>,
}

impl LegacySse {
    /// Opens the stream and waits until it has named the address for messages.
    pub async fn open(options: HttpOptions, inbox: Arc<Inbox>) -> Result<Arc<Self>, HubError> {
        let remote = Arc::new(HttpEndpoint::new(options)?);
        let protocol_headers = ProtocolHeaders::new(&remote);
        let response = remote
            .ask(Method::GET, &remote.url, || Ok(protocol_headers.listening(None)), OutgoingBody::empty())
            .await?;
        if response.status() != 200 {
            return Err(read_refusal(&remote, response, None).await.error);
        }
        if !matches!(body::kind(&response), BodyKind::Events) {
            let text = message!("the server offers no event stream at {}; check the address", remote.shown);
            return Err(HubError::new(ErrorKind::Protocol, text).with_outcome(Outcome::NotSent));
        }
        let base = response.moved.as_ref().unwrap_or(&remote.url).clone();
        let mut events = Events::shared(response, remote.limit);
        let endpoint = loop {
            let event = events.next(&remote).await?;
            if event.name == "endpoint" {
                break endpoint(&remote, &base, &event.data)?;
            }
        };
        let shared = HttpShared::new(protocol_headers, remote.clone(), endpoint, inbox);
        tokio::spawn(read(shared.clone(), remote, events));
        Ok(Arc::new(LegacySse { shared }))
    }
}

/// The address that the stream named, relative to its own. Only our origin gets our messages and headers.
fn endpoint(remote: &HttpEndpoint, base: &Url, text: &str) -> Result<Url, HubError> {
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
async fn read(shared: Arc<HttpShared>, remote: Arc<HttpEndpoint>, mut events: Events) {
    let error = loop {
        let event = tokio::select! {
            biased;
            () = shared.closed.cancelled() => return,
            event = events.next_shared(&remote) => event,
        };
        match event {
            Ok(event) => {
                shared.take(event, remote.limit);
            }
            Err(error) => break error,
        }
    };
    let _ = shared.over.set(error.clone().with_outcome(Outcome::NotSent));
    shared.inbox.end(&error);
}

impl Transport for LegacySse {
    fn request<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<Box<RawValue>, HubError>> {
        Box::pin(async move {
            let remote = self.shared.remote()?;
            let expected = self.shared.inbox.await_answer(request.id)?;
            let mut answer = pin!(expected.answer());
            let mut post = pin!(post_request(&self.shared, &remote, request));
            let reply = tokio::select! {
                biased;
                reply = &mut answer => reply,
                posted = &mut post => {
                    posted?;
                    return answer.await;
                }
            };
            match reply {
                Err(error) if error.nothing_happened => {
                    let posted = tokio::time::timeout(SEND_TIME, post).await;
                    Err(proof::of_two_streams(error, matches!(posted, Ok(Ok(())))))
                }
                reply => reply,
            }
        })
    }

    fn send<'a>(&'a self, message: String) -> BoxFuture<'a, Result<(), HubError>> {
        Box::pin(self.shared.send(message))
    }

    fn on_negotiated(&self, era: Era, version: &'static str) {
        self.shared.on_negotiated(era, version);
    }

    fn retired(&self) -> Option<HubError> {
        self.shared.retired()
    }

    fn place(&self) -> TransportPlace {
        TransportPlace::http(&self.shared.endpoint, None)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.shared.close();
        })
    }
}

impl Drop for LegacySse {
    fn drop(&mut self) {
        self.shared.closed.cancel();
        self.shared.remote.store(None);
    }
}

/// Posts a request. The address is that of the session: a server that does not know it has not run the request.
async fn post_request(
    shared: &HttpShared,
    remote: &HttpEndpoint,
    request: &OutgoingRequest,
) -> Result<(), HubError> {
    let body = OutgoingBody::of_request(&request.body, &request.stage);
    let posted = accepted(remote, shared.post(remote, body), Some(request.id)).await;
    let Err(mut refusal) = posted else { return Ok(()) };
    // The stream may bring a result all the same.
    refusal.error = proof::of_two_streams(refusal.error, false);
    let ping = shared.post(remote, OutgoingBody::of_message(ping(request.id)));
    Err(refusal.of_call(remote, &shared.over, request.id, ping).await)
}
