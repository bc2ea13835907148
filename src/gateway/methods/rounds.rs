//! Requests that may ask their client before they are answered. A legacy client is asked by requests on the stream of its
//! request; a modern one gets the questions as a result, and sends the request again with the answers.

use super::asking::{by_request, caller_key};
use super::logging;
use super::results::cancelled;
use crate::caller::Caller;
use crate::capability::{MissingCapability, can_be_asked, takes_tasks};
use crate::client_tasks::{ClientTaskStart, drive};
use crate::conversation::{
    Conversation, ConversationStep, FinishedRequest, Questioner, RequestSubject, ResultSize, TaskSignal,
};
use crate::exchange::Exchange;
use crate::kept_calls::MOST_OF_PRINCIPAL;
use crate::params::RpcParams;
use crate::questions::random_id;
use crate::relay::Outlet;
use crate::request_state::{RequestState, StatePlace};
use crate::rpc::{INTERNAL_ERROR, RpcError, TRY_LATER};
use crate::session::SessionRefusal;
use crate::state::Gateway;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use toolhub_protocol::Era;
use toolhub_types::sync::Mutex;
use toolhub_types::telemetry::{TRACE_PARENT, TraceContext};
use toolhub_types::tool::{AskCaller, CallContextExtras, CancelReason, OnProgress, ServerRound};

/// What a request runs with.
pub struct RunningContext {
    pub gateway: Arc<Gateway>,
    pub caller: Arc<Caller>,
    pub extras: CallContextExtras,
    pub cancel: CancellationToken,
}

/// Runs a request to its answer, or to its next questions. `params` are those of the message; `refuse` gets the error of a
/// message that belongs to no request.
pub async fn answer_or_ask<R, F>(
    gateway: &Arc<Gateway>,
    exchange: &Exchange,
    subject: &RequestSubject,
    mut params: RpcParams,
    run: R,
    refuse: impl Fn(RpcError) -> RpcError,
) -> Result<String, RpcError>
where
    R: FnOnce(RunningContext) -> F,
    F: Future<Output = FinishedRequest> + Send + 'static,
{
    let caller = &exchange.caller;
    let given = params.take_object("inputResponses").map_err(&refuse)?.unwrap_or_default();
    let mut resumes = None;
    if caller.era == Era::Modern && params.contains_key("requestState") {
        match resumed(gateway, caller, subject, &params).map_err(&refuse)? {
            // Questions without an answer are put again.
            ResumedRequest::Here(mut conversation) => {
                conversation.given = given;
                return converse(gateway, exchange, subject, *conversation).await;
            }
            ResumedRequest::FromElsewhere(begun) => resumes = Some(Arc::new(begun)),
        }
    }
    let meta = params.meta();
    let takes_task = subject.method == "tools/call" && takes_tasks(caller);
    if caller.era == Era::Modern && (takes_task || can_be_asked(caller)) {
        let reports_progress = meta.is_some_and(|meta| meta.contains_key("progressToken"));
        let start = ConversationStart {
            given,
            becomes_task: takes_task.then(|| TaskSignal::new(reports_progress)),
            resumes,
            ..ConversationStart::new(gateway, exchange, meta)
        };
        return converse(gateway, exchange, subject, conversation(gateway, caller, start, run)).await;
    }
    let missing = MissingCapability::default();
    let ask = missing.guard(caller, caller_key(caller), by_request(&gateway.questions, exchange));
    let outlet = Arc::new(Mutex::new(exchange.outlet.clone()));
    let context = RunningContext {
        gateway: gateway.clone(),
        caller: caller.clone(),
        extras: CallContextExtras {
            cancel_reason: exchange.cancel_reason.clone(),
            resumes,
            ..extras(gateway, caller, outlet, ask, meta, exchange.trace.span())
        },
        cancel: exchange.cancel.clone(),
    };
    let finished = run(context).await;
    match missing.error().filter(|_| caller.era == Era::Modern && finished.is_failure) {
        Some(error) => Err(error),
        None => finished.answer,
    }
}

/// What a conversation begins with.
pub struct ConversationStart<'a> {
    meta: Option<&'a Map<String, Value>>,
    /// Cancels the request.
    pub cancel: CancellationToken,
    cancel_reason: CancelReason,
    pub outlet: Arc<Mutex<Outlet>>,
    /// Answers that came with the request.
    given: Map<String, Value>,
    becomes_task: Option<TaskSignal>,
    resumes: Option<Arc<ServerRound>>,
    /// The span of the request that began it.
    span: Option<TraceContext>,
    /// Hears of the progress in addition to the client.
    pub on_progress: Option<OnProgress>,
}

impl<'a> ConversationStart<'a> {
    pub fn new(gateway: &Gateway, exchange: &Exchange, meta: Option<&'a Map<String, Value>>) -> Self {
        ConversationStart {
            meta,
            cancel: gateway.abort.child_token(),
            cancel_reason: exchange.cancel_reason.clone(),
            outlet: Arc::new(Mutex::new(exchange.outlet.clone())),
            given: Map::new(),
            becomes_task: None,
            resumes: None,
            span: exchange.trace.span(),
            on_progress: None,
        }
    }
}

