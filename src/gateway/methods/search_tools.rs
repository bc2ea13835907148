//! The tools of the gateway itself, in search mode.

use super::definition::ToolDefinition;
use super::tools::written;
use crate::error::clip;
use crate::gateway::caller::Caller;
use crate::gateway::era::ResultKind;
use crate::gateway::rpc::RpcError;
use crate::gateway::search_mode::{self, GatewayTool};
use crate::gateway::state::Gateway;
use crate::registry::Snapshot;
use serde_json::{Map, Value, json};

/// What a call in search mode means.
pub enum GatewayCall {
    /// A tool of the hub with these arguments.
    Tool(String, Map<String, Value>),
    /// Nothing is called; this is the result.
    Answered(Result<String, RpcError>),
}

/// Reads a call: a tool of the gateway is carried out here, except that `call_tool` stands for the tool that it names.
pub fn read_call(
    gateway: &Gateway,
    caller: &Caller,
    name: &str,
    mut arguments: Map<String, Value>,
) -> GatewayCall {
    let snapshot = gateway.hub.registry.snapshot();
    let refused = |text: &str| GatewayCall::Answered(failure(gateway, caller, text));
    let Some(tool) = search_mode::gateway_tool(name, &caller.view, &snapshot) else {
        return GatewayCall::Tool(name.to_owned(), arguments);
    };
    if tool == GatewayTool::Search {
        let Some(query) = arguments.get("query").and_then(Value::as_str) else {
            return refused("'query' must be a string.");
        };
        let limit = arguments.get("limit").and_then(Value::as_u64);
        let found = search_mode::search(&gateway.hub, &caller.view, query, limit);
        return GatewayCall::Answered(success(gateway, caller, &found));
    }
    let Some(Value::String(name)) = arguments.remove("name") else {
        return refused("'name' must be a string.");
    };
    if tool == GatewayTool::Describe {
        return GatewayCall::Answered(describe(gateway, caller, &snapshot, &name));
    }
    match arguments.remove("arguments") {
        None | Some(Value::Null) => GatewayCall::Tool(name, Map::new()),
        Some(Value::Object(inner)) => GatewayCall::Tool(name, inner),
        Some(_) => refused("'arguments' must be an object."),
    }
}

fn describe(gateway: &Gateway, caller: &Caller, snapshot: &Snapshot, name: &str) -> Result<String, RpcError> {
    let entry = snapshot.get(name).filter(|entry| caller.view.sees(entry));
    match entry.and_then(|entry| ToolDefinition::new(&caller.view, name, entry)) {
        Some(definition) => success(gateway, caller, &json!({"tool": definition})),
        None => failure(gateway, caller, &format!("There is no tool named '{}'.", clip(name))),
    }
}

fn success(gateway: &Gateway, caller: &Caller, value: &Value) -> Result<String, RpcError> {
    let content = json!([{"type": "text", "text": value.to_string()}]);
    written(gateway, caller, &json!({"content": content, "structuredContent": value}), ResultKind::Plain)
}

/// A result that a model reads and can act on.
fn failure(gateway: &Gateway, caller: &Caller, text: &str) -> Result<String, RpcError> {
    let content = json!([{"type": "text", "text": text}]);
    written(gateway, caller, &json!({"content": content, "isError": true}), ResultKind::Plain)
}
