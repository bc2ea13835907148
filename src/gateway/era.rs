//! The two eras of the protocol: how a client is recognised, and the form of results. In the older one a client sends `initialize`,
//! and has a session; in that of 2026-07-28 every request carries the version and the capabilities of its client.

use crate::Gateway;
use crate::rpc::{RpcError, RpcParams, must_be};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use toolhub_protocol::{
    CAPABILITIES_KEY, Era, LEGACY, MODERN, SERVER_KEY, TASKS_EXTENSION, UNSUPPORTED_VERSION, VERSION_KEY,
};

/// What a client says of itself, and the version that counts.
#[derive(Clone, Debug)]
pub struct ClientInfo {
    pub version: &'static str,
    pub capabilities: Arc<Value>,
}

impl ClientInfo {
    /// Of a client that has said nothing.
    pub fn unknown(version: &'static str) -> Self {
        ClientInfo { version, capabilities: Arc::new(json!({})) }
    }
}

/// Whether clients may keep a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    Plain,
    /// A list, or what a server says of itself.
    Cacheable,
}

/// The JSON text of an own result in the form of the modern era. `fields` is a JSON object without `_meta` and `resultType`.
pub fn modern_result(gateway: &Gateway, fields: &str, kind: ResultKind) -> String {
    let mut text = String::with_capacity(fields.len() + 200);
    text.push_str("{\"resultType\":\"complete\",");
    if kind == ResultKind::Cacheable {
        // What a caller sees depends on who they are, and may change at any time.
        text.push_str("\"ttlMs\":0,\"cacheScope\":\"private\",");
    }
    text.push_str(&format!("\"_meta\":{{\"{SERVER_KEY}\":{}}}", gateway.server_info()));
    match fields.trim_start_matches('{') {
        "}" => {}
        _ => text.push(','),
    }
    text.push_str(fields.strip_prefix('{').unwrap_or(fields));
    text
}

#[derive(Deserialize)]
struct WithResultType {
    #[serde(rename = "resultType")]
    result_type: Option<IgnoredAny>,
}

/// The result of a foreign tool in the form of an era: as it came, with the one member that the modern era requires.
pub fn foreign_result(era: Era, raw: &RawValue) -> String {
    const COMPLETE: &str = "\"resultType\":\"complete\"";
    let text = raw.get();
    let is_typed = || {
        memchr::memmem::find(text.as_bytes(), b"resultType").is_some()
            && serde_json::from_str::<WithResultType>(text).is_ok_and(|result| result.result_type.is_some())
    };
    let Some(members) = text.strip_prefix('{').filter(|_| era == Era::Modern && !is_typed()) else {
        return text.to_owned();
    };
    match members.trim_start().starts_with('}') {
        true => format!("{{{COMPLETE}}}"),
        false => format!("{{{COMPLETE},{members}"),
    }
}

/// The result of a server in the form of an era: as it came, with the members that the modern era requires. What a server
/// calls public may differ between the callers of the gateway.
pub fn foreign_object(era: Era, mut result: Map<String, Value>, kind: ResultKind) -> String {
    if era == Era::Modern {
        result.entry("resultType").or_insert_with(|| Value::from("complete"));
        if kind == ResultKind::Cacheable {
            result.entry("ttlMs").or_insert_with(|| Value::from(0));
            result.insert("cacheScope".to_owned(), Value::from("private"));
        }
    }
    Value::Object(result).to_string()
}

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
    Ok(ClientInfo { version: MODERN, capabilities: capabilities.into() })
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
    modern_result(gateway, &result.to_string(), ResultKind::Cacheable)
}

/// The version of clients that send no header.
pub const WITHOUT_HEADER: &str = "2025-03-26";

/// Reads `initialize`. A version that we do not speak is answered with the newest one that we do.
pub fn initialize(params: &RpcParams) -> Result<ClientInfo, RpcError> {
    let version = legacy_version(params.text("protocolVersion")?).unwrap_or(LEGACY[0]);
    let object = |member: &str| match params.get(member) {
        None => Ok(json!({})),
        Some(value @ Value::Object(_)) => Ok(value.clone()),
        Some(_) => Err(must_be(member, "an object")),
    };
    let capabilities = object("capabilities")?.into();
    object("clientInfo")?;
    Ok(ClientInfo { version, capabilities })
}

/// The legacy version of this name.
pub fn legacy_version(name: &str) -> Option<&'static str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_results_keep_all_they_have() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let odd =
            r#"{ "content":[{"type":"hologram","x":1.000000000000000000001}],"resultTypes":1, "own":null}"#;
        assert_eq!(foreign_result(Era::Legacy, &raw(odd)), odd);
        assert_eq!(
            foreign_result(Era::Modern, &raw(odd)),
            odd.replacen('{', r#"{"resultType":"complete","#, 1)
        );
        assert_eq!(foreign_result(Era::Modern, &raw("{}")), r#"{"resultType":"complete"}"#);
        assert_eq!(foreign_result(Era::Modern, &raw("{ }")), r#"{"resultType":"complete"}"#);
        let typed = r#"{"content":[],"resultType":"complete"}"#;
        assert_eq!(foreign_result(Era::Modern, &raw(typed)), typed);
    }
}
