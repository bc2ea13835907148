//! `tools/call`.

use super::audit::AuditedRequest;
use super::elicitation::answer_or_ask;
use super::execute::execute;
use super::results::answer;
use super::search_tools::{GatewayCall, read_call};
use super::tasks;
use crate::Exchange;
use crate::identity::audience;
use crate::kept::{FinishedCall, RequestSubject};
use crate::operate::AuditEvent;
use crate::rpc::{RpcError, RpcParams, must_be};
use serde_json::{Map, Value};
use std::sync::Arc;
use toolhub_engine::served::Audience;
use toolhub_types::error::ErrorKind;
use toolhub_types::model::Arguments;
use toolhub_types::tool::CallContextExtras;

/// Calls a tool. A request that names none is written down as a call of no tool.
pub async fn call(exchange: &Arc<Exchange>, mut params: RpcParams) -> Result<String, RpcError> {
    let caller = &exchange.caller;
    let named = params.text("name").map(str::to_owned);
    let named = named.map_err(|error| refused(exchange, "", &Value::Null, error))?;
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(other) => {
            return Err(refused(exchange, &named, &other, must_be("arguments", "an object")));
        }
    };
    let task = match tasks::wanted(caller, &mut params) {
        Ok(task) => task,
        Err(error) => return Err(refused(exchange, &named, &Value::Object(arguments), error)),
    };
    let (name, arguments) = match read_call(exchange, &named, arguments).await {
        GatewayCall::Tool(name, arguments) => (name, arguments),
        GatewayCall::Answered(_) if task.is_some() => return Err(tasks::not_as_task(&named)),
        GatewayCall::Answered(answer) => return answer,
    };
    // What a model names to `call_tool` has to be for models.
    let audience = if name == named { audience(caller) } else { Audience::Model };
    let args = Arc::new(Arguments::new(arguments));
    let subject = RequestSubject { method: "tools/call", name: name.clone(), arguments: args.clone() };
    let refuse = |error| refused(exchange, &subject.name, subject.arguments.as_value(), error);
    let run = async move |exchange: Arc<Exchange>, extras: CallContextExtras| {
        let called = execute(&exchange, (&name, audience), args, extras).await;
        let is_failure = called.outcome.is_err();
        FinishedCall { answer: answer(&exchange, &name, called), is_failure }
    };
    match task {
        Some(ttl) => tasks::create(exchange, &params, ttl, run).map_err(refuse),
        None => answer_or_ask(exchange, &subject, params, run, refuse).await,
    }
}

/// Writes down a call that was refused before a tool was chosen for it.
fn refused(exchange: &Exchange, tool: &str, arguments: &Value, refusal: RpcError) -> RpcError {
    let event = AuditEvent::Call { tool, candidate: None, arguments, call: None };
    AuditedRequest::new(exchange, event).write(Some(ErrorKind::InvalidArguments));
    refusal
}
