//! `tools/list` and `tools/describe`.

use super::elicitation::answer_or_ask;
use super::execute::AuditedRequest;
use super::execute::{SHORT_PATIENCE, execute, find};
use super::pages::{Page, page};
use super::results::{answer, blocks};
use super::tasks;
use crate::Exchange;
use crate::era::{ResultKind, modern_result};
use crate::identity::{Caller, audience, takes_tasks};
use crate::kept::{FinishedCall, RequestSubject};
use crate::methods::search_mode::{self, GatewayTool};
use crate::operate::AuditEvent;
use crate::rpc::{INTERNAL_ERROR, RpcError, RpcParams, must_be};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use toolhub_engine::hub::SearchQuery;
use toolhub_engine::plan::LookUpRequest;
use toolhub_engine::served::{Audience, SearchMode, ShownTool};
use toolhub_protocol::Era;
use toolhub_types::error::{ErrorKind, NOW_KEY, Result, clip};
use toolhub_types::model::{Arguments, CallOptions, Freshness};
use toolhub_types::tool::CallContextExtras;

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
    let described = described(exchange, name).await.map_err(|error| match error.kind {
        ErrorKind::NotFound => unknown_tool(name),
        _ => RpcError::invalid_params(exchange.face("", &error).into_owned()),
    })?;
    written(exchange, &described.ok_or_else(|| unknown_tool(name))?, ResultKind::Plain)
}

/// The definition of a tool, with the instructions of its server; `None` if it has gone meanwhile.
async fn described(exchange: &Exchange, name: &str) -> Result<Option<Value>> {
    let record = AuditedRequest::new(exchange, AuditEvent::Describe { tool: name });
    let found = find(exchange, (name, Audience::Model), SHORT_PATIENCE).await;
    record.write(found.as_ref().err().map(|error| error.kind));
    found?;
    let caller = &exchange.caller;
    let snapshot = exchange.gateway.hub.registry.snapshot();
    let Some(tool) = caller.view.tool(&snapshot, name) else { return Ok(None) };
    let server = tool.server().filter(|_| caller.view.shows_everything()).cloned();
    let instructions = server.and_then(|id| Some((exchange.gateway.upstreams.instructions(&id)?, id)));
    let mut described = json!({"tool": ToolDefinition::new(caller, tool)});
    if let Some((text, id)) = instructions {
        described["instructions"] = json!({"server": &*id, "text": text});
    }
    Ok(Some(described))
}

/// The same for a tool that does not exist and for one that the caller must not know of.
pub fn unknown_tool(name: &str) -> RpcError {
    RpcError::invalid_params(format!("Unknown tool: {}", clip(name)))
}

/// The JSON text of an own result, in the form of the caller's era.
pub fn written(exchange: &Exchange, result: &impl Serialize, kind: ResultKind) -> Result<String, RpcError> {
    let text =
        serde_json::to_string(result).map_err(|error| RpcError::new(INTERNAL_ERROR, error.to_string()))?;
    Ok(match exchange.caller.era {
        Era::Legacy => text,
        Era::Modern => modern_result(&exchange.gateway, &text, kind),
    })
}

const EXECUTION: &str = "execution";
const TASK_SUPPORT: &str = "taskSupport";

/// The definition of a tool, written without copies.
pub struct ToolDefinition<'a> {
    tool: ShownTool<'a>,
    /// The client may call it as a task, whatever its server says: the gateway runs the task.
    as_task: bool,
}

impl<'a> ToolDefinition<'a> {
    pub fn new(caller: &Caller, tool: ShownTool<'a>) -> Self {
        ToolDefinition { tool, as_task: caller.era == Era::Legacy && takes_tasks(caller) }
    }
}

