//! `tools/list`, `tools/call` and `tools/describe`.

use super::definition::ToolDefinition;
use crate::error::{ErrorKind, HubError, clip};
use crate::gateway::caller::Caller;
use crate::gateway::era::{ResultKind, foreign_result, own_result};
use crate::gateway::exchange::Exchange;
use crate::gateway::rpc::{INTERNAL_ERROR, RpcError, object};
use crate::gateway::state::Gateway;
use crate::model::{Arguments, CallOptions, ToolOutput};
use crate::plan::{self, CallRequest, CallTarget};
use crate::registry::NameEntry;
use crate::tool::{CallContextExtras, OnProgress};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// One page of the tools that the caller sees, in the order of the registry.
pub fn list(gateway: &Gateway, caller: &Caller, params: Option<&RawValue>) -> Result<String, RpcError> {
    let after = match object(params)?.get("cursor") {
        None | Some(Value::Null) => None,
        Some(cursor) => Some(position(cursor)?),
    };
    let snapshot = gateway.hub.registry.snapshot();
    let mut visible = snapshot.entries_after(after).filter(|(_, entry)| caller.view.sees(entry));
    let page: Vec<_> = visible.by_ref().take(gateway.options.page_size.max(1)).collect();
    let next = visible.next().and(page.last()).map(|(_, entry)| entry.position().to_string());
    let tools: Vec<ToolDefinition<'_>> =
        page.iter().map(|(name, entry)| ToolDefinition { name, entry }).collect();
    written(gateway, caller, &ListedTools { tools, next_cursor: next }, ResultKind::Cacheable)
}

#[derive(Serialize)]
struct ListedTools<'a> {
    tools: Vec<ToolDefinition<'a>>,
    #[serde(rename = "nextCursor", skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A cursor names the position of the last tool of a page, so that no tool is skipped when others come or go.
fn position(cursor: &Value) -> Result<u64, RpcError> {
    let position = cursor.as_str().and_then(|text| text.parse().ok());
    position.ok_or_else(|| RpcError::invalid_params("Invalid params: 'cursor' is not one of this server"))
}

/// Everything about one tool.
pub fn describe(gateway: &Gateway, caller: &Caller, params: Option<&RawValue>) -> Result<String, RpcError> {
    let params = object(params)?;
    let name = name_of(&params)?;
    let snapshot = gateway.hub.registry.snapshot();
    let entry =
        snapshot.get(name).filter(|entry| caller.view.sees(entry)).ok_or_else(|| unknown_tool(name))?;
    let described = json!({"tool": ToolDefinition { name, entry }});
    written(gateway, caller, &described, ResultKind::Plain)
}

/// Calls a tool. What the tool or its server got wrong is a result with `isError`, so that a model reads it.
pub async fn call(
    gateway: &Gateway,
    exchange: &Exchange,
    params: Option<&RawValue>,
) -> Result<String, RpcError> {
    let mut params = object(params)?;
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(RpcError::invalid_params("Invalid params: 'arguments' must be an object")),
    };
    let name = name_of(&params)?;
    let caller = &exchange.caller;
    if !may_call(gateway, caller, name) {
        return Err(unknown_tool(name));
    }
    let request = CallRequest::new(CallTarget::Name(Arc::from(name)), CallOptions::default());
    let services = &*gateway.upstreams;
    let args = Arc::new(Arguments::new(arguments));
    let extras = extras(exchange, params.get("_meta"));
    let called =
        plan::call(&gateway.hub, services, &gateway.shared, request, args, &extras, &exchange.cancel).await;
    match called.outcome {
        Ok(ToolOutput { raw: Some(raw), .. }) => Ok(foreign_result(caller.era, &raw)),
        Ok(output) => written(gateway, caller, &own_content(&output), ResultKind::Plain),
        Err(error) if error.kind == ErrorKind::NotFound => Err(unknown_tool(name)),
        Err(error) => failed(gateway, caller, error),
    }
}

