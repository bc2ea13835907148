//! Requests that may ask their client before they are answered. A legacy client is asked by requests on the stream of its
//! request; a modern one gets the questions as a result, and sends the request again with the answers.

use super::asking::{by_request, caller_key};
use super::logging;
use super::results::cancelled;
use crate::gateway::caller::Caller;
use crate::gateway::capability::{MissingCapability, can_be_asked};
use crate::gateway::conversation::{Conversation, ConversationStep, FinishedRequest, Questioner};
use crate::gateway::exchange::Exchange;
use crate::gateway::questions::random_id;
use crate::gateway::relay::Outlet;
use crate::gateway::rpc::{INTERNAL_ERROR, RpcError};
use crate::gateway::state::Gateway;
use crate::model::protocol::Era;
use crate::sync::Mutex;
use crate::tool::{AskCaller, CallContextExtras, OnProgress};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// What a request is about.
pub struct RequestSubject {
    pub method: &'static str,
    pub name: String,
}

impl RequestSubject {
    fn text(&self) -> Arc<str> {
        Arc::from(format!("{} {}", self.method, self.name))
    }
}

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
    mut params: Map<String, Value>,
    run: R,
    refuse: impl FnOnce(RpcError) -> RpcError,
) -> Result<String, RpcError>
where
    R: FnOnce(RunningContext) -> F,
    F: Future<Output = FinishedRequest> + Send + 'static,
{
    let caller = &exchange.caller;
    let given = match params.remove("inputResponses") {
        Some(Value::Object(given)) => given,
        _ => Map::new(),
    };
    if caller.era == Era::Modern && params.contains_key("requestState") {
        let conversation = resumed(gateway, caller, subject, &params, given).map_err(refuse)?;
        return converse(gateway, exchange, conversation).await;
    }
    let outlet = Arc::new(Mutex::new(exchange.outlet.clone()));
    let meta = params.get("_meta").and_then(Value::as_object);
    let missing = MissingCapability::default();
    let context = |ask: AskCaller, cancel: CancellationToken| RunningContext {
        gateway: gateway.clone(),
        caller: caller.clone(),
        extras: extras(gateway, caller, outlet.clone(), ask, meta),
        cancel,
    };
    if caller.era == Era::Modern && can_be_asked(caller) {
        let (questioner, questions) = Questioner::channel();
        let ask = missing.guard(caller, caller_key(caller), questioner.round());
        let cancel = gateway.abort.child_token();
        let _guard = cancel.clone().drop_guard();
        let running = run(context(ask, cancel));
        let (done, result) = oneshot::channel();
        tokio::spawn(async move {
            // The client may have gone.
            let _ = done.send(running.await);
        });
        let subject = subject.text();
        let conversation =
            Conversation { subject, outlet, questions, result, open: None, given, missing, _guard };
        return converse(gateway, exchange, conversation).await;
    }
    let ask = missing.guard(caller, caller_key(caller), by_request(&gateway.questions, exchange));
    let finished = run(context(ask, exchange.cancel.clone())).await;
    match missing.error().filter(|_| caller.era == Era::Modern && finished.is_failure) {
        Some(error) => Err(error),
        None => finished.answer,
    }
}

/// What a request carries to the tools and servers that answer it.
fn extras(
    gateway: &Gateway,
    caller: &Caller,
    outlet: Arc<Mutex<Outlet>>,
    ask: AskCaller,
    meta: Option<&Map<String, Value>>,
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
    let meta = passed.map(|(key, value)| (key.clone(), value.clone())).collect();
    let principal = Some(caller.principal.clone());
    CallContextExtras { principal, progress, meta, ask: Some(ask), log, keep_raw: true }
}

/// The request that waits for the answers that this message brings.
fn resumed(
    gateway: &Gateway,
    caller: &Caller,
    subject: &RequestSubject,
    params: &Map<String, Value>,
    given: Map<String, Value>,
) -> Result<Conversation, RpcError> {
    let refused = || RpcError::invalid_params("Invalid params: 'requestState' is not one of this server");
    let state = params.get("requestState").and_then(Value::as_str).ok_or_else(refused)?;
    let opened = gateway.sessions.open_state(&caller.principal.id, state, SystemTime::now());
    let id = opened.ok().and_then(|id| String::from_utf8(id).ok()).ok_or_else(refused)?;
    let gone = || {
        RpcError::invalid_params(
            "Invalid params: the request of this 'requestState' has ended; send it again without",
        )
    };
    let mut conversation = gateway.waiting.take(&id).ok_or_else(gone)?;
    if *conversation.subject != *subject.text() {
        gateway.waiting.keep(id, conversation);
        return Err(refused());
    }
    // Questions without an answer are put again.
    conversation.given = given;
    Ok(conversation)
}

/// One round: the end of the request, or its next questions.
async fn converse(
    gateway: &Gateway,
    exchange: &Exchange,
    mut conversation: Conversation,
) -> Result<String, RpcError> {
    *conversation.outlet.lock() = exchange.outlet.clone();
    let step = tokio::select! {
        step = conversation.step() => step,
        // Dropping the conversation cancels the request.
        () = exchange.cancel.cancelled() => return Err(cancelled()),
    };
    match step {
        ConversationStep::Done(finished) => {
            match conversation.missing.error().filter(|_| finished.is_failure) {
                Some(error) => Err(error),
                None => finished.answer,
            }
        }
        ConversationStep::Lost => {
            Err(RpcError::new(INTERNAL_ERROR, "Internal error: the call ended without a result"))
        }
        ConversationStep::Asks => input_required(gateway, &exchange.caller, conversation),
    }
}

/// The questions as a result. The request waits for the message that brings the answers.
fn input_required(
    gateway: &Gateway,
    caller: &Caller,
    conversation: Conversation,
) -> Result<String, RpcError> {
    let failed = |why: &'static str| RpcError::new(INTERNAL_ERROR, why);
    let Some(round) = &conversation.open else {
        return Err(failed("Internal error: there is no question"));
    };
    let asked: Map<String, Value> = round
        .open()
        .map(|one| (one.key.clone(), json!({"method": one.method, "params": one.params})))
        .collect();
    let id = random_id().ok_or_else(|| failed("Internal error: no random numbers"))?;
    let state = gateway.sessions.seal_state(&caller.principal.id, id.as_bytes(), SystemTime::now());
    let state = state.map_err(|_| failed("Internal error: the state cannot be signed"))?;
    if !gateway.waiting.keep(id, conversation) {
        return Err(failed("Too many calls are waiting for answers; try again later"));
    }
    let result = json!({
        "resultType": "input_required",
        "inputRequests": asked,
        "requestState": state,
        "_meta": {"io.modelcontextprotocol/serverInfo": gateway.server_info()},
    });
    Ok(result.to_string())
}
