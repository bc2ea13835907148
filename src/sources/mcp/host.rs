//! Requests of servers (roots, sampling, elicitation), and how the hub answers them.

use super::config::ServerConfig;
use super::inbox::{Asked, Listener};
use super::offer_changes::OfferChanges;
use super::result_check;
use super::secrets::ServerSecrets;
use crate::schema::ResultSchema;
use crate::tool::{BoxFuture, QuestionAnswer};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::{Notify, Semaphore};

/// Asked with the server's id and the parameters of its request.
pub type Ask = Arc<dyn Fn(Arc<str>, Value) -> BoxFuture<'static, QuestionAnswer> + Send + Sync>;

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
    /// Set when the hub is served: callers can be asked, so servers are told that they may ask.
    pub callers_answer: Arc<AtomicBool>,
}

/// Handles what one server sends on its own: notifications, log lines, requests. It outlives connections.
pub struct ServerCallbacks {
    server: Arc<str>,
    host: Host,
    roots: Vec<String>,
    /// Removes the server's own secrets from its texts.
    pub secrets: Arc<ServerSecrets>,
    /// Notified when the server announces that its tools have changed.
    pub tools_changed: Arc<Notify>,
    /// How many changes the server has announced.
    changes: AtomicU64,
    /// Counts the changes of resources and prompts.
    pub offer_changes: OfferChanges,
    instructions: Mutex<Option<String>>,
    questions: Semaphore,
    /// Whether the server of the present session announces changes of its tools.
    announces_changes: AtomicBool,
    /// Whether it has acknowledged a subscription to them.
    acknowledged: AtomicBool,
}

const METHOD_NOT_FOUND: i64 = -32601;
const INTERNAL_ERROR: i64 = -32603;
/// How many questions of a server may wait for a person at once. More are declined.
pub const MOST_QUESTIONS: usize = 20;
const LONGEST_LINE: usize = 2000;

impl ServerCallbacks {
    pub fn new(config: &ServerConfig, host: Host) -> Arc<Self> {
        Arc::new(ServerCallbacks {
            server: config.id.clone(),
            host,
            roots: config.options.roots.clone(),
            secrets: ServerSecrets::of(config),
            tools_changed: Arc::default(),
            changes: AtomicU64::new(0),
            offer_changes: OfferChanges::default(),
            instructions: Mutex::default(),
            questions: Semaphore::new(MOST_QUESTIONS),
            announces_changes: AtomicBool::new(false),
            acknowledged: AtomicBool::new(false),
        })
    }

    /// What the server is given to ask and to tell.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Records that the tools of the server have changed, so that they are listed again.
    pub fn announce_change(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.tools_changed.notify_one();
    }

    /// A session has begun. `announces`: its server announces changes of its tools.
    pub fn session_began(&self, announces: bool) {
        self.announces_changes.store(announces, Ordering::Relaxed);
        self.acknowledged.store(false, Ordering::Relaxed);
        // The server may have changed since the last one.
        self.offer_changes.all();
    }

    /// How many changes were announced so far.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Logs a line of the server in a form that is safe to show, and returns that form.
    pub fn log(&self, level: &str, text: &str) -> String {
        // Before and after cleaning, as in `secret::Redactor::quote_within`; what is never shown is not searched.
        let text = text.trim();
        let hidden = self.secrets.hide(text[..text.floor_char_boundary(4 * LONGEST_LINE)].to_owned());
        let text = self.secrets.hide(super::wire::clean(&hidden, LONGEST_LINE));
        if let Some(log) = self.host.log.as_ref().filter(|_| !text.is_empty()) {
            log(&self.server, level, &text);
        }
        text
    }

    /// Reports an event of the connection to the hub's listeners.
    pub fn tell(&self, what: &str, details: Value) {
        if let Some(tell) = &self.host.tell {
            tell(&self.server, what, self.secrets.hide_json(details));
        }
    }

    /// Whether callers of the hub answer questions of servers.
    pub fn callers_answer(&self) -> bool {
        self.host.callers_answer.load(Ordering::Relaxed)
    }

