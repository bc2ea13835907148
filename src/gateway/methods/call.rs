//! `tools/call`, in one request or in several: a modern client that is asked a question sends the request again.

use super::asking::{by_request, caller_key};
use super::call_record::CallRecord;
use super::logging::{is_at_least, wanted_level};
use super::perform::perform;
use super::results::{answer, cancelled};
use super::search_tools::{GatewayCall, read_call};
use super::tools::name_of;
use crate::error::ErrorKind;
use crate::gateway::caller::Caller;
use crate::gateway::capability::{MissingCapability, can_be_asked};
use crate::gateway::conversation::{Conversation, ConversationStep, Questioner};
use crate::gateway::exchange::Exchange;
use crate::gateway::questions::random_id;
use crate::gateway::relay::Outlet;
use crate::gateway::rpc::{INTERNAL_ERROR, RpcError, object};
use crate::gateway::state::Gateway;
use crate::model::Arguments;
use crate::model::protocol::Era;
use crate::sync::Mutex;
use crate::tool::{AskCaller, CallContextExtras, OnProgress};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::oneshot;

/// The key of the one question of a round.
const QUESTION: &str = "question";

/// Calls a tool.
pub async fn call(
    gateway: &Arc<Gateway>,
    exchange: &Exchange,
    params: Option<&RawValue>,
) -> Result<String, RpcError> {
    let mut params = object(params)?;
    let caller = &exchange.caller;
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(other) => {
            let error = RpcError::invalid_params("Invalid params: 'arguments' must be an object");
            return Err(refused(gateway, caller, name_of(&params)?, &other, error));
        }
    };
    let (name, arguments) = match read_call(gateway, caller, name_of(&params)?, arguments) {
        GatewayCall::Tool(name, arguments) => (name, arguments),
        GatewayCall::Answered(answer) => return answer,
    };
    let name = name.as_str();
    if caller.era == Era::Modern && params.contains_key("requestState") {
        let conversation = resumed(gateway, caller, name, &params)
            .map_err(|error| refused(gateway, caller, name, &Value::Object(arguments), error))?;
        return converse(gateway, exchange, conversation).await;
    }
    let args = Arc::new(Arguments::new(arguments));
    let meta = params.get("_meta").and_then(Value::as_object);
    if caller.era == Era::Modern && can_be_asked(caller) {
        let conversation = begun(gateway, exchange, Arc::from(name), args, meta);
        return converse(gateway, exchange, conversation).await;
    }
    let missing = MissingCapability::default();
    let ask = missing.guard(caller, by_request(&gateway.questions, exchange));
    let outlet = Arc::new(Mutex::new(exchange.outlet.clone()));
    let extras = extras(caller, outlet, ask, meta);
    let called = perform(gateway, caller, name, args, &extras, &exchange.cancel).await;
    match missing.error().filter(|_| caller.era == Era::Modern && called.outcome.is_err()) {
        Some(error) => Err(error),
        None => answer(gateway, caller, name, called.outcome),
    }
}

/// Writes down a call that was refused before a tool was chosen for it.
fn refused(gateway: &Gateway, caller: &Caller, tool: &str, arguments: &Value, refusal: RpcError) -> RpcError {
    let record = CallRecord::new(gateway, caller, tool, arguments);
    let written = record.write(None, Some(ErrorKind::InvalidArguments.name()));
    written.map_or_else(|error| RpcError::new(INTERNAL_ERROR, error.message), |()| refusal)
}

/// What the tools of a call get beside the arguments.
fn extras(
    caller: &Caller,
    outlet: Arc<Mutex<Outlet>>,
    ask: AskCaller,
    meta: Option<&Map<String, Value>>,
) -> CallContextExtras {
    let token = meta.and_then(|meta| meta.get("progressToken"));
    let progress = token.filter(|token| token.is_string() || token.is_i64()).cloned().map(|token| {
        let outlet = outlet.clone();
        let report: OnProgress = Arc::new(move |report: &Value| outlet.lock().progress(&token, report));
        report
    });
    let log = wanted_level(caller, meta).map(|least| {
        let log: OnProgress = Arc::new(move |message: &Value| {
            if is_at_least(message, least) {
                outlet.lock().log(message);
            }
        });
        log
    });
    // What belongs to the exchange between client and gateway is not for others.
    let is_own = |key: &str| key == "progressToken" || key.starts_with("io.modelcontextprotocol/");
    let passed = meta.into_iter().flatten().filter(|(key, _)| !is_own(key));
    let meta = passed.map(|(key, value)| (key.clone(), value.clone())).collect();
    CallContextExtras {
        principal: Some(caller.principal.clone()),
        progress,
        log,
        meta,
        ask: Some(ask),
        keep_raw: true,
    }
}

