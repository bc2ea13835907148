//! `tasks/*`, and calls that begin as tasks.
//!
//! | | 2025-11-25 | 2026-07-28, extension |
//! |---|---|---|
//! | becomes a task | when the client asks for it (`task` in the call) | when the server behind the tool makes one, or the call takes long |
//! | the result | `tasks/result`, which waits | inside of `tasks/get` |
//! | questions | requests on the stream of `tasks/result` | inside of `tasks/get`; answered with `tasks/update` |

use super::asking::ask;
use super::pages::{Page, page};
use super::results::cancelled;
use super::rounds::{ConversationStart, RunningContext, conversation};
use super::tools::written;
use crate::caller::Caller;
use crate::capability::{needs_tasks, takes_tasks};
use crate::client_tasks::{ClientTask, ClientTaskStart, TaskQuestion, TaskStep, drive};
use crate::conversation::FinishedRequest;
use crate::era::ResultKind;
use crate::exchange::Exchange;
use crate::params::{RpcParams, must_be};
use crate::rpc::{INVALID_PARAMS, METHOD_NOT_FOUND, RpcError, TRY_LATER};
use crate::state::Gateway;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use toolhub_protocol::Era;
use toolhub_types::aside::heavy;
use toolhub_types::error::clip;
use toolhub_types::tool::OnProgress;

/// The member of `_meta` that names the task of a message.
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

const TASKS_OF_A_PAGE: usize = 100;

/// A task that a call asks for.
pub struct WantedTask {
    ttl: Option<Duration>,
}

/// The task that a call asks for, if its client may.
pub fn wanted(caller: &Caller, params: &mut RpcParams) -> Result<Option<WantedTask>, RpcError> {
    if caller.era == Era::Modern || !takes_tasks(caller) {
        return Ok(None);
    }
    let Some(task) = params.take_object("task")? else { return Ok(None) };
    let milliseconds =
        |ttl: &Value| ttl.as_u64().ok_or_else(|| must_be("task.ttl", "a number of milliseconds"));
    let ttl = task.get("ttl").filter(|ttl| !ttl.is_null()).map(milliseconds).transpose()?;
    Ok(Some(WantedTask { ttl: ttl.map(Duration::from_millis) }))
}

/// The tool answers at once.
pub fn not_as_task(tool: &str) -> RpcError {
    RpcError::new(METHOD_NOT_FOUND, format!("The tool '{}' cannot be called as a task", clip(tool)))
}

/// Begins a call as a task; the answer has its id.
pub fn create<R, F>(
    gateway: &Arc<Gateway>,
    exchange: &Exchange,
    params: &RpcParams,
    wanted: &WantedTask,
    run: R,
) -> Result<String, RpcError>
where
    R: FnOnce(RunningContext) -> F,
    F: Future<Output = FinishedRequest> + Send + 'static,
{
    let caller = &exchange.caller;
    let mut start = ConversationStart::new(gateway, exchange, params.meta());
    let (cancel, removed) = (start.cancel.clone(), gateway.stop.child_token());
    let task = ClientTaskStart::new(caller, wanted.ttl, cancel, removed, start.outlet.clone());
    let too_many = || RpcError::new(TRY_LATER, "Too many tasks are running; try again later");
    let task = gateway.tasks.add(task).ok_or_else(too_many)?;
    start.on_progress = Some(messages_of(&task));
    let created = json!({"task": task.summary()});
    let running = conversation(gateway, caller, start, run);
    tokio::spawn(drive(gateway.tasks.clone(), task, running, gateway.drain.enter_beside()));
    written(gateway, caller, &created, ResultKind::Plain)
}

/// Shows what the call says of its progress as the state of the task.
fn messages_of(task: &Arc<ClientTask>) -> OnProgress {
    let task = Arc::downgrade(task);
    Arc::new(move |report: &Value| {
        let message = report.get("message").and_then(Value::as_str);
        if let (Some(task), Some(message)) = (task.upgrade(), message) {
            task.set_message(message);
        }
    })
}

/// The state of a task.
pub fn get(gateway: &Gateway, caller: &Caller, params: &RpcParams) -> Result<String, RpcError> {
    let task = found(gateway, caller, "tasks/get", params)?;
    let state = match caller.era {
        Era::Legacy => task.summary(),
        Era::Modern => task.details(),
    };
    heavy(task.result_bytes(), move || written(gateway, caller, &state, ResultKind::Plain))
}

/// Cancels the call of a task.
pub fn cancel(gateway: &Gateway, caller: &Caller, params: &RpcParams) -> Result<String, RpcError> {
    let task = found(gateway, caller, "tasks/cancel", params)?;
    let is_cancelled = task.cancel();
    match caller.era {
        Era::Modern => written(gateway, caller, &json!({}), ResultKind::Plain),
        Era::Legacy if is_cancelled => written(gateway, caller, &task.summary(), ResultKind::Plain),
        Era::Legacy => Err(RpcError::invalid_params("Invalid params: the task has ended already")),
    }
}

