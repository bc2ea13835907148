//! Where the pages of lists begin and end.

use crate::gateway::caller::Caller;
use crate::gateway::cursor::CursorPlace;
use crate::gateway::rpc::{INTERNAL_ERROR, RpcError};
use crate::gateway::state::Gateway;
use serde_json::{Map, Value};
use std::time::SystemTime;

/// The position that the cursor of a request names; `None` without one.
pub fn position(
    gateway: &Gateway,
    caller: &Caller,
    list: &'static str,
    params: &Map<String, Value>,
) -> Result<Option<u64>, RpcError> {
    let cursor = match params.get("cursor") {
        None | Some(Value::Null) => return Ok(None),
        Some(cursor) => cursor.as_str(),
    };
    let keys = gateway.sessions.keys();
    let opened = cursor.and_then(|cursor| keys.open_cursor(place(caller, list), cursor, SystemTime::now()));
    let refused = || RpcError::invalid_params("Invalid params: 'cursor' is not one of this server");
    opened.map(Some).ok_or_else(refused)
}

/// The cursor of the page after this position.
pub fn next_cursor(
    gateway: &Gateway,
    caller: &Caller,
    list: &'static str,
    position: u64,
) -> Result<String, RpcError> {
    let sealed = gateway.sessions.keys().seal_cursor(place(caller, list), position);
    sealed.ok_or_else(|| RpcError::new(INTERNAL_ERROR, "Internal error: the list could not be continued"))
}

fn place<'a>(caller: &'a Caller, list: &'static str) -> CursorPlace<'a> {
    CursorPlace { list, principal: &caller.principal.id, view: &caller.view.name }
}
