//! A message of a client on HTTP, and its answer: JSON, or events if something has to be sent before it.

use crate::answer::{AnsweredRequest, answer, in_use};
use crate::era::modern;
use crate::exchange::Exchange;
use crate::http::accept::{Accepted, is_json, is_plain};
use crate::http::admit::{Admitted, RequestPermit, too_many};
use crate::http::batch::post_batch;
use crate::http::identify::{RequestOrigin, SESSION_HEADER, bad_request, is_modern_header};
use crate::http::reply::HttpReply;
use crate::http::running_answer::RunningAnswer;
use crate::http::sse_stream::{AnswerStream, event};
use crate::identity::caller::Caller;
use crate::rpc::outlet::Outlet;
use crate::rpc::params::RpcParams;
use crate::rpc::payload::{ClientPayload, read_payload};
use crate::rpc::trace::RequestTrace;
use crate::rpc::{ClientMessage, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcRequest};
use crate::session::SessionClaims;
use crate::session::in_flight::{in_flight_key, notified_in_session};
use crate::state::Gateway;
use bytes::Bytes;
use futures_util::StreamExt;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use std::future::ready;
use std::sync::Arc;
use std::time::SystemTime;
use toolhub_protocol::{Era, MODERN};
use toolhub_types::aside::heavy;
use toolhub_types::tool::CancelReason;

pub async fn post(
    gateway: &Arc<Gateway>,
    admitted: Admitted,
    parts: &Parts,
    body: Bytes,
) -> Result<HttpReply, HttpReply> {
    if !is_json(&parts.headers) {
        return Err(HttpReply::invalid(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "The Content-Type must be application/json",
        ));
    }
    if !is_plain(&parts.headers) {
        return Err(HttpReply::invalid(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "The body must not be compressed (Content-Encoding)",
        ));
    }
    let accepted = Accepted::of(&parts.headers);
    if !accepted.json && !accepted.events {
        return Err(HttpReply::invalid(
            StatusCode::NOT_ACCEPTABLE,
            "The client must accept application/json or text/event-stream",
        ));
    }
    let payload = heavy(body.len(), || read_payload(&body));
    // What was read of it is enough; a large one must not stay for as long as the request runs.
    drop(body);
    let payload = payload.map_err(|refused| bad_request(refused.id.as_ref(), &refused.error))?;
    let message = match payload {
        ClientPayload::One(message) => message,
        batch => return post_batch(gateway, admitted, &parts.headers, accepted, batch).await,
    };
    let admitted = match &message {
        ClientMessage::Request(request) => admitted.for_request(gateway, request)?,
        _ => admitted,
    };
    let Admitted { origin, place, .. } = admitted;
    match message {
        ClientMessage::Request(request) => {
            let caller = origin.of_request(gateway, &parts.headers, &request)?;
            let session = session_for(gateway, &request, &caller);
            let place = match &*request.method {
                "subscriptions/listen" => {
                    place.into_stream(gateway, &caller.principal).map_err(|refused| too_many(&refused))?
                }
                _ => place,
            };
            let trace = RequestTrace::of_http(&parts.headers, gateway.hub.telemetry.is_on());
            let mut reply = respond(gateway, request, caller, trace, accepted, place).await?;
            if let Some(session) = session {
                reply.headers.push((SESSION_HEADER, session));
            }
            Ok(reply)
        }
        ClientMessage::Notification { method, params } => {
            notified(gateway, &origin, &parts.headers, &method, &params)?;
            Ok(HttpReply::empty(StatusCode::ACCEPTED))
        }
        ClientMessage::Response { id, outcome } => {
            let caller = origin.of_session(gateway, &parts.headers, None)?;
            gateway.kept.questions.answer(&caller.client_key(), &id, outcome);
            Ok(HttpReply::empty(StatusCode::ACCEPTED))
        }
    }
}

/// The id of the session that `initialize` opens.
fn session_for(gateway: &Gateway, request: &RpcRequest, caller: &Caller) -> Option<HeaderValue> {
    if caller.era != Era::Legacy || request.method != "initialize" {
        return None;
    }
    let claims = SessionClaims::new(
        caller.version,
        &caller.capabilities,
        &caller.client,
        &caller.principal.id,
        &caller.view.name,
    );
    let id = gateway.sessions.ids.seal(claims, SystemTime::now()).ok()?;
    HeaderValue::try_from(id).ok()
}