    /// The capabilities that we announce to a server; `caller_answers`: the caller answers questions.
    pub fn capabilities(&self, caller_answers: bool) -> Value {
        let mut capabilities = json!({});
        if self.host.elicit.is_some() || caller_answers {
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
        *self.instructions.lock() = text.map(|text| self.secrets.hide(text));
    }

    pub fn instructions(&self) -> Option<String> {
        self.instructions.lock().clone()
    }

    /// Answers one request of the server, in whichever way it came. A question goes to `asked` and to no other.
    pub async fn answer(&self, method: &str, params: Value, asked: Asked) -> QuestionAnswer {
        let refusal =
            || Err((METHOD_NOT_FOUND, format!("Method not found: {}", super::wire::clean(method, 100))));
        match method {
            "ping" => Ok(json!({})),
            "roots/list" if !self.roots.is_empty() => {
                let roots: Vec<Value> = self.roots.iter().map(|uri| json!({"uri": uri})).collect();
                Ok(json!({"roots": roots}))
            }
            "elicitation/create" => {
                let declined = || Ok(json!({"action": "decline"}));
                if self.host.elicit.is_none() && matches!(asked, Asked::Owner) {
                    return refusal();
                }
                let Ok(_asking) = self.questions.try_acquire() else { return declined() };
                let asked_for = params.get("requestedSchema").cloned();
                let params = self.secrets.hide_json(params);
                let answer = match (asked, &self.host.elicit) {
                    (Asked::Caller(caller), _) => (caller.ask)(method, params).await?,
                    (Asked::Owner, Some(ask)) => ask(self.server.clone(), params).await?,
                    (Asked::Unclear, _) | (Asked::Owner, None) => return declined(),
                };
                checked(with_defaults(answer, asked_for.as_ref()), asked_for).await
            }
            "sampling/createMessage" => match &self.host.sample {
                Some(ask) => ask(self.server.clone(), self.secrets.hide_json(params)).await,
                None => refusal(),
            },
            _ => refusal(),
        }
    }
}

/// What a function of the user answers is sent only if it is an answer, and fits the form.
async fn checked(answer: Value, form: Option<Value>) -> QuestionAnswer {
    let refused = |why: String| {
        Err((INTERNAL_ERROR, format!("the answer of the elicitation function cannot be sent: {why}")))
    };
    match answer.get("action").and_then(Value::as_str) {
        // What a person typed before declining stays here.
        Some(action @ ("decline" | "cancel")) => Ok(json!({"action": action})),
        Some("accept") => {
            let content = answer.get("content").cloned();
            let Some(form) = form.filter(Value::is_object) else {
                return match content {
                    None => Ok(json!({"action": "accept"})),
                    Some(content) if content.is_object() => {
                        Ok(json!({"action": "accept", "content": content}))
                    }
                    Some(_) => refused("'content' must be a mapping".to_owned()),
                };
            };
            let content = content.unwrap_or_else(|| json!({}));
            if !content.is_object() {
                return refused("'content' must be a mapping".to_owned());
            }
            let form = Arc::new(ResultSchema::new(Arc::new(form)));
            let (content, violations) = result_check::violations(&form, content, None).await;
            violations.map_or_else(|| Ok(json!({"action": "accept", "content": content})), refused)
        }
        _ => refused("'action' must be 'accept', 'decline' or 'cancel'".to_owned()),
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
            "notifications/resources/list_changed" => self.offer_changes.resources(),
            "notifications/prompts/list_changed" => self.offer_changes.prompts(),
            // The first one belongs to the session, which lists its tools by itself.
            "notifications/subscriptions/acknowledged" if self.acknowledged.swap(true, Ordering::Relaxed) => {
                self.reconnected();
            }
            "notifications/message" => {
                if self.host.log.is_none() {
                    return;
                }
                let params: Value =
                    params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
                let text = match self.secrets.hide_json(params["data"].clone()) {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                self.log(params["level"].as_str().unwrap_or("info"), &text);
            }
            _ => {}
        }
    }

    /// A change may have been announced while nothing listened.
    fn reconnected(&self) {
        self.offer_changes.all();
        if self.announces_changes.load(Ordering::Relaxed) {
            self.announce_change();
        }
    }

    fn asked(
        self: Arc<Self>,
        method: String,
        params: Value,
        asked: Asked,
    ) -> BoxFuture<'static, QuestionAnswer> {
        Box::pin(async move { self.answer(&method, params, asked).await })
    }
}
