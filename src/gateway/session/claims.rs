//! What a session id carries.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolhub_types::sync::Arc;

/// What is kept of the client's capabilities.
const LONGEST_CAPABILITIES: usize = 1024;
/// The capabilities of clients that change what the gateway does.
const KEPT_CAPABILITIES: [&str; 5] = ["elicitation", "sampling", "roots", "tasks", "extensions"];

/// What a session id carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionClaims {
    /// The negotiated protocol version.
    #[serde(rename = "v")]
    pub version: String,
    /// Those capabilities of the client that matter here.
    #[serde(rename = "c", default = "nothing", skip_serializing_if = "is_nothing")]
    pub capabilities: Arc<Value>,
    /// The id of the principal; empty for the anonymous one.
    #[serde(rename = "p", default, skip_serializing_if = "String::is_empty")]
    pub principal: String,
    /// The name of the view; empty for the one that shows everything.
    #[serde(rename = "w", default, skip_serializing_if = "String::is_empty")]
    pub view: String,
    /// In seconds since 1970.
    #[serde(rename = "b")]
    pub issued: u64,
    #[serde(rename = "e")]
    pub expires: u64,
    /// Makes each id unique.
    #[serde(rename = "n", default)]
    pub(super) nonce: String,
}

impl SessionClaims {
    /// The claims of a new session. Long or unknown parts of what the client says of itself are left out, because they
    /// travel in a header of every request.
    pub fn new(version: &str, capabilities: &Value, principal: &str, view: &str) -> Self {
        SessionClaims {
            version: version.to_owned(),
            capabilities: Arc::new(Value::Object(kept_capabilities(capabilities))),
            principal: principal.to_owned(),
            view: view.to_owned(),
            issued: 0,
            expires: 0,
            nonce: String::new(),
        }
    }
}

fn nothing() -> Arc<Value> {
    Arc::new(Value::Object(Map::new()))
}

fn is_nothing(value: &Value) -> bool {
    value.as_object().is_none_or(Map::is_empty)
}

fn kept_capabilities(given: &Value) -> Map<String, Value> {
    let known = |(name, value): (&String, &Value)| {
        let is_kept = KEPT_CAPABILITIES.contains(&name.as_str()) && !value.is_null();
        is_kept.then(|| (name.clone(), value.clone()))
    };
    let kept: Map<String, Value> = given.as_object().into_iter().flatten().filter_map(known).collect();
    let size = |map: &Map<String, Value>| serde_json::to_string(map).map_or(usize::MAX, |text| text.len());
    if size(&kept) <= LONGEST_CAPABILITIES {
        return kept;
    }
    kept.into_iter().map(|(name, _)| (name, Value::Object(Map::new()))).collect()
}

/// The first half of a signature.
pub(super) type SessionMark = [u8; 16];

/// What an id with a valid signature carries.
#[derive(Debug, PartialEq)]
pub struct OpenSession {
    pub id: Arc<str>,
    pub claims: SessionClaims,
    pub(super) mark: SessionMark,
    /// Until when its key is accepted, in seconds since 1970; `None` while the key is in use.
    pub(super) accepted_until: Option<u64>,
}
