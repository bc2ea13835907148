//! What calls of skills have in common, from folders and from servers.

use crate::error::{ErrorKind, HubError};
use crate::model::ToolOutput;
use crate::tool::CallContext;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::sync::Arc;

/// The parameters of every skill.
pub fn parameters() -> Arc<Value> {
    let file = "One of the skill's resources, to read it. Without it, the skill's instructions are given.";
    Arc::new(json!({
        "type": "object", "properties": {"file": {"type": "string", "description": file}},
        "additionalProperties": false,
    }))
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
            let text = format!("Reading the skill '{name}' was cancelled.");
            Err(HubError::new(ErrorKind::Cancelled, text))
        }
        output = read => output,
    }
}
