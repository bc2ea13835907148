//! The protocol of 2026-07-28: every request carries the version and the capabilities of its client.

use super::{ClientInfo, ResultKind, modern_result};
use crate::Gateway;
use crate::rpc::RpcError;
use serde_json::{Map, Value, json};
use toolhub_protocol::{
    CAPABILITIES_KEY, CLIENT_KEY, MODERN, TASKS_EXTENSION, UNSUPPORTED_VERSION, VERSION_KEY,
};

/// Whether a request is one of the modern era: it names its version, or asks the first question of that era.
pub fn is_modern(method: &str, meta: Option<&Map<String, Value>>) -> bool {
    method == "server/discover" || meta.is_some_and(|meta| meta.contains_key(VERSION_KEY))
}

/// Refuses a request that does not say which version it speaks and what its client can do.
pub fn has_envelope(meta: Option<&Map<String, Value>>) -> Result<&Map<String, Value>, RpcError> {
    let Some(meta) = meta else {
        return Err(RpcError::invalid_params(format!(
            "Invalid params: '_meta' must be an object with '{VERSION_KEY}' and '{CAPABILITIES_KEY}'"
        )));
    };
    for key in [VERSION_KEY, CAPABILITIES_KEY] {
        if !meta.contains_key(key) {
            return Err(RpcError::invalid_params(format!("Invalid params: '_meta' has no '{key}'")));
        }
    }
    Ok(meta)
}

/// Reads what the request says of its client.
pub fn envelope(meta: Option<&Map<String, Value>>) -> Result<ClientInfo, RpcError> {
    let meta = has_envelope(meta)?;
    let Some(version) = meta[VERSION_KEY].as_str() else {
        return Err(RpcError::invalid_params(format!("Invalid params: '{VERSION_KEY}' must be a string")));
    };
    if version != MODERN {
        return Err(unsupported(version));
    }
    let capabilities = meta[CAPABILITIES_KEY].clone();
    if !capabilities.is_object() {
        return Err(RpcError::invalid_params(format!(
            "Invalid params: '{CAPABILITIES_KEY}' must be an object"
        )));
    }
    let client = meta.get(CLIENT_KEY).filter(|client| client.is_object()).cloned();
    let client = client.unwrap_or_else(|| json!({}));
    Ok(ClientInfo { version: MODERN, capabilities, client })
}

pub fn unsupported(version: &str) -> RpcError {
    RpcError::new(UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(json!({"supported": [MODERN], "requested": version}))
}

/// The result of `server/discover`.
pub fn discovered(gateway: &Gateway, mut capabilities: Value, instructions: Option<&str>) -> String {
    capabilities["extensions"][TASKS_EXTENSION] = json!({});
    let mut result = json!({
        "supportedVersions": [MODERN],
        "capabilities": capabilities,
    });
    if let Some(instructions) = instructions {
        result["instructions"] = json!(instructions);
    }
    modern_result(gateway, &result.to_string(), ResultKind::Cacheable, &[])
}
