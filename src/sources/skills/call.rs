//! What calls of skills have in common, from folders and from servers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::sync::Arc;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError};
use toolhub_types::model::{Arguments, ToolOutput};
use toolhub_types::tool::CallContext;

/// The argument that free text is for.
pub const TASK: &str = "task";
/// The argument that asks for a resource.
pub const FILE: &str = "file";

/// The parameters of every skill.
pub fn parameters() -> Arc<Value> {
    let task = "What the skill is needed for, in your own words. It comes back with the instructions.";
    let file = "The path of one of the skill's resources, to read it instead of the instructions.";
    Arc::new(json!({
        "type": "object",
        "properties": {
            TASK: {"type": "string", "description": task},
            FILE: {"type": "string", "description": file},
        },
        "additionalProperties": false,
    }))
}

/// The path of the resource that a call asks for.
pub fn asked_file(args: &Arguments) -> Option<&str> {
    args.get(FILE).and_then(Value::as_str)
}

/// Adds the task of a call to the instructions, behind the name of the skill.
pub fn put_task(value: &mut Value, args: &Arguments) {
    let task = args.get(TASK).and_then(Value::as_str).map(str::trim).filter(|task| !task.is_empty());
    if let (Some(task), Value::Object(fields)) = (task, value) {
        fields.shift_insert(1.min(fields.len()), TASK.to_owned(), json!(task));
    }
}

/// Adds the content of a file, as text if it is text.
pub fn put_content(value: &mut Value, bytes: Vec<u8>) {
    match String::from_utf8(bytes) {
        Ok(text) => value["text"] = json!(text),
        Err(binary) => value["blob"] = json!(STANDARD.encode(binary.as_bytes())),
    }
}

/// Reads a skill until the call is cancelled.
pub async fn unless_cancelled(
    name: &str,
    ctx: &CallContext,
    read: impl Future<Output = Result<ToolOutput, HubError>>,
) -> Result<ToolOutput, HubError> {
    tokio::select! {
        biased;
        _ = ctx.cancel.cancelled() => {
            let text = message!("Reading the skill '{}' was cancelled.", name);
            Err(HubError::new(ErrorKind::Cancelled, text))
        }
        output = read => output,
    }
}
