//! Requests that may ask their client before they are answered. A legacy client is asked by requests on the stream of its
//! request; a modern one gets the questions as a result, and sends the request again with the answers.

use super::call_log;
use super::results::cancelled;
use crate::Exchange;
use crate::identity::{MissingCapability, can_be_asked, takes_tasks};
use crate::kept::{
    CallStep, FinishedCall, KeptCall, RequestState, RequestSubject, TaskQuestion, TaskSignal, by_request,
    caller_key,
};
use crate::rpc::{INTERNAL_ERROR, Outlet, RpcError, RpcParams, TRY_LATER};
use crate::session::SessionRefusal;
use futures_util::future::OptionFuture;
use serde_json::{Map, Value, json};
use std::pin::pin;
use std::sync::Arc;
use std::time::SystemTime;
use toolhub_protocol::{Era, OWN_KEYS, SERVER_KEY};
use toolhub_types::telemetry::TRACE_PARENT;
use toolhub_types::tool::{AskCaller, CallContextExtras, OnProgress, ServerRound};

/// Runs a request to its answer, or to its next questions. `params` are those of the message; `refuse` gets the error of a
/// message that belongs to no request.
pub async fn answer_or_ask<R, F>(
    exchange: &Arc<Exchange>,
    subject: &RequestSubject,
    mut params: RpcParams,
    run: R,
    refuse: impl Fn(RpcError) -> RpcError,
) -> Result<String, RpcError>
where
    R: FnOnce(Arc<Exchange>, CallContextExtras) -> F,
    F: Future<Output = FinishedCall> + Send + 'static,
{
    let (caller, is_modern) = (&exchange.caller, exchange.caller.era == Era::Modern);
    let given = params.take_object("inputResponses").map_err(&refuse)?.unwrap_or_default();
    let mut resumes = None;
    if is_modern && params.contains_key("requestState") {
        match resumed(exchange, subject, &params).map_err(&refuse)? {
            // Questions without an answer are put again.
            ResumedRequest::Here(call) => {
                call.give(given);
                return converse(exchange, subject, &call).await;
            }
            ResumedRequest::FromElsewhere(begun) => resumes = Some(Arc::new(begun)),
        }
    }
    let meta = params.meta();
    let takes_task = subject.method == "tools/call" && takes_tasks(caller);
    if is_modern && (takes_task || can_be_asked(caller)) {
        let reports_progress = meta.is_some_and(|meta| meta.contains_key("progressToken"));
        let call = KeptCall::new(exchange, takes_task.then(|| TaskSignal::new(reports_progress)));
        call.give(given);
        begin(exchange, &call, meta, resumes, run);
        return converse(exchange, subject, &call).await;
    }
    let missing = MissingCapability::default();
    let ask = missing.guard(caller, caller_key(caller), by_request(exchange));
    let extras = CallContextExtras { resumes, ..extras(exchange, ask, meta) };
    let finished = run(exchange.clone(), extras).await;
    match missing.error().filter(|_| is_modern && finished.is_failure) {
        Some(error) => Err(error),
        None => finished.answer,
    }
}

/// Runs a call beside its message, so that it can outlive it.
pub fn begin<R, F>(
    exchange: &Exchange,
    call: &Arc<KeptCall>,
    meta: Option<&Map<String, Value>>,
    resumes: Option<Arc<ServerRound>>,
    run: R,
) where
    R: FnOnce(Arc<Exchange>, CallContextExtras) -> F,
    F: Future<Output = FinishedCall> + Send + 'static,
{
    let (cancel, outlet) = (call.cancel.clone(), call.outlet.clone());
    let own = Exchange { cancel, outlet, ..exchange.clone() };
    let ask = call.missing.guard(&own.caller, caller_key(&own.caller), call.asks());
    let mut extras = extras(&own, ask, meta);
    extras.resumes = resumes;
    extras.on_task = call.becomes_task.as_ref().map(TaskSignal::sender);
    if call.is_task() {
        extras.progress = Some(with_messages(call, extras.progress));
    }
    call.run(exchange, run(Arc::new(own), extras));
}

/// Shows what a call says of its progress as the state of its task, too.
fn with_messages(call: &Arc<KeptCall>, progress: Option<OnProgress>) -> OnProgress {
    let call = Arc::downgrade(call);
    Arc::new(move |report: &Value| {
        if let Some(progress) = &progress {
            progress(report);
        }
        let message = report.get("message").and_then(Value::as_str);
        if let (Some(call), Some(message)) = (call.upgrade(), message) {
            call.set_message(message);
        }
    })
}

/// What a request carries to the tools and servers that answer it.
fn extras(exchange: &Exchange, ask: AskCaller, meta: Option<&Map<String, Value>>) -> CallContextExtras {
    let token = meta.and_then(|meta| meta.get("progressToken"));
    let progress = token.filter(|token| token.is_string() || token.is_i64()).cloned().map(|token| {
        let outlet = exchange.outlet.clone();
        let report: OnProgress = Arc::new(move |report: &Value| outlet.progress(&token, report));
        report
    });
    // What belongs to the exchange between client and gateway is not for others.
    let is_own = |key: &str| key == "progressToken" || key.starts_with(OWN_KEYS);
    let passed = meta.into_iter().flatten().filter(|(key, _)| !is_own(key));
    let mut passed: Map<String, Value> = passed.map(|(key, value)| (key.clone(), value.clone())).collect();
    if let Some(span) = exchange.trace.span.get() {
        passed.insert(TRACE_PARENT.to_owned(), Value::String(span.written()));
    }
    CallContextExtras {
        principal: Some(exchange.caller.principal.clone()),
        progress,
        meta: passed,
        ask: Some(ask),
        log: call_log(exchange, meta),
        cancel_reason: exchange.cancel_reason.clone(),
        keep_raw: true,
        ..CallContextExtras::default()
    }
}

