//! HTTP+SSE, the oldest of the HTTP transports: one stream brings everything, and each message is a POST to the address
//! that the stream names first.

use super::OutgoingRequest;
use super::http::body::{self, BodyKind, Events, StreamPosition};
use super::http::client::OutgoingBody;
use super::http::endpoint::{HttpEndpoint, HttpOptions};
use super::http::exchange::read_refusal;
use super::http::protocol_headers::ProtocolHeaders;
use super::http::{HttpShared, HttpTransport};
use crate::mcp::inbox::Inbox;
use crate::mcp::proof;
use crate::web::shown_url;
use reqwest::{Method, Url};
use std::sync::Arc;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome};

impl HttpTransport {
    /// Opens the stream and waits until it has named the address for messages.
    pub async fn open_sse(options: HttpOptions, inbox: Arc<Inbox>) -> Result<Arc<Self>, HubError> {
        let remote = Arc::new(HttpEndpoint::new(options)?);
        let protocol_headers = ProtocolHeaders::new(&remote);
        let headers = || Ok(protocol_headers.listening(None));
        let response = remote.ask(Method::GET, &remote.url, headers, OutgoingBody::default()).await?;
        if response.status != 200 {
            return Err(read_refusal(&remote, response, None).await.error);
        }
        if !matches!(body::kind(&response), BodyKind::Events) {
            let text = message!("the server offers no event stream at {}; check the address", remote.shown);
            return Err(HubError::new(ErrorKind::Protocol, text).with_outcome(Outcome::NotSent));
        }
        let base = response.moved.as_ref().unwrap_or(&remote.url).clone();
        let mut events = Events::shared(response, remote.limit, StreamPosition::default());
        let endpoint = loop {
            let event = events.next(&remote).await?;
            if event.name == "endpoint" {
                break endpoint(&remote, &base, &event.data)?;
            }
        };
        let shared = HttpShared::new(remote.clone(), endpoint, inbox, true);
        tokio::spawn(read(shared.clone(), remote, events));
        Ok(Arc::new(HttpTransport { shared }))
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

impl HttpShared {
    /// Posts a request. The address is that of the session: a server that does not know it has not run the request.
    pub(super) async fn post_for_stream(
        &self,
        remote: &HttpEndpoint,
        request: &OutgoingRequest,
    ) -> Result<(), HubError> {
        let body = OutgoingBody::of_request(&request.body, &request.stage);
        let Err(mut refusal) = self.deliver(remote, body, Some(request.id)).await else { return Ok(()) };
        // The stream may bring a result all the same.
        refusal.error = proof::of_two_streams(refusal.error, false);
        Err(refusal.of_call(self, remote, request.id).await)
    }
}