impl Serialize for ToolDefinition<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.tool.name)?;
        let spec = self.tool.spec();
        if !spec.description.is_empty() {
            map.serialize_entry("description", &*spec.description)?;
        }
        map.serialize_entry("inputSchema", &*input_schema(&spec.parameters))?;
        let annotations = self.tool.annotations();
        if !annotations.is_empty() {
            map.serialize_entry("annotations", &*annotations)?;
        }
        let mut extras = self.tool.definition_extras();
        // What its server says of tasks is between the server and the hub.
        let mut execution = match extras.remove(EXECUTION) {
            Some(Value::Object(execution)) => execution,
            _ => Map::new(),
        };
        execution.remove(TASK_SUPPORT);
        if self.as_task {
            execution.insert(TASK_SUPPORT.to_owned(), json!("optional"));
        }
        if !execution.is_empty() {
            map.serialize_entry(EXECUTION, &execution)?;
        }
        for (key, value) in &extras {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// A schema of arguments. The protocol requires `type: "object"` at its root.
fn input_schema(given: &Value) -> Cow<'_, Value> {
    if given["type"] == "object" {
        return Cow::Borrowed(given);
    }
    let mut schema = json!({"type": "object"});
    if let (Value::Object(members), Some(given)) = (&mut schema, given.as_object()) {
        members.extend(given.iter().filter(|(key, _)| *key != "type").map(|(k, v)| (k.clone(), v.clone())));
    }
    Cow::Owned(schema)
}

/// Calls a tool. A request that names none is written down as a call of no tool.
pub async fn call(exchange: &Arc<Exchange>, mut params: RpcParams) -> Result<String, RpcError> {
    let caller = &exchange.caller;
    let named = params.text("name").map(str::to_owned);
    let named = named.map_err(|error| refused(exchange, "", &Value::Null, error))?;
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(other) => {
            return Err(refused(exchange, &named, &other, must_be("arguments", "an object")));
        }
    };
    let task = match tasks::wanted(caller, &mut params) {
        Ok(task) => task,
        Err(error) => return Err(refused(exchange, &named, &Value::Object(arguments), error)),
    };
    let (name, arguments) = match read_call(exchange, &named, arguments).await {
        GatewayCall::Tool(name, arguments) => (name, arguments),
        GatewayCall::Answered(_) if task.is_some() => return Err(tasks::not_as_task(&named)),
        GatewayCall::Answered(answer) => return answer,
    };
    // What a model names to `call_tool` has to be for models.
    let audience = if name == named { audience(caller) } else { Audience::Model };
    let args = Arc::new(Arguments::new(arguments));
    let subject = RequestSubject { method: "tools/call", name: name.clone(), arguments: args.clone() };
    let refuse = |error| refused(exchange, &subject.name, subject.arguments.as_value(), error);
    let run = async move |exchange: Arc<Exchange>, extras: CallContextExtras| {
        let called = execute(&exchange, (&name, audience), args, extras).await;
        let is_failure = called.outcome.is_err();
        FinishedCall { answer: answer(&exchange, &name, called), is_failure }
    };
    match task {
        Some(ttl) => tasks::create(exchange, &params, ttl, run).map_err(refuse),
        None => answer_or_ask(exchange, &subject, params, run, refuse).await,
    }
}

/// Writes down a call that was refused before a tool was chosen for it.
fn refused(exchange: &Exchange, tool: &str, arguments: &Value, refusal: RpcError) -> RpcError {
    let event = AuditEvent::Call { tool, candidate: None, arguments, call: None };
    AuditedRequest::new(exchange, event).write(Some(ErrorKind::InvalidArguments));
    refusal
}

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
        return search_tools(exchange, Value::Object(arguments), &starting, refused);
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
        return GatewayCall::Answered(match described(exchange, &name).await {
            Ok(found) => success(exchange, &found.unwrap_or_else(|| json!({"tool": null}))),
            Err(error) => failure(exchange, &exchange.face("", &error)),
        });
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

fn search_tools(
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

fn success(exchange: &Exchange, value: &Value) -> Result<String, RpcError> {
    let result = json!({"content": blocks(value), "structuredContent": value});
    written(exchange, &result, ResultKind::Plain)
}

/// A result that a model reads and can act on.
fn failure(exchange: &Exchange, text: &str) -> Result<String, RpcError> {
    written(exchange, &json!({"content": blocks(&text.into()), "isError": true}), ResultKind::Plain)
}