/// Takes the answers to the questions of a task.
pub fn update(gateway: &Gateway, caller: &Caller, mut params: RpcParams) -> Result<String, RpcError> {
    let task = found(gateway, caller, "tasks/update", &params)?;
    let answers = params.take_object("inputResponses")?;
    let answers = answers.ok_or_else(|| must_be("inputResponses", "an object"))?;
    for (key, answer) in answers.into_iter().filter(|(_, answer)| answer.is_object()) {
        task.answer(&key, Ok(answer));
    }
    written(gateway, caller, &json!({}), ResultKind::Plain)
}

/// One page of the tasks that the caller has made.
pub fn list(gateway: &Gateway, caller: &Caller, params: &RpcParams) -> Result<String, RpcError> {
    check_client(caller, "tasks/list")?;
    let Page { items, next } =
        page(params, TASKS_OF_A_PAGE, gateway.tasks.of(caller), |task| Cow::Owned(task.name()))?;
    let mut result = json!({"tasks": items.iter().map(|task| task.summary()).collect::<Vec<_>>()});
    if let Some(next) = next {
        result["nextCursor"] = json!(next);
    }
    written(gateway, caller, &result, ResultKind::Plain)
}

/// Waits for the end of a task; the answer is that of its call. Meanwhile the questions of the call go to this client.
pub async fn result(gateway: &Gateway, exchange: &Exchange, params: &RpcParams) -> Result<String, RpcError> {
    let task = found(gateway, &exchange.caller, "tasks/result", params)?;
    *task.outlet.lock() = exchange.outlet.clone();
    let mut changes = task.watch();
    loop {
        let questions = match task.step() {
            TaskStep::Ended(answer) => return answer.map(|answer| with_task(&task, &answer)),
            TaskStep::Cancelled => return Err(cancelled().in_doubt()),
            TaskStep::Asks(questions) => questions,
            TaskStep::Working => Vec::new(),
        };
        let first = questions.first().map(|question| question.key.clone());
        let mut put = pin!(put(gateway, exchange, &task, questions));
        loop {
            tokio::select! {
                () = &mut put => break,
                _ = changes.changed() => if !is_asking(&task, first.as_deref()) { break },
                () = task.gone() => return match task.step() {
                    TaskStep::Ended(answer) => answer.map(|answer| with_task(&task, &answer)),
                    _ => Err(no_such_task()),
                },
                () = exchange.cancel.cancelled() => return Err(cancelled().in_doubt()),
            }
        }
    }
}

/// Whether the task still asks what it asked. A question must not be put twice because the progress has changed.
fn is_asking(task: &ClientTask, first: Option<&str>) -> bool {
    match task.step() {
        TaskStep::Asks(open) => first.is_some() && open.first().map(|open| open.key.as_str()) == first,
        _ => false,
    }
}

/// Puts questions to the client. Without any, it never ends.
async fn put(gateway: &Gateway, exchange: &Exchange, task: &ClientTask, questions: Vec<TaskQuestion>) {
    if questions.is_empty() {
        return std::future::pending().await;
    }
    let each = questions.into_iter().map(|TaskQuestion { key, question }| async move {
        let params = with_related(task, question.params);
        let (all, outlet) = (gateway.questions.clone(), exchange.outlet.clone());
        let answer = ask(all, outlet, exchange.caller.client_key(), question.method, params).await;
        (key, answer)
    });
    // At once, because each answer changes the task.
    for (key, answer) in join_all(each).await {
        task.answer(&key, answer);
    }
}

/// A result with the task that it belongs to, otherwise as it came.
fn with_task(task: &ClientTask, answer: &str) -> String {
    heavy(answer.len(), || match serde_json::from_str(answer) {
        Ok(result) => with_related(task, result).to_string(),
        Err(_) => answer.to_owned(),
    })
}

/// A message with the task that it belongs to in its `_meta`.
fn with_related(task: &ClientTask, mut message: Value) -> Value {
    if let Value::Object(members) = &mut message
        && let Value::Object(meta) = members.entry("_meta").or_insert_with(|| json!({}))
    {
        meta.insert(RELATED_TASK.to_owned(), json!({"taskId": &*task.id}));
    }
    message
}

/// The task that a request names. One of another principal does not exist.
fn found(
    gateway: &Gateway,
    caller: &Caller,
    method: &str,
    params: &RpcParams,
) -> Result<Arc<ClientTask>, RpcError> {
    check_client(caller, method)?;
    gateway.tasks.get(caller, params.text("taskId")?).ok_or_else(no_such_task)
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
