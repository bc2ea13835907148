//! `logging/setLevel`.

use crate::gateway::rpc::{RpcError, object};
use serde_json::Value;
use serde_json::value::RawValue;

const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Checks the level. The gateway has no log of its own for clients, and keeps nothing about them.
pub fn set_level(params: Option<&RawValue>) -> Result<String, RpcError> {
    let params = object(params)?;
    match params.get("level").and_then(Value::as_str) {
        Some(level) if LEVELS.contains(&level) => Ok("{}".to_owned()),
        _ => Err(RpcError::invalid_params("Invalid params: 'level' must be one of the levels of syslog")),
    }
}
