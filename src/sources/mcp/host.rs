//! Requests of servers (roots, sampling, elicitation), and how the hub answers them.

use super::config::{Endpoint, ServerConfig};
use super::inbox::Listener;
use crate::secret::{Redactor, Secret};
use crate::tool::BoxFuture;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

/// An answer to a server: a result, or a JSON-RPC code and a sentence.
pub type CallbackAnswer = Result<Value, (i64, String)>;

/// Asked with the server's id and the parameters of its request.
pub type Ask = Arc<dyn Fn(Arc<str>, Value) -> BoxFuture<'static, CallbackAnswer> + Send + Sync>;

/// Called with a log message: server, level, text.
pub type Log = Arc<dyn Fn(&str, &str, &str) + Send + Sync>;

/// Called with an event of a connection: server, what, details.
pub type Tell = Arc<dyn Fn(&str, &str, Value) + Send + Sync>;

/// The requests of servers that the owner of the hub allows. All others are refused with the proper error.
#[derive(Clone, Default)]
pub struct Host {
    pub elicit: Option<Ask>,
    pub sample: Option<Ask>,
    pub log: Option<Log>,
    pub tell: Option<Tell>,
}

/// Handles what one server sends on its own: notifications, log lines, requests. It outlives connections.
pub struct ServerCallbacks {
    server: Arc<str>,
    host: Host,
    roots: Vec<String>,
    /// Removes the server's own secrets from its texts.
    redactor: Redactor,
    /// Notified when the server announces that its tools have changed.
    pub tools_changed: Arc<Notify>,
    /// How many changes the server has announced.
    changes: AtomicU64,
    instructions: Mutex<Option<String>>,
}

const METHOD_NOT_FOUND: i64 = -32601;
const LONGEST_LINE: usize = 2000;
const SHORTEST_SECRET: usize = 8;

impl ServerCallbacks {
    pub fn new(config: &ServerConfig, host: Host) -> Arc<Self> {
        Arc::new(ServerCallbacks {
            server: config.id.clone(),
            host,
            roots: config.options.roots.clone(),
            redactor: Redactor::new(entrusted(config)),
            tools_changed: Arc::default(),
            changes: AtomicU64::new(0),
            instructions: Mutex::default(),
        })
    }

    /// Records that the tools of the server have changed, so that they are listed again.
    pub fn announce_change(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.tools_changed.notify_one();
    }

    /// How many changes were announced so far.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Logs a line of the server in a form that is safe to show, and returns that form.
    pub fn log(&self, level: &str, text: &str) -> String {
        let text = self.redactor.hide(super::wire::clean(text.trim(), LONGEST_LINE));
        if let Some(log) = self.host.log.as_ref().filter(|_| !text.is_empty()) {
            log(&self.server, level, &text);
        }
        text
    }

    /// Reports an event of the connection to the hub's listeners.
    pub fn tell(&self, what: &str, details: Value) {
        if let Some(tell) = &self.host.tell {
            tell(&self.server, what, details);
        }
    }

    /// The capabilities that we announce to a server.
    pub fn capabilities(&self) -> Value {
        let mut capabilities = json!({});
        if self.host.elicit.is_some() {
            capabilities["elicitation"] = json!({"form": {}, "url": {}});
        }
        if self.host.sample.is_some() {
            capabilities["sampling"] = json!({});
        }
        if !self.roots.is_empty() {
            capabilities["roots"] = json!({});
        }
        capabilities
    }

    pub fn set_instructions(&self, text: Option<String>) {
        *self.instructions.lock() = text;
    }

    pub fn instructions(&self) -> Option<String> {
        self.instructions.lock().clone()
    }

    /// Answers one request of the server, in whichever way it came.
    pub async fn answer(&self, method: &str, params: Value) -> CallbackAnswer {
        let refusal =
            || Err((METHOD_NOT_FOUND, format!("Method not found: {}", super::wire::clean(method, 100))));
        match method {
            "ping" => Ok(json!({})),
            "roots/list" if !self.roots.is_empty() => {
                let roots: Vec<Value> = self.roots.iter().map(|uri| json!({"uri": uri})).collect();
                Ok(json!({"roots": roots}))
            }
            "elicitation/create" => match &self.host.elicit {
                Some(ask) => {
                    let asked_for = params.get("requestedSchema").cloned();
                    let answer = ask(self.server.clone(), params).await?;
                    Ok(with_defaults(answer, asked_for.as_ref()))
                }
                None => refusal(),
            },
            "sampling/createMessage" => match &self.host.sample {
                Some(ask) => ask(self.server.clone(), params).await,
                None => refusal(),
            },
            _ => refusal(),
        }
    }
}

/// The secrets of a server: values of its environment and its headers. Short values are ordinary words, not secrets.
fn entrusted(config: &ServerConfig) -> Vec<Secret> {
    let long = |value: &str| (value.len() >= SHORTEST_SECRET).then(|| Secret::new(value));
    match &config.endpoint {
        Endpoint::Stdio(command) => command.env.values().filter_map(|value| long(value)).collect(),
        Endpoint::Http(remote) => remote
            .headers
            .iter()
            .flat_map(|(_, value)| value.expose().split_whitespace().chain([value.expose()]))
            .filter_map(long)
            .collect(),
    }
}

/// Fields that the user accepted without filling them in get the defaults of the form.
fn with_defaults(mut answer: Value, schema: Option<&Value>) -> Value {
    let fields = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    if let (Some("accept"), Some(fields)) = (answer.get("action").and_then(Value::as_str), fields)
        && answer.get("content").is_none_or(Value::is_object)
    {
        for (name, field) in fields {
            if let Some(default) = field.get("default")
                && answer["content"].get(name).is_none()
            {
                answer["content"][name] = default.clone();
            }
        }
    }
    answer
}

impl Listener for ServerCallbacks {
    fn notified(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/tools/list_changed" => self.announce_change(),
            "notifications/message" => {
                if self.host.log.is_none() {
                    return;
                }
                let params: Value =
                    params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
                let text = match &params["data"] {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                self.log(params["level"].as_str().unwrap_or("info"), &text);
            }
            _ => {}
        }
    }

    fn asked(self: Arc<Self>, method: String, params: Value) -> BoxFuture<'static, CallbackAnswer> {
        Box::pin(async move { self.answer(&method, params).await })
    }
}
