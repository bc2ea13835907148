//! A message of a client on HTTP, and its answer: JSON, or events if something has to be sent before it.

use crate::Gateway;
use crate::era;
use crate::exchange::BatchAnswers;
use crate::exchange::{AnsweredRequest, Exchange, answer};
use crate::http::{
    Accepted, Admitted, HttpReply, RequestPermit, RunningAnswer, SESSION_HEADER, answer_events, bad_request,
    event, expect_json, is_modern_header, not_acceptable, version_header,
};
use crate::identity::Caller;
use crate::rpc::{
    ClientMessage, ClientPayload, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Outlet, RequestTrace,
    RpcRequest, read_payload, takes_batches,
};
use crate::session::SessionClaims;
use bytes::Bytes;
use futures_util::StreamExt;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use std::collections::VecDeque;
use std::future::ready;
use std::sync::Arc;
use std::time::SystemTime;
use toolhub_protocol::{Era, MODERN};
use toolhub_types::blocking::block_if_large;

pub async fn post(
    gateway: &Arc<Gateway>,
    admitted: Admitted,
    parts: &Parts,
    body: Bytes,
) -> Result<HttpReply, HttpReply> {
    expect_json(&parts.headers)?;
    let accepted = Accepted::of(&parts.headers);
    if !accepted.json && !accepted.events {
        return Err(not_acceptable("The client must accept application/json or text/event-stream"));
    }
    let payload = block_if_large(body.len(), || read_payload(&body));
    // What was read of it is enough; a large one must not stay for as long as the request runs.
    drop(body);
    let payload = payload.map_err(|refused| bad_request(refused.id.as_ref(), &refused.error))?;
    let message = match payload {
        ClientPayload::One(message) => message,
        batch => return post_batch(gateway, admitted, &parts.headers, accepted, batch).await,
    };
    let request = match message {
        ClientMessage::Request(request) => request,
        ClientMessage::Notification { .. } if is_modern_header(&parts.headers) => {
            // A modern client cancels by closing the stream of its request; other notifications are ignored.
            let version = version_header(&parts.headers).unwrap_or_default();
            return match version == MODERN {
                true => Ok(HttpReply::empty(StatusCode::ACCEPTED)),
                false => Err(bad_request(None, &era::unsupported(version))),
            };
        }
        message => {
            gateway.notice(&admitted.origin.of_session(gateway, &parts.headers, None)?, message);
            return Ok(HttpReply::empty(StatusCode::ACCEPTED));
        }
    };
    let Admitted { origin, place, .. } = admitted.for_request(gateway, &request)?;
    let caller = origin.of_request(gateway, &parts.headers, &request)?;
    let session = session_for(gateway, &request, &caller);
    let place = match &*request.method {
        "subscriptions/listen" => place.into_stream(gateway, &caller.principal)?,
        _ => place,
    };
    let trace = RequestTrace::of_http(&parts.headers, gateway.hub.telemetry.is_on());
    let reply = respond(gateway, request, caller, trace, accepted, place).await?;
    Ok(match session {
        Some(session) => reply.with(SESSION_HEADER, session),
        None => reply,
    })
}

/// The id of the session that `initialize` opens.
fn session_for(gateway: &Gateway, request: &RpcRequest, caller: &Caller) -> Option<HeaderValue> {
    if caller.era != Era::Legacy || request.method != "initialize" {
        return None;
    }
    let (principal, view) = (&caller.principal.id, &caller.view.name);
    let claims = SessionClaims::new(caller.version, &caller.capabilities, principal, view);
    let id = gateway.sessions.seal(claims, SystemTime::now()).ok()?;
    HeaderValue::try_from(id).ok()
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
    let (id, cancel) = (request.id.clone(), gateway.operation.cancel_running.child_token());
    let (outlet, mut messages) = Outlet::open();
    let begun = Exchange::begin((gateway, Arc::new(caller)), &id, outlet, cancel.clone(), trace);
    let (exchange, entry) = begun.map_err(|error| bad_request(Some(&id), &error))?;
    let keep_alive = gateway.options.keep_alive;
    let mut running = RunningAnswer::new(async move {
        let answer = answer(request, &exchange).await;
        drop((entry, place));
        answer
    });
    // Dropped before the request: its token has fired when it goes on by itself.
    let guard = cancel.drop_guard();
    if !accepted.events {
        messages.close();
        let answer = running.come().await;
        drop(guard);
        return Ok(whole(era, accepted, answer));
    }
    let (first, answer) = tokio::select! {
        biased;
        Some(message) = messages.recv() => (Some(message), None),
        answer = running.come() => match (messages.try_recv(), answer) {
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
    Ok(answer_events(first, messages, answers, keep_alive, guard))
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

/// Answers a batch: with an array of JSON or, if something has to be sent before that, with events, one for each answer as soon
/// as it is there. Before the first request starts, each has its place (429 for all of them, 413 if there never are so many),
/// which is free again when that request ends.
async fn post_batch(
    gateway: &Arc<Gateway>,
    admitted: Admitted,
    headers: &HeaderMap,
    accepted: Accepted,
    batch: ClientPayload,
) -> Result<HttpReply, HttpReply> {
    let caller = Arc::new(admitted.origin.of_session(gateway, headers, None)?);
    let version = caller.session.is_some().then_some(caller.version);
    takes_batches(version).map_err(|error| bad_request(None, &error))?;
    let requests = batch.requests();
    let admitted = if requests > 0 { admitted.not_draining()? } else { admitted };
    let mut places = admitted.place.for_requests(gateway, &caller.principal, requests)?;
    let cancel = gateway.operation.cancel_running.child_token();
    let (outlet, mut messages) = Outlet::open();
    let ClientPayload::Batch(entries) = batch else { return Ok(HttpReply::empty(StatusCode::ACCEPTED)) };
    let prepared = |places: &mut Vec<RequestPermit>, request: RpcRequest| {
        let (place, outlet, cancel) = (places.pop(), outlet.clone(), cancel.child_token());
        let client = (gateway, caller.clone());
        let trace = RequestTrace { is_http: true, ..RequestTrace::default() };
        let (exchange, entry) = Exchange::begin(client, &request.id, outlet, cancel, trace)?;
        Ok(async move {
            let answered = answer(request, &exchange).await;
            drop((entry, place));
            Some(answered.message)
        })
    };
    let notice = |_: &mut Vec<RequestPermit>, message| gateway.notice(&caller, message);
    let mut answers = BatchAnswers::of(entries, (gateway, &caller.principal), &mut places, prepared, notice);
    drop((places, outlet));
    if answers.is_empty() {
        return Ok(HttpReply::empty(StatusCode::ACCEPTED));
    }
    let guard = cancel.drop_guard();
    let whole = |mut answers: BatchAnswers| HttpReply::json(StatusCode::OK, answers.message());
    if !accepted.events {
        messages.close();
        answers.completed().await;
        return Ok(whole(answers));
    }
    let (keep_alive, mut first) = (gateway.options.keep_alive, VecDeque::new());
    if accepted.json {
        tokio::select! {
            biased;
            Some(message) = messages.recv() => first.push_back(message),
            () = answers.completed() => {}
            () = tokio::time::sleep(keep_alive) => {}
        }
    }
    // What was said before an answer stays before it.
    while let Ok(message) = messages.try_recv() {
        first.push_back(message);
    }
    if accepted.json && first.is_empty() && answers.coming.is_empty() {
        return Ok(whole(answers));
    }
    first.extend(answers.taken());
    let answers = answers.coming.filter_map(|(_, answer)| ready(answer));
    Ok(answer_events(first, messages, answers, keep_alive, guard))
}