/// A modern client cancels by closing the stream of its request; other notifications are accepted and ignored.
fn notified(
    gateway: &Gateway,
    origin: &RequestOrigin,
    headers: &HeaderMap,
    method: &str,
    params: &RpcParams,
) -> Result<(), HttpReply> {
    if is_modern_header(headers) {
        let version = headers.get(crate::http::identify::VERSION_HEADER);
        let version = version.and_then(|value| value.to_str().ok()).unwrap_or_default();
        return if version == MODERN {
            Ok(())
        } else {
            Err(bad_request(None, &modern::unsupported(version)))
        };
    }
    notified_in_session(gateway, &origin.of_session(gateway, headers, None)?, method, params);
    Ok(())
}

/// Runs the request. The answer is JSON, unless something has to be sent before it or it takes long.
async fn respond(
    gateway: &Arc<Gateway>,
    request: RpcRequest,
    caller: Caller,
    trace: RequestTrace,
    accepted: Accepted,
    place: RequestPermit,
) -> Result<HttpReply, HttpReply> {
    let era = caller.era;
    let (cancel, cancel_reason) = (gateway.operation.cancel_running.child_token(), CancelReason::default());
    let entry = match &caller.session {
        None => None,
        Some(session) => {
            let key = in_flight_key(session, &request.id.key());
            match gateway.sessions.in_flight.enter(key, cancel.clone(), cancel_reason.clone()) {
                None => return Err(bad_request(Some(&request.id), &in_use(&request.id))),
                entry => entry,
            }
        }
    };
    let (outlet, mut messages) = Outlet::open();
    let (gateway, caller) = (gateway.clone(), Arc::new(caller));
    let keep_alive = gateway.options.keep_alive;
    let exchange =
        Arc::new(Exchange { gateway, caller, outlet, cancel: cancel.clone(), cancel_reason, trace });
    let mut running = RunningAnswer::new(async move {
        let answer = answer(request, &exchange).await;
        drop((entry, place));
        answer
    });
    // Dropped before the request: its token has fired when it goes on by itself.
    let guard = cancel.drop_guard();
    if !accepted.events {
        messages.close();
        let answer = (&mut running).await;
        drop(guard);
        return Ok(whole(era, accepted, answer));
    }
    let (first, answer) = tokio::select! {
        biased;
        Some(message) = messages.recv() => (Some(message), None),
        answer = &mut running => match (messages.try_recv(), answer) {
            (Ok(message), Some(answer)) => (Some(message), Some(answer)),
            (_, answer) => return Ok(whole(era, accepted, answer)),
        },
        () = tokio::time::sleep(keep_alive) => (None, None),
    };
    let detached = answer.is_none().then(|| running.detach());
    let answers = Box::pin(futures_util::stream::once(async move {
        match detached {
            // Without an answer the request has been dropped with the runtime: the stream just ends.
            Some(detached) => detached.await.ok(),
            None => answer,
        }
    }));
    let answers = answers.filter_map(|answer| ready(answer.map(|answer| answer.message)));
    let first = first.into_iter().collect();
    Ok(HttpReply::events(AnswerStream { first, messages, answers, keep_alive, _guard: guard }.events()))
}

/// An answer that nothing was sent before.
fn whole(era: Era, accepted: Accepted, answer: Option<AnsweredRequest>) -> HttpReply {
    let Some(answer) = answer else { return HttpReply::empty(StatusCode::INTERNAL_SERVER_ERROR) };
    if !accepted.json {
        return HttpReply::events(futures_util::stream::iter([event(answer.message)]));
    }
    let status = match (era, answer.error) {
        (Era::Modern, Some(code)) => status_of(code),
        _ => StatusCode::OK,
    };
    HttpReply::answer(status, answer)
}

/// The status that the modern protocol gives to an error.
fn status_of(code: i64) -> StatusCode {
    match code {
        METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        INVALID_REQUEST | INVALID_PARAMS | -32022..=-32020 => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
