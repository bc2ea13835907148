//! Input that a server requests in the middle of a call.

use super::host::MOST_QUESTIONS;
use super::inbox::Asked;
use super::server::Server;
use crate::error::{ErrorKind, HubError, clip};
use crate::tool::AskCaller;
use serde_json::{Map, Value, json};

/// Answers the requests of a server for input.
pub async fn gather(
    server: &Server,
    tool: &str,
    requests: Map<String, Value>,
    ask: Option<&AskCaller>,
) -> Result<Map<String, Value>, HubError> {
    let mut responses = Map::new();
    let mut questions = 0;
    let asked = || ask.cloned().map_or(Asked::Owner, Asked::Caller);
    for (key, request) in requests {
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        if method == "elicitation/create" {
            questions += 1;
            if questions > MOST_QUESTIONS {
                responses.insert(key, json!({"action": "decline"}));
                continue;
            }
        }
        let params = request.get("params").cloned().unwrap_or_else(|| json!({}));
        let answer = server.callbacks().answer(&method, params, asked()).await.map_err(|(_, why)| {
            let text = format!(
                "Tool '{}' on server '{}' needs input that this hub cannot give ({}: {why}).",
                clip(tool),
                server.id(),
                super::wire::clean(&method, 60),
            );
            HubError::new(ErrorKind::NotAllowed, text)
        })?;
        responses.insert(key, answer);
    }
    Ok(responses)
}
