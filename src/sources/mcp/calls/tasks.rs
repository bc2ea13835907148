//! Tasks: a call that the server answers with a task is asked for until it is over.
//!
//! | | modern, extension `io.modelcontextprotocol/tasks` | 2025-11-25, experimental |
//! |---|---|---|
//! | who decides | the server, for every client that declares the extension | the tool (`taskSupport: "required"`), and we send `task` |
//! | the result | is inside the ended task | `tasks/result`, which waits for the end |
//! | questions | are inside the task; answered with `tasks/update` | come as requests of their own, once `tasks/result` is asked |
//!
//! From the moment there is a task the call has begun: no error of ours afterwards says that nothing happened.

use crate::mcp::connection::{Connection, RequestExtras, ServerIdentity, send_in_passing};
use crate::mcp::convert::{finished, unreadable, wrong_answer};
use crate::mcp::inbox::CallOwner;
use crate::mcp::message::Params;
use crate::mcp::protocol::Era;
use crate::mcp::server::Server;
use crate::mcp::wire::clean;
use crate::mcp::{backoff, proof, questions};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::model::ToolOutput;
use toolhub_types::tool::{CallContext, CallContextExtras};

/// However often or rarely a server wants to be asked.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(30);
const USUAL: Duration = Duration::from_millis(500);
/// How often in a row a question about a task may get lost.
const LOST: u32 = 3;
/// How many questions one task may ask.
const QUESTIONS: usize = 100;

/// Whether the older protocol wants this call to be made as a task.
pub fn wanted(connection: &Connection, needs_task: bool) -> bool {
    let ServerIdentity { era, capabilities, .. } = &connection.server;
    let declared = || capabilities.pointer("/tasks/requests/tools/call");
    needs_task && *era == Era::Legacy && declared().is_some_and(|declared| !declared.is_null())
}

/// Follows a task to its end. The caller's deadline bounds it; when the caller gives up, the task is cancelled on the server.
pub async fn finish(
    server: &Arc<Server>,
    connection: Arc<Connection>,
    tool: &str,
    seed: &Value,
    ctx: &CallContext,
) -> Result<ToolOutput> {
    let id = seed.get("taskId").and_then(Value::as_str);
    let id = id.ok_or_else(|| unreadable(message!("the task of '{}' has no id", clip(tool))))?;
    if let Some(on_task) = &ctx.extras.on_task {
        on_task();
    }
    // Between two requests about it, too, a question may belong to the task.
    let watched = connection.watch_caller(CallOwner::of(&ctx.extras));
    let followed = Followed { server, connection, tool, id, ctx, answered: HashSet::new(), over: false };
    let output = { followed }.follow(seed).await;
    watched.end();
    output
}

struct Followed<'a> {
    server: &'a Arc<Server>,
    /// The one that was asked last.
    connection: Arc<Connection>,
    tool: &'a str,
    id: &'a str,
    ctx: &'a CallContext,
    /// Questions that were answered; they may be shown again before the server has taken the answers.
    answered: HashSet<String>,
    /// It ended, well or not: there is nothing to cancel.
    over: bool,
}

