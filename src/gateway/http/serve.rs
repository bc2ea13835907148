//! The streamable HTTP endpoint, as a function from a request to a reply. hyper and ASGI use the same one.

use crate::Gateway;
use crate::http::{
    Admitted, HttpReply, bad_request, comment, event, expect_events, expect_json, inspect, is_modern_header,
    post,
};
use crate::identity::revoked;
use crate::kept::random_id;
use crate::operate::{SHORT_PAUSE, TooMany};
use crate::rpc::{INTERNAL_ERROR, RpcError, notification_message, read_payload};
use crate::session::ClientChanges;
use crate::stdio::{ClientInput, serve_client};
use bytes::Bytes;
use futures_util::stream::{StreamExt, once, poll_fn, unfold};
use http::request::Parts;
use http::{Method, StatusCode};
use std::future::ready;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use toolhub_types::blocking::block_if_large;
use toolhub_types::principal::Principal;

/// Answers a request that was admitted. Dropping the future, or the body of the reply, cancels the call.
pub async fn serve(gateway: &Arc<Gateway>, admitted: Admitted, parts: &Parts, body: Bytes) -> HttpReply {
    let principal = admitted.origin.principal.clone();
    let answered = answered(gateway, admitted, parts, body).await;
    answered.unwrap_or_else(|refusal| refuse(gateway, &principal, refusal))
}

/// Each request that is refused before a method has read it is counted and written down here.
pub fn refuse(gateway: &Gateway, principal: &Principal, refusal: HttpReply) -> HttpReply {
    gateway.refused(refusal.status, Some(principal));
    refusal
}

/// `Err` is a refusal.
async fn answered(
    gateway: &Arc<Gateway>,
    admitted: Admitted,
    parts: &Parts,
    body: Bytes,
) -> Result<HttpReply, HttpReply> {
    let admitted = match parts.method {
        Method::POST => admitted,
        _ => admitted.not_draining()?,
    };
    if let Some(route) = admitted.inspects {
        return Ok(inspect::serve(gateway, route, parts, &body).await);
    }
    if admitted.is_sse {
        return serve_sse(gateway, admitted, parts, &body);
    }
    match parts.method {
        Method::POST => post(gateway, admitted, parts, body).await,
        // The modern protocol has neither sessions nor a long-lived stream.
        _ if is_modern_header(&parts.headers) => Err(HttpReply::not_allowed("POST")),
        Method::GET => listen(gateway, admitted, parts),
        Method::DELETE => admitted.origin.end_session(gateway, &parts.headers),
        _ => Err(HttpReply::not_allowed("GET, POST, DELETE")),
    }
}

/// The long-lived stream of a legacy client: changes of lists, and of resources that it has subscribed to.
fn listen(gateway: &Arc<Gateway>, admitted: Admitted, parts: &Parts) -> Result<HttpReply, HttpReply> {
    expect_events(&parts.headers)?;
    let caller = admitted.origin.of_session(gateway, &parts.headers, None)?;
    let changes =
        ClientChanges::of_session(gateway, (&caller.view, &caller.principal), caller.session.as_ref());
    let session = caller.session.as_deref().and_then(|session| {
        let (principal, view) = (&caller.principal.id, &caller.view.name);
        gateway.sessions.open(session, principal, view, SystemTime::now()).ok()
    });
    let stream = gateway.sessions.streams.open(session.as_deref(), changes);
    let state = (gateway.clone(), admitted, stream);
    Ok(HttpReply::events(unfold(state, |state| async move {
        let (gateway, Admitted { origin, .. }, stream) = &state;
        let (method, params) = tokio::select! {
            notice = stream.next(&gateway.hub, &origin.view) => notice,
            () = stream.over() => return None,
            () = gateway.operation.closing.cancelled() => return None,
            () = revoked(gateway, &origin.principal, &origin.view) => return None,
        };
        Some((event(notification_message(method, &params)), state))
    })))
}

/// How many messages of a client of HTTP+SSE, and how many for it, may wait.
const MOST_WAITING: usize = 256;
/// The name of the client's id in the address that it posts to.
const SESSION: &str = "session";

