//! What we write: requests and notifications, built as text once.

use super::transport::Era;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The version we prefer, and those of the older kind that we speak.
pub const MODERN: &str = "2026-07-28";
pub const LEGACY: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The members of `params`, already as JSON text.
#[derive(Default)]
pub struct Params(String);

impl Params {
    pub fn new() -> Self {
        Params::default()
    }

    pub fn with(mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Self {
        // A map with text keys and JSON values always serialises; nothing else is given to this.
        let text = serde_json::to_string(value).unwrap_or_else(|_| "null".into());
        self.push(key, &text);
        self
    }

    fn push(&mut self, key: &str, text: &str) {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(key);
        self.0.push_str("\":");
        self.0.push_str(text);
    }
}

/// Who we are, in every request of the modern era and in the handshake of the older one.
#[derive(Clone)]
pub struct Identity {
    pub capabilities: Value,
    /// The modern members of `_meta`, as JSON text without braces.
    modern: String,
}

impl Identity {
    pub fn new(capabilities: Value) -> Self {
        // The older protocols know no extensions.
        let mut extended = capabilities.clone();
        extended["extensions"] = json!({super::tasks::EXTENSION: {}});
        let modern = format!(
            "\"io.modelcontextprotocol/protocolVersion\":\"{MODERN}\",\"io.modelcontextprotocol/clientInfo\":{},\
             \"io.modelcontextprotocol/clientCapabilities\":{extended}",
            client_info()
        );
        Identity { capabilities, modern }
    }

    /// A whole request. `_meta` is left out when it would be empty.
    pub fn request(
        &self,
        era: Era,
        id: u64,
        method: &str,
        mut params: Params,
        meta: &Map<String, Value>,
    ) -> String {
        let mut inside = String::new();
        if era == Era::Modern {
            inside.push_str(&self.modern);
        }
        if !meta.is_empty() {
            let text = serde_json::to_string(meta).unwrap_or_default();
            if !inside.is_empty() {
                inside.push(',');
            }
            inside.push_str(text.trim_start_matches('{').trim_end_matches('}'));
        }
        if !inside.is_empty() {
            params.push("_meta", &format!("{{{inside}}}"));
        }
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{}}}}}"#, params.0)
    }
}

pub fn client_info() -> Value {
    json!({"name": "toolhub", "version": env!("CARGO_PKG_VERSION")})
}

pub fn notification(method: &str, params: Option<Value>) -> String {
    match params {
        Some(params) => json!({"jsonrpc": "2.0", "method": method, "params": params}),
        None => json!({"jsonrpc": "2.0", "method": method}),
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).unwrap_or_default()
    }

    #[test]
    fn a_modern_request_says_who_asks_and_in_which_version() {
        let identity = Identity::new(json!({"elicitation": {}}));
        let mut meta = Map::new();
        meta.insert("progressToken".into(), json!(7));
        let params = Params::new().with("name", &"add").with("arguments", &json!({"a": 1}));
        let request = parsed(&identity.request(Era::Modern, 7, "tools/call", params, &meta));
        assert_eq!(request["params"]["arguments"], json!({"a": 1}));
        let meta = &request["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], json!(MODERN));
        let capabilities = json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], capabilities);
        assert_eq!(identity.capabilities, json!({"elicitation": {}}), "an older server hears of none");
        assert_eq!(meta["progressToken"], json!(7));
    }

    #[test]
    fn an_older_request_has_no_meta_unless_something_is_in_it() {
        let request =
            Identity::new(json!({})).request(Era::Legacy, 1, "tools/list", Params::new(), &Map::new());
        assert_eq!(
            parsed(&request),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
        );
    }
}
