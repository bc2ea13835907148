//! The streamable HTTP endpoint, as a function from a request to a reply. hyper and ASGI use the same one.

use crate::Gateway;
use crate::http::{
    Admitted, HttpReply, RequestPermit, event, expect_events, inspect, is_modern_header, legacy_sse, post,
};
use crate::identity::{Caller, revoked};
use crate::operate::HeldBytes;
use crate::rpc::notification_message;
use crate::session::{ClientChanges, SessionStream, WantedLists, WantedTasks};
use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use http::Method;
use http::request::Parts;
use std::sync::Arc;
use std::time::SystemTime;
use toolhub_types::principal::Principal;

/// Answers a request that was admitted. Dropping the future, or the body of the reply, cancels the call.
pub async fn serve(
    gateway: &Arc<Gateway>,
    mut admitted: Admitted,
    parts: &Parts,
    (body, held): (Bytes, HeldBytes),
) -> HttpReply {
    let principal = admitted.origin.principal.clone();
    admitted.place.hold(held);
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
        return legacy_sse::serve(gateway, admitted, parts, &body);
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
    let subscribed = caller.session.as_ref();
    let subscribed =
        subscribed.map(|session| gateway.sessions.subscriptions_of(&caller.principal.id, session));
    let subscribed = subscribed.unwrap_or_default();
    let wanted = (WantedLists::ALL, WantedTasks::of_session(caller.session.as_ref()));
    let changes = ClientChanges::new(gateway, (&caller.view, &caller.principal), wanted, subscribed);
    let session = caller.session.as_deref().and_then(|session| {
        let (principal, view) = (&caller.principal.id, &caller.view.name);
        gateway.sessions.ids.open(session, principal, view, SystemTime::now()).ok()
    });
    let stream = gateway.sessions.streams.open(session.as_deref(), changes);
    Ok(HttpReply::events(change_events(gateway.clone(), caller, stream, admitted.place)))
}

fn change_events(
    gateway: Arc<Gateway>,
    caller: Caller,
    stream: SessionStream,
    place: RequestPermit,
) -> impl Stream<Item = Bytes> + Send {
    let (principal, view) = (caller.principal, caller.view);
    unfold((stream, place), move |(stream, place)| {
        let (gateway, principal, view) = (gateway.clone(), principal.clone(), view.clone());
        async move {
            let (method, params) = tokio::select! {
                notice = stream.next(&gateway.hub, &view) => notice,
                () = stream.over() => return None,
                () = gateway.operation.closing.cancelled() => return None,
                () = revoked(&gateway, &principal, &view) => return None,
            };
            Some((event(notification_message(method, &params)), (stream, place)))
        }
    })
}
