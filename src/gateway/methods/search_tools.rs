//! The tools of the gateway itself, in search mode. They start servers and wait for them as calls do, but not for as long: what is
//! there is answered, with the servers that are still starting.

use super::audit::AuditedRequest;
use super::execute::{SHORT_PATIENCE, find};
use super::tools::{described, written};
use crate::Exchange;
use crate::era::ResultKind;
use crate::identity::Caller;
use crate::methods::search_mode::{self, GatewayTool};
use crate::operate::AuditEvent;
use crate::rpc::RpcError;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use toolhub_engine::hub::SearchQuery;
use toolhub_engine::served::{Audience, SearchMode};
use toolhub_types::error::{ErrorKind, clip};

/// What a call in search mode means.
pub enum GatewayCall {
    /// A tool of the hub with these arguments.
    Tool(String, Map<String, Value>),
    /// Nothing is called; this is the result.
    Answered(Result<String, RpcError>),
}

/// Reads a call: a tool of the gateway is carried out here, except that `call_tool` stands for the tool that it names.
pub async fn read_call(exchange: &Exchange, name: &str, mut arguments: Map<String, Value>) -> GatewayCall {
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
    let refused = |event: AuditEvent<'_>, text: &str| {
        AuditedRequest::new(exchange, event).write(Some(ErrorKind::InvalidArguments));
        GatewayCall::Answered(failure(exchange, text))
    };
    let Some(tool) = search_mode::named(name, &caller.view) else {
        return GatewayCall::Tool(name.to_owned(), arguments);
    };
    let starting = match tool == GatewayTool::Search || caller.view.search_mode == SearchMode::Auto {
        true => still_starting(exchange).await,
        false => Vec::new(),
    };
    if !search_mode::is_meant(tool, &caller.view, &gateway.hub.registry.load()) {
        return GatewayCall::Tool(name.to_owned(), arguments);
    }
    if tool == GatewayTool::Search {
        return search(exchange, Value::Object(arguments), &starting, refused);
    }
    let Some(Value::String(name)) = arguments.remove("name") else {
        let given = Value::Object(arguments);
        let event = match tool {
            GatewayTool::Describe => AuditEvent::Describe { tool: "" },
            _ => AuditEvent::Call { tool: "", candidate: None, arguments: &given, call: None },
        };
        return refused(event, "'name' must be a string.");
    };
    if tool == GatewayTool::Describe {
        return GatewayCall::Answered(describe(exchange, &name).await);
    }
    match arguments.remove("arguments") {
        None | Some(Value::Null) => GatewayCall::Tool(name, Map::new()),
        Some(Value::Object(inner)) => GatewayCall::Tool(name, inner),
        Some(other) => {
            let event = AuditEvent::Call { tool: &name, candidate: None, arguments: &other, call: None };
            refused(event, "'arguments' must be an object.")
        }
    }
}

/// Has all servers list their tools; those that have not when the time is over.
async fn still_starting(exchange: &Exchange) -> Vec<Arc<str>> {
    tokio::select! {
        starting = exchange.gateway.upstreams.listed(&exchange.caller.view, Some(SHORT_PATIENCE)) => starting,
        () = exchange.cancel.cancelled() => Vec::new(),
    }
}

fn search(
    exchange: &Exchange,
    arguments: Value,
    starting: &[Arc<str>],
    refused: impl Fn(AuditEvent<'_>, &str) -> GatewayCall,
) -> GatewayCall {
    let event = AuditEvent::Search { arguments: &arguments };
    let Some(query) = arguments.get("query").and_then(Value::as_str) else {
        return refused(event, "'query' must be a string.");
    };
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
    let record = AuditedRequest::new(exchange, event);
    let limit = arguments.get("limit").and_then(Value::as_u64);
    let query = SearchQuery { words: query, vector: None, caller: Some(&caller.principal.id) };
    let mut found =
        search_mode::search(&gateway.hub, &gateway.identity.view_indexes, &caller.view, query, limit);
    if !starting.is_empty() {
        found["incomplete"] = Value::from(incomplete(caller, starting));
    }
    record.write(None);
    GatewayCall::Answered(success(exchange, &found))
}

/// Callers who see some tools only must not learn of servers.
fn incomplete(caller: &Caller, starting: &[Arc<str>]) -> String {
    if !caller.view.shows_everything() {
        return "Some servers are still starting; search again in a few seconds.".to_owned();
    }
    let ids: Vec<String> = starting.iter().map(|id| format!("'{}'", clip(id))).collect();
    format!("These servers are still starting: {}; search again in a few seconds.", ids.join(", "))
}

async fn describe(exchange: &Exchange, name: &str) -> Result<String, RpcError> {
    let record = AuditedRequest::new(exchange, AuditEvent::Describe { tool: name });
    let found = find(exchange, (name, Audience::Model), SHORT_PATIENCE).await;
    record.write(found.as_ref().err().map(|error| error.kind));
    if let Err(error) = found {
        return failure(exchange, &exchange.face("", &error));
    }
    let snapshot = exchange.gateway.hub.registry.snapshot();
    let tool = exchange.caller.view.tool(&snapshot, name);
    let shown = tool.map_or_else(|| json!({"tool": null}), |tool| described(exchange, tool));
    success(exchange, &shown)
}

fn success(exchange: &Exchange, value: &Value) -> Result<String, RpcError> {
    let content = json!([{"type": "text", "text": value.to_string()}]);
    written(exchange, &json!({"content": content, "structuredContent": value}), ResultKind::Plain)
}

/// A result that a model reads and can act on.
fn failure(exchange: &Exchange, text: &str) -> Result<String, RpcError> {
    let content = json!([{"type": "text", "text": text}]);
    written(exchange, &json!({"content": content, "isError": true}), ResultKind::Plain)
}