impl Followed<'_> {
    async fn follow(&mut self, seed: &Value) -> Result<ToolOutput> {
        let since = Instant::now();
        // The result or the question of a task must be requested.
        let mut pause = if status(seed) == "working" { interval(seed) } else { Duration::ZERO };
        loop {
            tokio::time::sleep(pause).await;
            let age = since.elapsed();
            let task = self.ask("tasks/get", None).await?;
            // An answer about another task says nothing about this one.
            if task.get("taskId").and_then(Value::as_str) != Some(self.id) {
                let tool = clip(self.tool);
                let text = message!("tasks/get of '{}': the answer does not have the id of the task", tool);
                return Err(unreadable(text));
            }
            match (status(&task), self.connection.server.era) {
                ("completed" | "failed" | "cancelled" | "input_required", Era::Legacy) => {
                    let result = self.ask("tasks/result", None).await?;
                    self.over = true;
                    if result.get("content").is_some() {
                        return self.output(Some(result));
                    }
                    // Servers of the Python SDK give an empty result of a task that failed.
                    let task = self.ask("tasks/get", None).await?;
                    return match status(&task) {
                        end @ ("failed" | "cancelled") => Err(failed(self.tool, end, &task)),
                        _ => self.output(Some(result)),
                    };
                }
                ("completed", Era::Modern) => {
                    self.over = true;
                    return self.output(task.get("result").cloned());
                }
                (end @ ("failed" | "cancelled"), Era::Modern) => {
                    self.over = true;
                    return Err(failed(self.tool, end, &task));
                }
                ("input_required", Era::Modern) => self.answer(&task).await?,
                _ if age > lifetime(&task) => {
                    let text = message!(
                        "The task of tool '{}' on server '{}' did not end within the {} s that the server keeps it.",
                        clip(self.tool),
                        self.server.id(),
                        lifetime(&task).as_secs_f64()
                    );
                    return Err(HubError::new(ErrorKind::Timeout, text));
                }
                _ => {}
            }
            pause = interval(&task);
        }
    }

    fn output(&self, result: Option<Value>) -> Result<ToolOutput> {
        match result {
            Some(Value::Object(result)) => {
                // The result is a part of the answer, so its text is written again.
                let raw = self.ctx.extras.keep_raw.then(|| serde_json::value::to_raw_value(&result).ok());
                finished(self.tool, result, raw.flatten().map(Arc::from))
            }
            _ => Err(unreadable(message!("the task of '{}' ended without a result", clip(self.tool)))),
        }
    }

    /// Answers the questions that are new.
    async fn answer(&mut self, task: &Value) -> Result<()> {
        let Some(Value::Object(requests)) = task.get("inputRequests") else { return Ok(()) };
        let new = |(key, _): &(&String, &Value)| !self.answered.contains(*key);
        let new: Map<String, Value> =
            requests.iter().filter(new).map(|(key, value)| (key.clone(), value.clone())).collect();
        if new.is_empty() {
            return Ok(());
        }
        self.answered.extend(new.keys().cloned());
        if self.answered.len() > QUESTIONS {
            let text = message!(
                "The task of tool '{}' asked more than {} questions and was abandoned.",
                clip(self.tool),
                QUESTIONS
            );
            return Err(HubError::new(ErrorKind::Limit, text).with_outcome(Outcome::Unknown));
        }
        let responses =
            questions::gather(self.server, self.tool, (new, None), self.ctx.extras.ask.as_ref()).await;
        let (responses, _) = responses.map_err(|error| error.with_outcome(Outcome::Unknown))?;
        self.ask("tasks/update", Some(&responses)).await.map(drop)
    }

    /// Asks about the task. All that is asked may be asked twice, so a question that got lost is asked again.
    async fn ask(&mut self, method: &'static str, responses: Option<&Map<String, Value>>) -> Result<Value> {
        let mut lost = 0;
        loop {
            match self.ask_once(method, responses).await {
                Err(error) if backoff::is_transient(&error) && lost < LOST => {
                    lost += 1;
                    let pause = backoff::asked_pause(&error).unwrap_or_else(|| backoff::pause(lost));
                    tokio::time::sleep(pause).await;
                }
                answer => return answer.map_err(|error| error.with_outcome(Outcome::Unknown)),
            }
        }
    }

    async fn ask_once(
        &mut self,
        method: &'static str,
        responses: Option<&Map<String, Value>>,
    ) -> Result<Value> {
        self.connection = self.server.connection().await?;
        let mut params = Params::new().with("taskId", self.id);
        if let Some(responses) = responses {
            params = params.with("inputResponses", responses);
        }
        // Its log, its progress and its metadata come with the call.
        let CallContextExtras { ask, principal, .. } = self.ctx.extras.clone();
        let call = CallContextExtras { ask, principal, ..CallContextExtras::default() };
        let extras = RequestExtras { call: Some(&call), ..named(self.id) };
        let raw = self.connection.request(method, params, extras).await?;
        serde_json::from_str(raw.get()).map_err(|error| wrong_answer(method, error.to_string()))
    }
}

/// Over HTTP the id of a task goes into a header, so that the request finds the machine that has it.
fn named(id: &str) -> RequestExtras<'static> {
    RequestExtras { name: Some(Arc::from(id)), ..RequestExtras::default() }
}

fn status(task: &Value) -> &str {
    task.get("status").and_then(Value::as_str).unwrap_or_default()
}

/// A number of milliseconds, by its modern name or its older one.
fn millis(task: &Value, modern: &str, older: &str) -> Option<Duration> {
    task.get(modern).or_else(|| task.get(older))?.as_u64().map(Duration::from_millis)
}

fn interval(task: &Value) -> Duration {
    millis(task, "pollIntervalMs", "pollInterval").unwrap_or(USUAL).clamp(SHORTEST, LONGEST)
}

fn lifetime(task: &Value) -> Duration {
    millis(task, "ttlMs", "ttl").unwrap_or(Duration::MAX)
}

fn failed(tool: &str, end: &str, task: &Value) -> HubError {
    let error = task.get("error");
    let detail = error.and_then(|error| error.get("message")).or_else(|| task.get("statusMessage"));
    let detail = detail.and_then(Value::as_str).map(|text| clean(text, 2000));
    let text = match (end, detail) {
        ("failed", Some(why)) => message!("The task of tool '{}' failed: {}", clip(tool), why),
        ("failed", None) => message!("The task of tool '{}' failed", clip(tool)),
        (_, Some(why)) => message!("The task of tool '{}' was cancelled by the server: {}", clip(tool), why),
        (_, None) => message!("The task of tool '{}' was cancelled by the server", clip(tool)),
    };
    let code = error.and_then(|error| error.get("code")).and_then(Value::as_i64);
    let kind = if code.is_some() { ErrorKind::Rpc } else { ErrorKind::ToolError };
    let reported = proof::of_report(error.and_then(|error| error.get("data")));
    // What was cancelled had begun.
    let outcome = if end == "failed" { reported } else { Outcome::Unknown };
    HubError { code, ..HubError::new(kind, text).with_outcome(outcome) }
}

/// Cancels an abandoned task.
impl Drop for Followed<'_> {
    fn drop(&mut self) {
        if self.over || self.connection.transport.retired().is_some() {
            return;
        }
        let (connection, id) = (self.connection.clone(), self.id.to_owned());
        send_in_passing(async move {
            connection.request("tasks/cancel", Params::new().with("taskId", &id), named(&id)).await
        });
    }
}