/// Starts a call that can stop for questions.
fn begun(
    gateway: &Arc<Gateway>,
    exchange: &Exchange,
    tool: Arc<str>,
    args: Arc<Arguments>,
    meta: Option<&Map<String, Value>>,
) -> Conversation {
    let (questioner, questions) = Questioner::channel();
    let missing = MissingCapability::default();
    let ask = missing.guard(&exchange.caller, questioner.asker(caller_key(&exchange.caller)));
    let outlet = Arc::new(Mutex::new(exchange.outlet.clone()));
    let extras = extras(&exchange.caller, outlet.clone(), ask, meta);
    let cancel = gateway.abort.child_token();
    let guard = cancel.clone().drop_guard();
    let (done, result) = oneshot::channel();
    let (gateway, caller, name) = (gateway.clone(), exchange.caller.clone(), tool.clone());
    tokio::spawn(async move {
        let called = perform(&gateway, &caller, &name, args, &extras, &cancel).await;
        // The client may have gone.
        let _ = done.send(called);
    });
    Conversation { tool, outlet, questions, result, open: None, missing, _guard: guard }
}

/// The call that waits for the answer that this request brings.
fn resumed(
    gateway: &Gateway,
    caller: &Caller,
    tool: &str,
    params: &Map<String, Value>,
) -> Result<Conversation, RpcError> {
    let refused = || RpcError::invalid_params("Invalid params: 'requestState' is not one of this server");
    let state = params.get("requestState").and_then(Value::as_str).ok_or_else(refused)?;
    let opened = gateway.sessions.open_state(&caller.principal.id, state, SystemTime::now());
    let id = opened.ok().and_then(|id| String::from_utf8(id).ok()).ok_or_else(refused)?;
    let gone = || {
        RpcError::invalid_params(
            "Invalid params: the call of this 'requestState' has ended; call the tool again",
        )
    };
    let mut conversation = gateway.waiting.take(&id).ok_or_else(gone)?;
    if &*conversation.tool != tool {
        gateway.waiting.keep(id, conversation);
        return Err(refused());
    }
    // Without an answer the question is put again.
    if let Some(answer) = params.get("inputResponses").and_then(|answers| answers.get(QUESTION)) {
        conversation.answer(answer.clone());
    }
    Ok(conversation)
}

/// One round: the end of the call, or its next question.
async fn converse(
    gateway: &Gateway,
    exchange: &Exchange,
    mut conversation: Conversation,
) -> Result<String, RpcError> {
    *conversation.outlet.lock() = exchange.outlet.clone();
    let caller = &exchange.caller;
    let step = tokio::select! {
        step = conversation.step() => step,
        // Dropping the conversation cancels the call.
        () = exchange.cancel.cancelled() => return Err(cancelled()),
    };
    match step {
        ConversationStep::Done(called) => {
            match conversation.missing.error().filter(|_| called.outcome.is_err()) {
                Some(error) => Err(error),
                None => answer(gateway, caller, &conversation.tool, called.outcome),
            }
        }
        ConversationStep::Lost => {
            Err(RpcError::new(INTERNAL_ERROR, "Internal error: the call ended without a result"))
        }
        ConversationStep::Asks => input_required(gateway, caller, conversation),
    }
}

/// The question as a result. The call waits for the request that brings the answer.
fn input_required(
    gateway: &Gateway,
    caller: &Caller,
    conversation: Conversation,
) -> Result<String, RpcError> {
    let failed = |why: &'static str| RpcError::new(INTERNAL_ERROR, why);
    let Some(question) = &conversation.open else {
        return Err(failed("Internal error: there is no question"));
    };
    let asked = json!({"method": question.method, "params": question.params});
    let id = random_id().ok_or_else(|| failed("Internal error: no random numbers"))?;
    let state = gateway.sessions.seal_state(&caller.principal.id, id.as_bytes(), SystemTime::now());
    let state = state.map_err(|_| failed("Internal error: the state cannot be signed"))?;
    if !gateway.waiting.keep(id, conversation) {
        return Err(failed("Too many calls are waiting for answers; try again later"));
    }
    let result = json!({
        "resultType": "input_required",
        "inputRequests": {QUESTION: asked},
        "requestState": state,
        "_meta": {"io.modelcontextprotocol/serverInfo": gateway.server_info()},
    });
    Ok(result.to_string())
}
