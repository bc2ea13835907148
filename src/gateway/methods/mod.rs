//! The methods of the protocol, the same for all endpoints; what the gateway says that it can do (tools always, the rest if a server
//! behind the view has it); and the log messages of calls.

use crate::Exchange;
use crate::era;
use crate::rpc::{INTERNAL_ERROR, RpcError, RpcParams, RpcRequest};
use execute::SHORT_PATIENCE;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use toolhub_protocol::{Era, LOG_LEVEL_KEY, LogLevel};
use toolhub_types::error::clip;
use toolhub_types::model::OfferKind;
use toolhub_types::tool::CallLog;

mod elicitation;
mod execute;
mod listen;
mod offers;
mod pages;
mod results;
pub mod search_mode;
mod tasks;
mod tools;

/// The JSON text of the result, in the form of the caller's era. One that is too long is replaced by an error; that of a tool
/// was kept before.
pub async fn dispatch(exchange: &Arc<Exchange>, request: RpcRequest) -> Result<String, RpcError> {
    let most = exchange.gateway.options.max_result(&exchange.caller);
    let answer = answered(exchange, request).await?;
    match answer.len() > most {
        true => Err(RpcError::new(
            INTERNAL_ERROR,
            format!(
                "The result has {} bytes; results above {most} bytes (max_result) are not sent",
                answer.len()
            ),
        )),
        false => Ok(answer),
    }
}

async fn answered(exchange: &Arc<Exchange>, request: RpcRequest) -> Result<String, RpcError> {
    let RpcRequest { id, method, params } = request;
    let (gateway, era) = (&exchange.gateway, exchange.caller.era);
    // Boxed: a request that listens would keep as much memory as a call needs.
    match (method.as_str(), era) {
        ("initialize", Era::Legacy) => {
            wait_for_servers(exchange, SHORT_PATIENCE).await;
            let instructions = instructions(exchange);
            let version = exchange.caller.version;
            Ok(era::welcome(gateway, version, capabilities(exchange), instructions.as_deref()))
        }
        ("server/discover", Era::Modern) => {
            // A client that gets no answer for two seconds may take the hub for a server of the older protocol.
            wait_for_servers(exchange, DISCOVERY_PATIENCE).await;
            let instructions = instructions(exchange);
            Ok(era::discovered(gateway, capabilities(exchange), instructions.as_deref()))
        }
        ("ping", Era::Legacy) => Ok("{}".to_owned()),
        ("logging/setLevel", Era::Legacy) => Box::pin(set_level(exchange, &params)).await,
        ("tools/list", _) => {
            // Some clients list the tools once, so servers that are just being started are waited for.
            gateway.upstreams.listed(&exchange.caller.view, None).await;
            tools::list_now(exchange, &params).await;
            tools::list(exchange, &params)
        }
        ("tools/call", _) => Box::pin(tools::call(exchange, params)).await,
        ("tools/describe", _) => Box::pin(tools::describe(exchange, &params)).await,
        ("resources/list", _) => Box::pin(offers::list(exchange, OfferKind::Resources, &params)).await,
        ("resources/templates/list", _) => {
            Box::pin(offers::list(exchange, OfferKind::ResourceTemplates, &params)).await
        }
        ("resources/read" | "prompts/get" | "completion/complete", _) => {
            Box::pin(until_given_up(exchange, offers::ask(exchange, &method, params))).await
        }
        ("resources/subscribe", Era::Legacy) => Box::pin(offers::subscribe(exchange, &params)).await,
        ("resources/unsubscribe", Era::Legacy) => offers::unsubscribe(exchange, &params),
        ("prompts/list", _) => Box::pin(offers::list(exchange, OfferKind::Prompts, &params)).await,
        ("tasks/get", _) => tasks::get(exchange, &params),
        ("tasks/cancel", _) => tasks::cancel(exchange, &params),
        ("tasks/result", Era::Legacy) => Box::pin(tasks::result(exchange, &params)).await,
        ("tasks/list", Era::Legacy) => tasks::list(exchange, &params),
        ("tasks/update", Era::Modern) => tasks::update(exchange, params),
        ("subscriptions/listen", Era::Modern) => listen::listen(exchange, &id, params).await,
        (method, _) => Err(RpcError::no_such_method(method)),
    }
}

/// How long the answer to `server/discover` waits for servers that have not listed their tools.
const DISCOVERY_PATIENCE: Duration = Duration::from_secs(1);