/// What the tools of a call get beside the arguments.
fn extras(exchange: &Exchange, meta: Option<&Value>) -> CallContextExtras {
    let meta = meta.and_then(Value::as_object);
    let token =
        meta.and_then(|meta| meta.get("progressToken")).filter(|token| token.is_string() || token.is_i64());
    let progress = token.cloned().map(|token| {
        let outlet = exchange.outlet.clone();
        let report: OnProgress = Arc::new(move |report: &Value| outlet.progress(&token, report));
        report
    });
    // What belongs to the exchange between client and gateway is not for others.
    let is_own = |key: &str| key == "progressToken" || key.starts_with("io.modelcontextprotocol/");
    let passed = meta.into_iter().flatten().filter(|(key, _)| !is_own(key));
    let meta = passed.map(|(key, value)| (key.clone(), value.clone())).collect();
    CallContextExtras { progress, meta, ask: None, keep_raw: true }
}

/// Whether the caller sees the tool. A name that nothing is known about may belong to a server that has not listed its
/// tools yet.
fn may_call(gateway: &Gateway, caller: &Caller, name: &str) -> bool {
    let sees = |entry: &Arc<NameEntry>| caller.view.sees(entry);
    gateway.hub.registry.load().get(name).is_none_or(sees)
}

fn name_of(params: &Map<String, Value>) -> Result<&str, RpcError> {
    let name = params.get("name").and_then(Value::as_str);
    name.ok_or_else(|| RpcError::invalid_params("Invalid params: 'name' must be a string"))
}

/// The same for a tool that does not exist and for one that the caller must not know of.
fn unknown_tool(name: &str) -> RpcError {
    RpcError::invalid_params(format!("Unknown tool: {}", clip(name)))
}

/// A result as MCP has it.
fn own_content(output: &ToolOutput) -> Value {
    let mut result = Map::new();
    match &output.content {
        Some(content) => {
            result.insert("content".to_owned(), content.clone());
            result.extend(output.structured.clone().map(|value| ("structuredContent".to_owned(), value)));
        }
        None => {
            let value = output.inner();
            result.insert("content".to_owned(), blocks(&value));
            if value.is_object() {
                result.insert("structuredContent".to_owned(), value);
            }
        }
    }
    Value::Object(result)
}

/// A value as content blocks: a text as it is, nothing as nothing, anything else as JSON.
fn blocks(value: &Value) -> Value {
    match value {
        Value::Null => json!([]),
        Value::String(text) => json!([{"type": "text", "text": text}]),
        value => json!([{"type": "text", "text": value.to_string()}]),
    }
}

/// A server's protocol error stays one; everything else is a result that says what went wrong.
fn failed(gateway: &Gateway, caller: &Caller, error: HubError) -> Result<String, RpcError> {
    if let (ErrorKind::Rpc, Some(code)) = (error.kind, error.code) {
        return Err(RpcError::new(code, error.message));
    }
    if let Some(raw) = error.content.as_ref().and_then(|sent| sent.raw.as_ref()) {
        return Ok(foreign_result(caller.era, raw));
    }
    let content = match &error.content {
        Some(sent) => sent.content.clone(),
        None => json!([{"type": "text", "text": error.message}]),
    };
    let mut result = json!({"content": content, "isError": true});
    if let Some(structured) = error.content.as_ref().and_then(|sent| sent.structured.clone()) {
        result["structuredContent"] = structured;
    }
    written(gateway, caller, &result, ResultKind::Plain)
}

fn written(
    gateway: &Gateway,
    caller: &Caller,
    result: &impl Serialize,
    kind: ResultKind,
) -> Result<String, RpcError> {
    let text =
        serde_json::to_string(result).map_err(|error| RpcError::new(INTERNAL_ERROR, error.to_string()))?;
    Ok(own_result(gateway, caller.era, text, kind))
}