/// The request of a `requestState`.
enum ResumedRequest {
    /// It waits for the answers that this message brings.
    Here(Arc<KeptCall>),
    /// Another replica has begun it, and its server can go on with it here.
    FromElsewhere(ServerRound),
}

fn resumed(
    exchange: &Exchange,
    subject: &RequestSubject,
    params: &RpcParams,
) -> Result<ResumedRequest, RpcError> {
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
    let (other, ended) = (
        "'requestState' is not one that this server gave to this caller for this request",
        "the request with this 'requestState' has ended; send it again without one",
    );
    let refused = |why: &str| RpcError::invalid_params(format!("Invalid params: {why}"));
    let state = params.text("requestState").map_err(|_| refused(other))?;
    let opened = RequestState::open(state, &gateway.sessions.keys, caller, subject, SystemTime::now());
    let RequestState { replica, id, server } = opened.map_err(|why| match why {
        SessionRefusal::Expired => refused(ended),
        _ => refused(other),
    })?;
    match (gateway.kept.take_waiting(&caller.principal.id, &id), server) {
        (Some(waiting), _) => Ok(ResumedRequest::Here(waiting)),
        // Of its own requests a replica knows that they have ended: a state serves once there.
        (None, _) if replica == gateway.kept.replica => Err(refused(ended)),
        (None, Some(server)) => Ok(ResumedRequest::FromElsewhere(server)),
        (None, None) => Err(refused(
            "the request with this 'requestState' waits on another replica of this server, or has ended; send it again without one",
        )),
    }
}

/// One round: the end of the request, or its next questions.
async fn converse(
    exchange: &Exchange,
    subject: &RequestSubject,
    call: &Arc<KeptCall>,
) -> Result<String, RpcError> {
    call.outlet.redirect(&exchange.outlet);
    let mut changes = call.watch();
    let mut signal = pin!(OptionFuture::from(call.becomes_task.as_ref().map(TaskSignal::fired)));
    let mut may_become_task = true;
    loop {
        if let Some(answer) = call.take_answer() {
            return answer;
        }
        if let CallStep::Asks(questions, server) = call.step() {
            match input_required(exchange, subject, call, &questions, server)? {
                Some(asked) => return Ok(asked),
                // Too many are waiting. The tool has begun, so its call is not refused: it is told that nobody answers.
                None => {
                    let text = "this caller has too many calls waiting for input; try again later";
                    questions.iter().for_each(|one| call.answer(&one.key, Err((TRY_LATER, text.to_owned()))));
                }
            }
            continue;
        }
        tokio::select! {
            biased;
            Some(()) = &mut signal, if may_become_task => match hand_over(exchange, call) {
                Some(created) => return Ok(created),
                // There are too many tasks, so the client waits for this answer.
                None => may_become_task = false,
            },
            _ = changes.changed() => {}
            // Dropping the call cancels it.
            () = exchange.cancel.cancelled() => return Err(cancelled().in_doubt()),
        }
    }
}

/// Makes a task of a request, whose client gets the id instead of the result. `None` when there are too many.
fn hand_over(exchange: &Exchange, call: &Arc<KeptCall>) -> Option<String> {
    exchange.gateway.kept.keep_task(call, exchange.gateway.most_kept(), None)?;
    // The modern protocol has no progress of tasks.
    call.outlet.redirect(&Outlet::open().0);
    let mut result = call.summary();
    result.insert("resultType".to_owned(), json!("task"));
    result.insert("_meta".to_owned(), json!({SERVER_KEY: exchange.gateway.server_info()}));
    Some(Value::Object(result).to_string())
}

/// The questions as a result. The request waits for the message that brings the answers; `None` when too many are waiting.
fn input_required(
    exchange: &Exchange,
    subject: &RequestSubject,
    call: &Arc<KeptCall>,
    questions: &[TaskQuestion],
    server: Option<ServerRound>,
) -> Result<Option<String>, RpcError> {
    let gateway = &exchange.gateway;
    let Some(id) = gateway.kept.keep_waiting(call, gateway.most_kept()) else { return Ok(None) };
    let state = RequestState { replica: gateway.kept.replica.clone(), id, server };
    let state = state.seal(&gateway.sessions.keys, &exchange.caller, subject, SystemTime::now());
    let state =
        state.ok_or_else(|| RpcError::new(INTERNAL_ERROR, "Internal error: the state cannot be sealed"))?;
    let asked = questions.iter().map(|one| (one.question.key.clone(), one.request()));
    let result = json!({
        "resultType": "input_required",
        "inputRequests": asked.collect::<Map<_, _>>(),
        "requestState": state,
        "_meta": {SERVER_KEY: gateway.server_info()},
    });
    Ok(Some(result.to_string()))
}
