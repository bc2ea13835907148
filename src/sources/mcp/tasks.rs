//! The tasks extension: a call that the server answers with a task is asked for until it is over.

use super::connection::{Connection, Extras};
use super::convert::{finished, protocol};
use super::message::Params;
use super::wire::clean;
use crate::error::{ErrorKind, HubError, clip};
use crate::model::ToolOutput;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(30);
const USUAL: Duration = Duration::from_millis(500);

/// Polls a task to its end. The caller's deadline bounds it; given up, the server is told.
pub async fn finish(
    connection: &Arc<Connection>,
    tool: &str,
    mut task: Value,
) -> Result<ToolOutput, HubError> {
    let id = task
        .get("taskId")
        .and_then(Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| protocol(format!("the task of '{}' has no id", clip(tool))))?;
    let mut abandoned = Abandoned { connection, id: id.clone(), over: false };
    loop {
        match task.get("status").and_then(Value::as_str) {
            Some("completed") => {
                abandoned.over = true;
                let Some(Value::Object(result)) = task.get("result").cloned() else {
                    return Err(protocol(format!("the task of '{}' ended without a result", clip(tool))));
                };
                return finished(tool, result);
            }
            Some(end @ ("failed" | "cancelled")) => {
                abandoned.over = true;
                return Err(failed(tool, end, &task));
            }
            _ => {}
        }
        let pause = task
            .get("pollIntervalMs")
            .or_else(|| task.get("pollInterval"))
            .and_then(Value::as_u64)
            .map_or(USUAL, Duration::from_millis)
            .clamp(SHORTEST, LONGEST);
        tokio::time::sleep(pause).await;
        let extras = Extras { name: Some(Arc::from(id.as_str())), ..Extras::default() };
        let raw = connection.request("tasks/get", Params::new().with("taskId", &id), extras).await?;
        task = serde_json::from_str(raw.get()).map_err(|error| protocol(format!("a task: {error}")))?;
    }
}

fn failed(tool: &str, end: &str, task: &Value) -> HubError {
    let error = task.get("error");
    let said = error.and_then(|error| error.get("message")).or_else(|| task.get("statusMessage"));
    let said =
        said.and_then(Value::as_str).map(|text| format!(": {}", clean(text, 2000))).unwrap_or_default();
    let text = format!(
        "The task of tool '{}' {}{said}",
        clip(tool),
        if end == "failed" { "failed" } else { "was cancelled by the server" }
    );
    let code = error.and_then(|error| error.get("code")).and_then(Value::as_i64);
    let kind = if code.is_some() { ErrorKind::Rpc } else { ErrorKind::ToolError };
    HubError { code, ..HubError::new(kind, text) }
}

/// Cancels a task that nobody waits for any more.
struct Abandoned<'a> {
    connection: &'a Arc<Connection>,
    id: String,
    over: bool,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let (connection, id) = (self.connection.clone(), std::mem::take(&mut self.id));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let extras = Extras { name: Some(Arc::from(id.as_str())), ..Extras::default() };
                let asked = connection.request("tasks/cancel", Params::new().with("taskId", &id), extras);
                let _ = tokio::time::timeout(Duration::from_secs(3), asked).await;
            });
        }
    }
}