/// Runs a request beside its message, so that it can wait for the next one.
pub fn conversation<R, F>(
    gateway: &Arc<Gateway>,
    caller: &Arc<Caller>,
    start: ConversationStart<'_>,
    run: R,
) -> Conversation
where
    R: FnOnce(RunningContext) -> F,
    F: Future<Output = FinishedRequest> + Send + 'static,
{
    let ConversationStart {
        meta,
        cancel,
        cancel_reason,
        outlet,
        given,
        becomes_task,
        resumes,
        span,
        on_progress,
    } = start;
    let missing = MissingCapability::default();
    let (questioner, questions) = Questioner::channel();
    let ask = missing.guard(caller, caller_key(caller), questioner.round());
    let mut extras = extras(gateway, caller, outlet.clone(), ask, meta, span);
    extras.cancel_reason = cancel_reason;
    extras.resumes = resumes;
    extras.on_task = becomes_task.as_ref().map(TaskSignal::sender);
    extras.progress = both(extras.progress, on_progress);
    let context =
        RunningContext { gateway: gateway.clone(), caller: caller.clone(), extras, cancel: cancel.clone() };
    let running = run(context);
    let (done, result) = oneshot::channel();
    // It runs although no message waits for it, so a drain waits for its end.
    let place = gateway.drain.enter_beside();
    let (result_size, size, waiting) = {
        let size = ResultSize::default();
        (size.clone(), size, gateway.waiting.clone())
    };
    let principal = caller.principal.id.clone();
    tokio::spawn(async move {
        let finished = running.await;
        size.set(&finished);
        // The client may have gone.
        if done.send(finished).is_ok() {
            waiting.has_result(&principal, &size);
        }
        drop(place);
    });
    let (open, _guard) = (None, cancel.clone().drop_guard());
    Conversation {
        outlet,
        questions,
        result,
        result_size,
        open,
        given,
        missing,
        becomes_task,
        cancel,
        _guard,
    }
}

fn both(first: Option<OnProgress>, second: Option<OnProgress>) -> Option<OnProgress> {
    match (first, second) {
        (Some(first), Some(second)) => Some(Arc::new(move |report: &Value| {
            first(report);
            second(report);
        })),
        (first, second) => first.or(second),
    }
}

/// What a request carries to the tools and servers that answer it.
fn extras(
    gateway: &Gateway,
    caller: &Caller,
    outlet: Arc<Mutex<Outlet>>,
    ask: AskCaller,
    meta: Option<&Map<String, Value>>,
    span: Option<TraceContext>,
) -> CallContextExtras {
    let log = logging::call_log(gateway, caller, meta, outlet.clone());
    let token = meta.and_then(|meta| meta.get("progressToken"));
    let progress = token.filter(|token| token.is_string() || token.is_i64()).cloned().map(|token| {
        let report: OnProgress = Arc::new(move |report: &Value| outlet.lock().progress(&token, report));
        report
    });
    // What belongs to the exchange between client and gateway is not for others.
    let is_own = |key: &str| key == "progressToken" || key.starts_with("io.modelcontextprotocol/");
    let passed = meta.into_iter().flatten().filter(|(key, _)| !is_own(key));
    let mut meta: Map<String, Value> = passed.map(|(key, value)| (key.clone(), value.clone())).collect();
    if let Some(span) = span {
        meta.insert(TRACE_PARENT.to_owned(), Value::String(span.written()));
    }
    let principal = Some(caller.principal.clone());
    CallContextExtras {
        principal,
        progress,
        meta,
        ask: Some(ask),
        log,
        on_task: None,
        cancel_reason: CancelReason::default(),
        keep_raw: true,
        watch: None,
        before_acting: None,
        resumes: None,
    }
}

/// The request of a `requestState`.
enum ResumedRequest {
    /// It waits for the answers that this message brings.
    Here(Box<Conversation>),
    /// Another replica has begun it, and its server can go on with it here.
    FromElsewhere(ServerRound),
}

fn resumed(
    gateway: &Gateway,
    caller: &Caller,
    subject: &RequestSubject,
    params: &RpcParams,
) -> Result<ResumedRequest, RpcError> {
    let (other, ended) = (
        "'requestState' is not one that this server gave to this caller for this request",
        "the request with this 'requestState' has ended; send it again without one",
    );
    let refused = |why: &str| RpcError::invalid_params(format!("Invalid params: {why}"));
    let state = params.text("requestState").map_err(|_| refused(other))?;
    let place = StatePlace::new(caller, subject);
    let opened = RequestState::open(state, gateway.sessions.keys(), &place, SystemTime::now());
    let RequestState { replica, id, server } = opened.map_err(|why| match why {
        SessionRefusal::Expired => refused(ended),
        _ => refused(other),
    })?;
    match (gateway.waiting.take(&caller.principal.id, &id), server) {
        (Some(waiting), _) => Ok(ResumedRequest::Here(Box::new(waiting))),
        // Of its own requests a replica knows that they have ended: a state serves once there.
        (None, _) if replica == gateway.replica => Err(refused(ended)),
        (None, Some(server)) => Ok(ResumedRequest::FromElsewhere(server)),
        (None, None) => Err(refused(
            "the request with this 'requestState' waits on another replica of this server, or has ended; send it again without one",
        )),
    }
}

