//! `logging/setLevel`, and which log messages of a call its client wants.

use crate::gateway::caller::Caller;
use crate::gateway::rpc::{RpcError, object};
use crate::model::protocol::Era;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// From the least important to the most.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// What a legacy client gets. Its `logging/setLevel` is not kept, because any replica may get its next request.
const LEGACY_LEVEL: &str = "info";

/// Where a modern client names the level that it wants, for each request.
const LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

/// Checks the level. The gateway has no log of its own for clients, and keeps nothing about them.
pub fn set_level(params: Option<&RawValue>) -> Result<String, RpcError> {
    let params = object(params)?;
    match params.get("level").and_then(Value::as_str) {
        Some(level) if LEVELS.contains(&level) => Ok("{}".to_owned()),
        _ => Err(RpcError::invalid_params("Invalid params: 'level' must be one of the levels of syslog")),
    }
}

/// The least important level that the client of a call wants; `None` if it wants no messages.
pub fn wanted_level(caller: &Caller, meta: Option<&Map<String, Value>>) -> Option<usize> {
    let wanted = match caller.era {
        Era::Legacy => LEGACY_LEVEL,
        Era::Modern => meta?.get(LEVEL_KEY)?.as_str()?,
    };
    rank(wanted)
}

/// Whether a message is of this level or a more important one.
pub fn is_at_least(message: &Value, least: usize) -> bool {
    let level = message.get("level").and_then(Value::as_str);
    level.and_then(rank).is_some_and(|level| level >= least)
}

fn rank(level: &str) -> Option<usize> {
    LEVELS.iter().position(|known| *known == level)
}