/// Answers a request by HTTP+SSE, the transport of 2024-11-05, for old clients: a GET opens the one stream for all messages to the
/// client, and names the address to which the client posts its own.
fn serve_sse(
    gateway: &Arc<Gateway>,
    admitted: Admitted,
    parts: &Parts,
    body: &[u8],
) -> Result<HttpReply, HttpReply> {
    match parts.method {
        Method::GET => open_sse(gateway, admitted, parts),
        Method::POST => post_sse(gateway, admitted, parts, body),
        _ => Err(HttpReply::not_allowed("GET, POST")),
    }
}

/// A client that is connected. It has one stream, and sends its messages by other requests, which must reach the same process.
pub struct ConnectedClient {
    /// The only caller whose messages count: its principal and its view.
    principal: Arc<str>,
    view: Arc<str>,
    messages: mpsc::Sender<ClientInput>,
}

fn open_sse(gateway: &Arc<Gateway>, admitted: Admitted, parts: &Parts) -> Result<HttpReply, HttpReply> {
    expect_events(&parts.headers)?;
    let Admitted { origin, place, .. } = admitted;
    let (messages, mut posted) = mpsc::channel(MOST_WAITING);
    let (output, sent) = mpsc::channel(MOST_WAITING);
    let (principal, view) = (origin.principal.id.clone(), origin.view.name.clone());
    let client = ConnectedClient { principal, view, messages };
    // An id that can be guessed would let others speak for the client.
    let connection = random_id().and_then(|id| gateway.sessions.sse_clients.enter(id, client));
    let connection = connection.ok_or_else(|| {
        let error = RpcError::new(INTERNAL_ERROR, "Internal error: could not read random bytes from the OS");
        HttpReply::refused(StatusCode::INTERNAL_SERVER_ERROR, &error)
    })?;
    let posted = poll_fn(move |cx| posted.poll_recv(cx));
    tokio::spawn(serve_client(gateway.clone(), origin.clone(), posted, output, false));
    // Relative to the address of the stream, which may be below a place that only a proxy knows.
    let address = format!("event: endpoint\ndata: ?{SESSION}={}\n\n", connection.key);
    // Dropping it ends the connection and cancels the requests of the client.
    let state = (sent, gateway.clone(), origin, connection, place);
    let events = unfold(state, |mut state| async move {
        let (sent, gateway, origin, ..) = &mut state;
        let event = tokio::select! {
            message = sent.recv() => event(message?),
            () = tokio::time::sleep(gateway.options.keep_alive) => comment(),
            () = revoked(gateway, &origin.principal, &origin.view) => return None,
        };
        Some((event, state))
    });
    Ok(HttpReply::events(once(ready(Bytes::from(address))).chain(events)))
}

/// A message of a client. Its answer comes on the stream.
fn post_sse(
    gateway: &Gateway,
    admitted: Admitted,
    parts: &Parts,
    body: &[u8],
) -> Result<HttpReply, HttpReply> {
    expect_json(&parts.headers)?;
    let pairs = parts.uri.query().unwrap_or_default().split('&');
    let id = pairs.filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == SESSION);
    let Admitted { origin, place, .. } = admitted;
    let is_own =
        |client: &ConnectedClient| client.principal == origin.principal.id && client.view == origin.view.name;
    let messages = id.and_then(|(_, id)| {
        let clients = &gateway.sessions.sse_clients;
        clients.find(&id.to_owned(), |client| is_own(client).then(|| client.messages.clone()))
    });
    let messages = messages.ok_or_else(|| HttpReply::invalid(StatusCode::NOT_FOUND, "Session not found"))?;
    let payload = block_if_large(body.len(), || read_payload(body));
    let payload = payload.map_err(|refused| bad_request(refused.id.as_ref(), &refused.error))?;
    // Held until the answers are sent: a client that does not read gets no further places.
    let places = place.for_requests(gateway, &origin.principal, payload.requests())?;
    match messages.try_send((Ok(payload), Some(Box::new(places)))) {
        Ok(()) => Ok(HttpReply::text(StatusCode::ACCEPTED, "Accepted")),
        Err(TrySendError::Full(_)) => Err(TooMany { seconds: SHORT_PAUSE }.into()),
        Err(TrySendError::Closed(_)) => Err(HttpReply::empty(StatusCode::NOT_FOUND)),
    }
}