/// One round: the end of the request, or its next questions.
async fn converse(
    gateway: &Gateway,
    exchange: &Exchange,
    subject: &RequestSubject,
    mut conversation: Conversation,
) -> Result<String, RpcError> {
    *conversation.outlet.lock() = exchange.outlet.clone();
    loop {
        let signal = conversation.becomes_task.clone();
        tokio::select! {
            biased;
            () = becomes_task(signal.as_ref()) => match hand_over(gateway, exchange, conversation) {
                Ok(created) => return Ok(created),
                // There are too many tasks, so the client waits for this answer.
                Err(kept) => {
                    conversation = *kept;
                    conversation.becomes_task = None;
                }
            },
            step = conversation.step() => match step {
                ConversationStep::Done(finished) => {
                    let missing = conversation.missing.error().filter(|_| finished.is_failure);
                    return missing.map_or(finished.answer, Err);
                }
                ConversationStep::Asks => match input_required(gateway, &exchange.caller, subject, conversation)? {
                    Ok(asked) => return Ok(asked),
                    // Too many are waiting. The tool has begun, so its call is not refused: it is told that nobody answers.
                    Err(kept) => {
                        conversation = *kept;
                        conversation.refuse_questions(&too_many_wait());
                    }
                },
            },
            // Dropping the conversation cancels the request.
            () = exchange.cancel.cancelled() => return Err(cancelled().in_doubt()),
        }
    }
}

fn failed(why: &'static str) -> RpcError {
    RpcError::new(INTERNAL_ERROR, why)
}

/// What a tool is told instead of an answer.
fn too_many_wait() -> (i64, String) {
    (TRY_LATER, "this caller has too many calls waiting for input; try again later".to_owned())
}

async fn becomes_task(signal: Option<&TaskSignal>) {
    match signal {
        Some(signal) => signal.fired().await,
        None => std::future::pending().await,
    }
}

/// Makes a task of a request, whose client gets the id instead of the result.
fn hand_over(
    gateway: &Gateway,
    exchange: &Exchange,
    conversation: Conversation,
) -> Result<String, Box<Conversation>> {
    // The modern protocol has no progress of tasks.
    let silent = Arc::new(Mutex::new(Outlet::open().0));
    let start = ClientTaskStart::new(
        &exchange.caller,
        None,
        conversation.cancel.clone(),
        gateway.stop.child_token(),
        silent.clone(),
    );
    let Some(task) = gateway.tasks.add(start) else { return Err(Box::new(conversation)) };
    *conversation.outlet.lock() = silent.lock().clone();
    let mut result = task.summary();
    result.insert("resultType".to_owned(), json!("task"));
    result.insert("_meta".to_owned(), json!({"io.modelcontextprotocol/serverInfo": gateway.server_info()}));
    tokio::spawn(drive(gateway.tasks.clone(), task, conversation, gateway.drain.enter_beside()));
    Ok(Value::Object(result).to_string())
}

/// The questions as a result. The request waits for the message that brings the answers; it is given back when too many are
/// waiting. As many may wait as may run at once, besides those that run.
fn input_required(
    gateway: &Gateway,
    caller: &Caller,
    subject: &RequestSubject,
    conversation: Conversation,
) -> Result<Result<String, Box<Conversation>>, RpcError> {
    let Some(round) = &conversation.open else {
        return Err(failed("Internal error: no pending question"));
    };
    let asked: Map<String, Value> = round
        .open()
        .map(|one| (one.key.clone(), json!({"method": one.method, "params": one.params})))
        .collect();
    let id = random_id().ok_or_else(|| failed("Internal error: could not read random bytes from the OS"))?;
    let state =
        RequestState { replica: gateway.replica.clone(), id: id.clone(), server: round.server.clone() };
    let place = StatePlace::new(caller, subject);
    let state = state.seal(gateway.sessions.keys(), &place, SystemTime::now());
    let state = state.ok_or_else(|| failed("Internal error: the state cannot be sealed"))?;
    let most = gateway.admission.limits().max_in_flight.min(MOST_OF_PRINCIPAL);
    if let Err(kept) = gateway.waiting.keep(&caller.principal.id, most, id, conversation) {
        return Ok(Err(kept));
    }
    let result = json!({
        "resultType": "input_required",
        "inputRequests": asked,
        "requestState": state,
        "_meta": {"io.modelcontextprotocol/serverInfo": gateway.server_info()},
    });
    Ok(Ok(result.to_string()))
}
