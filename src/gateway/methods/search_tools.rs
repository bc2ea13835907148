//! The tools of the gateway itself, in search mode.

use super::audited::AuditedRequest;
use super::definition::ToolDefinition;
use super::tools::written;
use crate::error::{ErrorKind, clip};
use crate::gateway::caller::Caller;
use crate::gateway::era::ResultKind;
use crate::gateway::operate::AuditEvent;
use crate::gateway::rpc::RpcError;
use crate::gateway::search_mode::{self, GatewayTool};
use crate::gateway::state::Gateway;
use crate::hub::SearchQuery;
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
    let refused = |event: AuditEvent<'_>, text: &str| {
        let record = AuditedRequest::new(gateway, caller, event);
        let written = record.write(Some(ErrorKind::InvalidArguments));
        GatewayCall::Answered(written.and_then(|()| failure(gateway, caller, text)))
    };
    let Some(tool) = search_mode::gateway_tool(name, &caller.view, &snapshot) else {
        return GatewayCall::Tool(name.to_owned(), arguments);
    };
    if tool == GatewayTool::Search {
        return search(gateway, caller, Value::Object(arguments), refused);
    }
    let Some(Value::String(name)) = arguments.remove("name") else {
        let given = Value::Object(arguments);
        let event = match tool {
            GatewayTool::Describe => AuditEvent::Describe { tool: "" },
            _ => AuditEvent::Call { tool: "", candidate: None, arguments: &given },
        };
        return refused(event, "'name' must be a string.");
    };
    if tool == GatewayTool::Describe {
        return GatewayCall::Answered(describe(gateway, caller, &snapshot, &name));
    }
    match arguments.remove("arguments") {
        None | Some(Value::Null) => GatewayCall::Tool(name, Map::new()),
        Some(Value::Object(inner)) => GatewayCall::Tool(name, inner),
        Some(other) => {
            let event = AuditEvent::Call { tool: &name, candidate: None, arguments: &other };
            refused(event, "'arguments' must be an object.")
        }
    }
}

fn search(
    gateway: &Gateway,
    caller: &Caller,
    arguments: Value,
    refused: impl Fn(AuditEvent<'_>, &str) -> GatewayCall,
) -> GatewayCall {
    let event = AuditEvent::Search { arguments: &arguments };
    let Some(query) = arguments.get("query").and_then(Value::as_str) else {
        return refused(event, "'query' must be a string.");
    };
    let record = AuditedRequest::new(gateway, caller, event);
    let limit = arguments.get("limit").and_then(Value::as_u64);
    let query = SearchQuery { words: query, vector: None, caller: Some(&caller.principal.id) };
    let found = search_mode::search(&gateway.hub, &gateway.view_indexes, &caller.view, query, limit);
    GatewayCall::Answered(record.write(None).and_then(|()| success(gateway, caller, &found)))
}

fn describe(gateway: &Gateway, caller: &Caller, snapshot: &Snapshot, name: &str) -> Result<String, RpcError> {
    let record = AuditedRequest::new(gateway, caller, AuditEvent::Describe { tool: name });
    let entry = snapshot.get(name).filter(|entry| caller.view.sees(entry));
    match entry.and_then(|entry| ToolDefinition::new(caller, name, entry)) {
        Some(definition) => {
            record.write(None)?;
            success(gateway, caller, &json!({"tool": definition}))
        }
        None => {
            record.write(Some(ErrorKind::NotFound))?;
            failure(gateway, caller, &format!("There is no tool named '{}'.", clip(name)))
        }
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
