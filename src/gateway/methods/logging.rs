//! `logging/setLevel`, and the log messages of calls.

use crate::Exchange;
use crate::rpc::{RpcError, RpcParams};
use serde_json::{Map, Value};
use std::sync::Arc;
use toolhub_protocol::{Era, LOG_LEVEL_KEY, LogLevel};
use toolhub_types::tool::CallLog;

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
