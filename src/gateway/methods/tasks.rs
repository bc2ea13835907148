//! `tasks/*`, and calls that begin as tasks.
//!
//! | | 2025-11-25 | 2026-07-28, extension |
//! |---|---|---|
//! | becomes a task | when the client asks for it (`task` in the call) | when the server behind the tool makes one, or the call takes long |
//! | the result | `tasks/result`, which waits | inside of `tasks/get` |
//! | questions | requests on the stream of `tasks/result` | inside of `tasks/get`; answered with `tasks/update` |

use super::elicitation::begin;
use super::pages::{Page, listed, page};
use super::results::cancelled;
use super::tools::written;
use crate::Exchange;
use crate::era::ResultKind;
use crate::identity::{Caller, needs_tasks, takes_tasks};
use crate::kept::{CallStep, FinishedCall, KeptCall, KeptEnd, TaskQuestion};
use crate::rpc::{INVALID_PARAMS, METHOD_NOT_FOUND, RpcError, RpcParams, TRY_LATER, must_be};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use toolhub_protocol::Era;
use toolhub_types::blocking::block_if_large;
use toolhub_types::error::clip;
use toolhub_types::tool::CallContextExtras;

/// The member of `_meta` that names the task of a message.
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

const TASKS_OF_A_PAGE: usize = 100;

/// The task that a call asks for, if its client may, with the life that it asks for.
pub fn wanted(caller: &Caller, params: &mut RpcParams) -> Result<Option<Option<Duration>>, RpcError> {
    if caller.era == Era::Modern || !takes_tasks(caller) {
        return Ok(None);
    }
    let Some(task) = params.take_object("task")? else { return Ok(None) };
    let milliseconds =
        |ttl: &Value| ttl.as_u64().ok_or_else(|| must_be("task.ttl", "a number of milliseconds"));
    let ttl = task.get("ttl").filter(|ttl| !ttl.is_null()).map(milliseconds).transpose()?;
    Ok(Some(ttl.map(Duration::from_millis)))
}

/// The tool answers at once.
pub fn not_as_task(tool: &str) -> RpcError {
    RpcError::new(METHOD_NOT_FOUND, format!("The tool '{}' cannot be called as a task", clip(tool)))
}

/// Begins a call as a task; the answer has its id.
pub fn create<R, F>(
    exchange: &Exchange,
    params: &RpcParams,
    ttl: Option<Duration>,
    run: R,
) -> Result<String, RpcError>
where
    R: FnOnce(Arc<Exchange>, CallContextExtras) -> F,
    F: Future<Output = FinishedCall> + Send + 'static,
{
    let call = KeptCall::new(exchange, None);
    let gateway = &exchange.gateway;
    if gateway.kept.keep_task(&call, gateway.most_kept(), ttl).is_none() {
        return Err(RpcError::new(TRY_LATER, "Too many tasks are running; try again later"));
    }
    let created = json!({"task": call.summary()});
    begin(exchange, &call, params.meta(), None, run);
    written(exchange, &created, ResultKind::Plain)
}

/// The state of a task.
pub fn get(exchange: &Exchange, params: &RpcParams) -> Result<String, RpcError> {
    let task = found(exchange, "tasks/get", params)?;
    let state = if exchange.caller.era == Era::Modern { task.details() } else { task.summary() };
    block_if_large(task.result_bytes(), move || written(exchange, &state, ResultKind::Plain))
}

/// Cancels the call of a task.
pub fn cancel(exchange: &Exchange, params: &RpcParams) -> Result<String, RpcError> {
    let task = found(exchange, "tasks/cancel", params)?;
    let is_cancelled = task.cancel();
    match exchange.caller.era {
        Era::Modern => written(exchange, &json!({}), ResultKind::Plain),
        Era::Legacy if is_cancelled => written(exchange, &task.summary(), ResultKind::Plain),
        Era::Legacy => Err(RpcError::invalid_params("Invalid params: the task has ended already")),
    }
}

/// Takes the answers to the questions of a task.
pub fn update(exchange: &Exchange, mut params: RpcParams) -> Result<String, RpcError> {
    let task = found(exchange, "tasks/update", &params)?;
    let answers = params.take_object("inputResponses")?;
    let answers = answers.ok_or_else(|| must_be("inputResponses", "an object"))?;
    for (key, answer) in answers.into_iter().filter(|(_, answer)| answer.is_object()) {
        task.answer(&key, Ok(answer));
    }
    written(exchange, &json!({}), ResultKind::Plain)
}