/// Waits a little for servers that are just being started: what they say of themselves is told once, in the welcome, and only to
/// callers who see everything. A client must not take the hub for dead meanwhile.
async fn wait_for_servers(exchange: &Exchange, patience: Duration) {
    let view = &exchange.caller.view;
    if view.shows_everything() {
        exchange.gateway.upstreams.listed(view, Some(patience)).await;
    }
}

/// Runs a request that may wait for a function that ignores its cancellation. A drain ends the wait.
async fn until_given_up(
    exchange: &Exchange,
    request: impl Future<Output = Result<String, RpcError>>,
) -> Result<String, RpcError> {
    tokio::select! {
        biased;
        answer = request => answer,
        () = exchange.gateway.operation.abandon.cancelled() => Err(results::cancelled().in_doubt()),
    }
}

/// The bytes of the instructions of all servers together.
const LONGEST_INSTRUCTIONS: usize = 16_000;

/// The capabilities of both eras. A server that was never connected may have anything; a client that asks for what it does not
/// have gets an empty list.
pub fn capabilities(exchange: &Exchange) -> Value {
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
    let has = |capability: &str| gateway.upstreams.may_have(&caller.view, capability);
    let mut capabilities = json!({"tools": {"listChanged": true}});
    if has("resources") {
        capabilities["resources"] = json!({"listChanged": true});
        if has("resources.subscribe") {
            capabilities["resources"]["subscribe"] = json!(true);
        }
    }
    if has("prompts") {
        capabilities["prompts"] = json!({"listChanged": true});
    }
    if has("completions") {
        capabilities["completions"] = json!({});
    }
    let extensions = gateway.upstreams.extensions(&caller.view);
    if !extensions.is_empty() {
        capabilities["extensions"] = Value::Object(extensions);
    }
    capabilities
}

/// The instructions of the hub and then those of its servers, each with its name. In search mode a client gets those of a server
/// with the description of a tool; a caller who sees some tools only gets none, because they may speak of others.
pub fn instructions(exchange: &Exchange) -> Option<String> {
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
    let own = caller.view.instructions.as_ref().or(gateway.options.instructions.as_ref());
    let mut all: Vec<String> = own.map(|text| text.to_string()).into_iter().collect();
    let is_whole =
        caller.view.shows_everything() && !search_mode::is_on(&caller.view, &gateway.hub.registry.load());
    let mut left = LONGEST_INSTRUCTIONS;
    let servers = gateway.upstreams.servers().filter(|_| is_whole);
    for id in servers.map(|servers| servers.ids()).unwrap_or_default() {
        let Some(text) = gateway.upstreams.instructions(&id) else { continue };
        let said = format!("Server '{}' says:\n{text}", clip(&id));
        let Some(rest) = left.checked_sub(said.len()) else { break };
        left = rest;
        all.push(said);
    }
    Some(all.join("\n\n")).filter(|text| !text.is_empty())
}

/// Sets the least level of the messages that the client gets from now on.
pub async fn set_level(exchange: &Exchange, params: &RpcParams) -> Result<String, RpcError> {
    let Some(level) = params.text("level").ok().and_then(LogLevel::parse) else {
        return Err(RpcError::invalid_params("Invalid params: 'level' must be a syslog level"));
    };
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
    if let Some(session) = &caller.session {
        gateway.sessions.levels.lock().insert(&caller.principal.id, session.clone(), level);
        // Before the answer: the next call of the client is logged as it wants.
        gateway.upstreams.want_log_level(gateway.sessions.lowest_level()).await;
    }
    Ok("{}".to_owned())
}

/// Where the log messages of a request go. A modern client gets none unless the request asks for them.
pub fn call_log(exchange: &Exchange, meta: Option<&Map<String, Value>>) -> Option<CallLog> {
    let (caller, outlet) = (&exchange.caller, exchange.outlet.clone());
    let levels = &exchange.gateway.sessions.levels;
    let set = |session: &Arc<str>| levels.lock().get(&caller.principal.id, &**session).copied();
    let least = match caller.era {
        Era::Legacy => caller.session.as_ref().and_then(set).unwrap_or(LogLevel::INFO),
        Era::Modern => LogLevel::parse(meta?.get(LOG_LEVEL_KEY)?.as_str()?)?,
    };
    let write = move |message: &Value| {
        let level = message.get("level").and_then(Value::as_str).and_then(LogLevel::parse);
        if level.is_some_and(|level| level >= least) {
            outlet.notify("notifications/message", message);
        }
    };
    Some(CallLog { level: least.name(), write: Arc::new(write) })
}
