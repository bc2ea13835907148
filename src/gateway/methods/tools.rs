//! `tools/list` and `tools/describe`.

use super::audit::AuditedRequest;
use super::definition::ToolDefinition;
use super::execute::{SHORT_PATIENCE, find};
use super::pages::{Page, page};
use crate::Exchange;
use crate::era::{ResultKind, own_result};
use crate::identity::{Caller, audience, takes_tasks};
use crate::methods::search_mode::{self, GatewayTool};
use crate::operate::AuditEvent;
use crate::rpc::{INTERNAL_ERROR, RpcError, RpcParams};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use toolhub_engine::plan::LookUpRequest;
use toolhub_engine::served::{Audience, ShownTool};
use toolhub_protocol::Era;
use toolhub_types::error::{ErrorKind, NOW_KEY, clip};
use toolhub_types::model::CallOptions;
use toolhub_types::tool::Freshness;

/// One page of the tools that the caller sees, in the order of their names.
pub fn list(exchange: &Exchange, params: &RpcParams) -> Result<String, RpcError> {
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
    let snapshot = gateway.hub.registry.snapshot();
    if search_mode::is_on(&caller.view, &snapshot) {
        let own = GatewayTool::ALL.into_iter().map(|tool| own_definition(caller, tool));
        let core =
            search_mode::core(&caller.view, &snapshot).map(|tool| json!(ToolDefinition::new(caller, tool)));
        let tools: Vec<Value> = own.chain(core).collect();
        return written(exchange, &json!({"tools": tools}), ResultKind::Cacheable);
    }
    let visible = caller.view.tools_for(&snapshot, audience(caller));
    let Page { items, next } =
        page(params, gateway.options.page_size, visible, |tool| Cow::Borrowed(tool.name))?;
    let tools = items.into_iter().map(|tool| ToolDefinition::new(caller, tool)).collect();
    written(exchange, &ListedTools { tools, next_cursor: next }, ResultKind::Cacheable)
}

/// Has the servers list their tools if a hub in front asks for those of now.
pub async fn list_now(exchange: &Exchange, params: &RpcParams) {
    let is_asked = params.meta().and_then(|meta| meta.get(NOW_KEY)) == Some(&Value::Bool(true));
    if !is_asked || params.contains_key("cursor") {
        return;
    }
    let gateway = &exchange.gateway;
    let snapshot = gateway.hub.registry.snapshot();
    let shown = exchange.caller.view.tools_for(&snapshot, audience(&exchange.caller));
    let servers: BTreeSet<Arc<str>> = shown.filter_map(|tool| tool.server().cloned()).collect();
    if servers.is_empty() {
        return;
    }
    let request = LookUpRequest {
        name: None,
        options: CallOptions::default(),
        servers: servers.into_iter().collect(),
        freshness: Freshness::Now,
        patience: SHORT_PATIENCE,
    };
    tokio::select! {
        _ = gateway.upstreams.look_up(&request) => {}
        () = exchange.cancel.cancelled() => {}
    }
}

/// A tool of the gateway. What `call_tool` calls may run as a task.
fn own_definition(caller: &Caller, tool: GatewayTool) -> Value {
    let mut definition = tool.definition();
    if tool == GatewayTool::Call && caller.era == Era::Legacy && takes_tasks(caller) {
        definition["execution"] = json!({"taskSupport": "optional"});
    }
    definition
}

#[derive(Serialize)]
struct ListedTools<'a> {
    tools: Vec<ToolDefinition<'a>>,
    #[serde(rename = "nextCursor", skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Everything about one tool.
pub async fn describe(exchange: &Exchange, params: &RpcParams) -> Result<String, RpcError> {
    let name = params.text("name")?;
    let record = AuditedRequest::new(exchange, AuditEvent::Describe { tool: name });
    let found = find(exchange, (name, Audience::Model), SHORT_PATIENCE).await;
    record.write(found.as_ref().err().map(|error| error.kind));
    found.map_err(|error| match error.kind {
        ErrorKind::NotFound => unknown_tool(name),
        _ => RpcError::invalid_params(exchange.face("", &error).into_owned()),
    })?;
    let snapshot = exchange.gateway.hub.registry.snapshot();
    let shown = exchange.caller.view.tool(&snapshot, name).ok_or_else(|| unknown_tool(name))?;
    written(exchange, &described(exchange, shown), ResultKind::Plain)
}

/// The definition of a tool, with the instructions of its server.
pub fn described(exchange: &Exchange, tool: ShownTool<'_>) -> Value {
    let caller = &exchange.caller;
    let server = tool.server().filter(|_| caller.view.shows_everything()).cloned();
    let instructions = server.and_then(|id| Some((exchange.gateway.upstreams.instructions(&id)?, id)));
    let mut described = json!({"tool": ToolDefinition::new(caller, tool)});
    if let Some((text, id)) = instructions {
        described["instructions"] = json!({"server": &*id, "text": text});
    }
    described
}

/// The same for a tool that does not exist and for one that the caller must not know of.
pub fn unknown_tool(name: &str) -> RpcError {
    RpcError::invalid_params(format!("Unknown tool: {}", clip(name)))
}

/// The JSON text of an own result, in the form of the caller's era.
pub fn written(exchange: &Exchange, result: &impl Serialize, kind: ResultKind) -> Result<String, RpcError> {
    let text =
        serde_json::to_string(result).map_err(|error| RpcError::new(INTERNAL_ERROR, error.to_string()))?;
    Ok(own_result(&exchange.gateway, exchange.caller.era, text, kind))
}