/// One page of the tasks that the caller has made.
pub fn list(exchange: &Exchange, params: &RpcParams) -> Result<String, RpcError> {
    check_client(&exchange.caller, "tasks/list")?;
    let all = exchange.gateway.kept.tasks(&exchange.caller);
    let Page { items, next } = page(params, TASKS_OF_A_PAGE, all, |task| Cow::Owned(task.name()))?;
    let tasks = items.iter().map(|task| task.summary()).collect::<Vec<_>>();
    written(exchange, &listed("tasks", json!(tasks), next), ResultKind::Plain)
}

/// Waits for the end of a task; the answer is that of its call. Meanwhile the questions of the call go to this client.
pub async fn result(exchange: &Exchange, params: &RpcParams) -> Result<String, RpcError> {
    let task = found(exchange, "tasks/result", params)?;
    let id = task.id();
    task.outlet.redirect(&exchange.outlet);
    let mut changes = task.watch();
    loop {
        let questions = match task.step() {
            CallStep::Ended(KeptEnd::Answered { answer, .. }) => {
                return answer.map(|answer| with_task(id.as_deref(), &answer));
            }
            CallStep::Ended(KeptEnd::Cancelled) => return Err(cancelled().in_doubt()),
            CallStep::Ended(KeptEnd::Gone) => return Err(no_such_task()),
            CallStep::Asks(questions, _) => questions,
            CallStep::Working => Vec::new(),
        };
        let first = questions.first().map(|question| question.key.clone());
        let mut put = pin!(put(exchange, &task, questions));
        loop {
            tokio::select! {
                () = &mut put => break,
                _ = changes.changed() => if !is_asking(&task, first.as_deref()) { break },
                () = exchange.cancel.cancelled() => return Err(cancelled().in_doubt()),
            }
        }
    }
}

/// Whether the task still asks what it asked. A question must not be put twice because the progress has changed.
fn is_asking(task: &KeptCall, first: Option<&str>) -> bool {
    match task.step() {
        CallStep::Asks(open, _) => first.is_some() && open.first().map(|open| open.key.as_str()) == first,
        _ => false,
    }
}

/// Puts questions to the client. Without any, it never ends.
async fn put(exchange: &Exchange, task: &Arc<KeptCall>, questions: Vec<TaskQuestion>) {
    if questions.is_empty() {
        return std::future::pending().await;
    }
    let id = task.id();
    let each = questions.into_iter().map(|TaskQuestion { key, question }| {
        let params = with_related(id.as_deref(), question.params);
        let (all, outlet) = (exchange.gateway.kept.questions.clone(), exchange.outlet.clone());
        let asked = all.ask(outlet, exchange.caller.client_key(), question.method, params);
        async move { (key, asked.await) }
    });
    // At once, because each answer changes the task.
    for (key, answer) in join_all(each).await {
        task.answer(&key, answer);
    }
}

/// A result with the task that it belongs to, otherwise as it came.
fn with_task(id: Option<&str>, answer: &str) -> String {
    block_if_large(answer.len(), || match serde_json::from_str(answer) {
        Ok(result) => with_related(id, result).to_string(),
        Err(_) => answer.to_owned(),
    })
}

/// A message with the task that it belongs to in its `_meta`.
fn with_related(id: Option<&str>, mut message: Value) -> Value {
    if let Value::Object(members) = &mut message
        && let Value::Object(meta) = members.entry("_meta").or_insert_with(|| json!({}))
    {
        meta.insert(RELATED_TASK.to_owned(), json!({"taskId": id}));
    }
    message
}

/// The task that a request names. One of another principal does not exist.
fn found(exchange: &Exchange, method: &str, params: &RpcParams) -> Result<Arc<KeptCall>, RpcError> {
    check_client(&exchange.caller, method)?;
    exchange.gateway.kept.task(&exchange.caller, params.text("taskId")?).ok_or_else(no_such_task)
}

fn no_such_task() -> RpcError {
    RpcError::new(INVALID_PARAMS, "There is no such task; it may have expired")
}

fn check_client(caller: &Caller, method: &str) -> Result<(), RpcError> {
    match (takes_tasks(caller), caller.era) {
        (true, _) => Ok(()),
        (false, Era::Legacy) => Err(RpcError::no_such_method(method)),
        (false, Era::Modern) => Err(needs_tasks()),
    }
}
