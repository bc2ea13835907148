//! Outgoing requests and notifications, serialised once.

use crate::mcp::protocol::{Era, MODERN, TASKS_EXTENSION};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The members of `params`, already as JSON text: written in place, one after another.
#[derive(Default)]
pub struct Params(Vec<u8>);

impl Params {
    pub fn new() -> Self {
        Params::default()
    }

    pub fn with(mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.key(key);
        self.value(value);
        self
    }

    fn key(&mut self, key: &str) {
        if !matches!(self.0.last(), None | Some(b'{')) {
            self.0.push(b',');
        }
        self.value(key);
        self.0.push(b':');
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) {
        let begin = self.0.len();
        // A map with text keys and JSON values always serialises; nothing else is given to this.
        if serde_json::to_writer(&mut self.0, value).is_err() {
            self.0.truncate(begin);
            self.0.extend_from_slice(b"null");
        }
    }
}

/// Our `clientInfo`, in every request of the modern era and in the handshake of the older one.
#[derive(Clone)]
pub struct ClientIdentity {
    pub capabilities: Value,
    /// The modern members of `_meta`, as JSON text without braces.
    modern: String,
}

impl ClientIdentity {
    pub fn new(capabilities: Value) -> Self {
        // Tasks of the older protocols are not an extension.
        let mut extended = capabilities.clone();
        extended["extensions"][TASKS_EXTENSION] = json!({});
        let modern = format!(
            "\"io.modelcontextprotocol/protocolVersion\":\"{MODERN}\",\"io.modelcontextprotocol/clientInfo\":{},\
             \"io.modelcontextprotocol/clientCapabilities\":{extended}",
            client_info()
        );
        ClientIdentity { capabilities, modern }
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
        let mut text = Vec::with_capacity(params.0.len() + self.modern.len() + method.len() + 96);
        text.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
        let mut text = Params(text).with("id", &id).with("method", method);
        text.key("params");
        text.0.push(b'{');
        text.0.append(&mut params.0);
        if era == Era::Modern || !meta.is_empty() {
            text.key("_meta");
            text.0.push(b'{');
            if era == Era::Modern {
                text.0.extend_from_slice(self.modern.as_bytes());
            }
            text = meta.iter().fold(text, |text, (key, value)| text.with(key, value));
            text.0.push(b'}');
        }
        text.0.extend_from_slice(b"}}");
        // Only texts and serde_json wrote into it, and both write UTF-8.
        String::from_utf8(text.0).unwrap_or_default()
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

/// The id of a ping that is sent because of the request `id`: that of no other request.
pub fn ping_id(id: u64) -> u64 {
    (1 << 52) + id
}

/// A ping that is sent because of the request `id`.
pub fn ping(id: u64) -> String {
    json!({"jsonrpc": "2.0", "id": ping_id(id), "method": "ping"}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).unwrap_or_default()
    }

    #[test]
    fn a_modern_request_says_who_asks_and_in_which_version() {
        let identity = ClientIdentity::new(json!({"elicitation": {}}));
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
    fn what_the_caller_adds_comes_through_as_it_is() {
        let given = json!({"a \"quoted\" key": {"deep": {"deeper": {}}}, "list": [{}]});
        let meta = given.as_object().cloned().unwrap_or_default();
        let identity = ClientIdentity::new(json!({}));
        let request = identity.request(Era::Legacy, 1, "tools/call", Params::new(), &meta);
        assert_eq!(parsed(&request)["params"]["_meta"], given);
        let request = identity.request(Era::Modern, 1, "tools/call", Params::new(), &meta);
        assert_eq!(parsed(&request)["params"]["_meta"]["list"], given["list"]);
    }

    #[test]
    fn an_older_request_has_no_meta_unless_something_is_in_it() {
        let request =
            ClientIdentity::new(json!({})).request(Era::Legacy, 1, "tools/list", Params::new(), &Map::new());
        assert_eq!(
            parsed(&request),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
        );
    }
}
