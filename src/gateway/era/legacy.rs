//! The older protocol: `initialize`, then a session.

use super::ClientInfo;
use crate::Gateway;
use crate::rpc::{RpcError, RpcParams, must_be};
use serde_json::{Value, json};
use toolhub_protocol::LEGACY;

/// The version of clients that send no header.
pub const WITHOUT_HEADER: &str = "2025-03-26";

/// Reads `initialize`. A version that we do not speak is answered with the newest one that we do.
pub fn initialize(params: &RpcParams) -> Result<ClientInfo, RpcError> {
    let version = known(params.text("protocolVersion")?).unwrap_or(LEGACY[0]);
    let object = |member: &str| match params.get(member) {
        None => Ok(json!({})),
        Some(value @ Value::Object(_)) => Ok(value.clone()),
        Some(_) => Err(must_be(member, "an object")),
    };
    Ok(ClientInfo { version, capabilities: object("capabilities")?, client: object("clientInfo")? })
}

/// The legacy version of this name.
pub fn known(name: &str) -> Option<&'static str> {
    LEGACY.iter().copied().find(|version| *version == name)
}

/// The result of `initialize`.
pub fn welcome(
    gateway: &Gateway,
    version: &str,
    mut capabilities: Value,
    instructions: Option<&str>,
) -> String {
    capabilities["logging"] = json!({});
    if version == LEGACY[0] {
        capabilities["tasks"] = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
    }
    let mut result = json!({
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": gateway.server_info(),
    });
    if let Some(instructions) = instructions {
        result["instructions"] = json!(instructions);
    }
    result.to_string()
}
