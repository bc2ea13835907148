//! Requests of servers (roots, sampling, elicitation), and how the hub answers them.

use super::config::ServerConfig;
use super::connection::ServerIdentity;
use super::inbox::Asked;
use super::protocol::TASKS_EXTENSION;
use super::questions::{credential_field, fitting_form, form_of, visible_question, with_origin};
use super::resources::{KnownResources, SubscribedResources};
use super::secrets::ServerSecrets;
use super::wire::{clean, parsed};
use arc_swap::ArcSwapOption;
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::{Notify, Semaphore};
use toolhub_engine::offers::OfferSignals;
use toolhub_protocol::{INTERNAL_ERROR, METHOD_NOT_FOUND};
use toolhub_store::cassette;
use toolhub_types::error::clip;
use toolhub_types::model::{ChangedOffer, OfferKind, Trust};
use toolhub_types::notices::LogSink;
use toolhub_types::telemetry::Telemetry;
use toolhub_types::tool::{AskCaller, BoxFuture, CallLog, QuestionAnswer, RoundQuestion, ServerRound};

/// Asked with the server's id and the parameters of its request.
pub type Ask = Arc<dyn Fn(Arc<str>, Value) -> BoxFuture<'static, QuestionAnswer> + Send + Sync>;

/// Called with an event of a connection: server, what, details.
pub type Tell = Arc<dyn Fn(&str, &str, Value) + Send + Sync>;

/// The requests of servers that the owner of the hub allows. All others are refused with the proper error.
#[derive(Clone, Default)]
pub struct Host {
    pub elicit: Option<Ask>,
    pub sample: Option<Ask>,
    pub log: Option<Arc<dyn LogSink>>,
    pub tell: Option<Tell>,
    /// Set when the hub is served: callers can be asked, so servers are told that they may ask.
    pub callers_answer: Arc<AtomicBool>,
    /// The one client that the hub is served to, if it has roots: then the connections are its own, and so are their roots.
    pub only_client: Arc<ArcSwapOption<AskCaller>>,
    /// Announces changes of resources and prompts.
    pub offers: OfferSignals,
    /// How much servers shall log.
    pub log_level: WantedLogLevel,
    /// What gets to know of requests and sessions.
    pub telemetry: Telemetry,
}

/// Handles what one server sends on its own: notifications, log lines, requests. It outlives connections.
pub struct ServerCallbacks {
    /// The id of the server.
    pub server: Arc<str>,
    /// What it is given to ask and to tell.
    pub host: Host,
    roots: Vec<String>,
    trust: Trust,
    /// Removes the server's own secrets from its texts.
    pub secrets: Arc<ServerSecrets>,
    /// Notified when the server announces that its tools have changed.
    pub tools_changed: Arc<Notify>,
    /// How many changes the server has announced.
    changes: AtomicU64,
    /// Its resources and prompts.
    pub resources: Mutex<KnownResources>,
    /// The resources whose changes the callers of the hub want to hear of.
    pub subscriptions: SubscribedResources,
    instructions: Mutex<Option<String>>,
    questions: Semaphore,
    /// Whether the server of the present session has acknowledged a subscription to changes of its tools.
    acknowledged: AtomicBool,
    /// The capabilities of the server in its latest session.
    declared: Mutex<Option<Value>>,
    /// The extensions that it has declared in its latest session.
    pub extensions: Mutex<Map<String, Value>>,
    /// Whether it has asked a caller on no call's stream.
    asks_without_call: AtomicBool,
}

/// The capabilities of a client that answers questions.
pub const QUESTIONS: [&str; 3] = ["elicitation", "sampling", "roots"];
/// What they ask.
const ELICIT: &str = "elicitation/create";
const QUESTION_METHODS: [&str; 3] = [ELICIT, "sampling/createMessage", "roots/list"];
/// The next call of each client has a process of its own.
const UNCLEAR: &str = "nobody was asked: several clients have calls at this server, and the question may be about any of them; call again";
/// How many questions of a server may wait for a person at once. More are declined.
pub const MOST_QUESTIONS: usize = 20;
const LONGEST_LINE: usize = 2000;

impl ServerCallbacks {
    pub fn new(config: &ServerConfig, host: Host) -> Arc<Self> {
        Arc::new(ServerCallbacks {
            server: config.id.clone(),
            resources: Mutex::default(),
            host,
            roots: config.options.roots.clone(),
            trust: config.options.trust,
            secrets: ServerSecrets::of(config),
            tools_changed: Arc::default(),
            changes: AtomicU64::new(0),
            instructions: Mutex::default(),
            questions: Semaphore::new(MOST_QUESTIONS),
            acknowledged: AtomicBool::new(false),
            subscriptions: SubscribedResources::default(),
            declared: Mutex::default(),
            extensions: Mutex::default(),
            asks_without_call: AtomicBool::new(false),
        })
    }

    /// Records that the tools of the server have changed, so that they are listed again.
    pub fn announce_change(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.tools_changed.notify_one();
    }

    /// The server has other resources or prompts than were listed.
    fn announce_offers(&self, kind: OfferKind) {
        self.resources.lock().forget(kind);
        self.host.offers.send(&self.server, ChangedOffer::List(kind));
    }

    /// A session with this server has begun. What it says about itself is kept.
    pub fn session_began(&self, server: &ServerIdentity) {
        let ServerIdentity { capabilities, instructions, .. } = server;
        self.set_instructions(instructions.clone());
        self.acknowledged.store(false, Ordering::Relaxed);
        let extensions = capabilities.get("extensions").and_then(Value::as_object);
        *self.extensions.lock() = extensions.cloned().unwrap_or_default();
        let before = self.declared.lock().replace(capabilities.clone());
        for kind in [OfferKind::Resources, OfferKind::Prompts] {
            let has = |declared: &Value| declares(declared, kind.capability());
            match before.as_ref().is_some_and(has) == has(capabilities) {
                // The server may have changed since the last session.
                true => self.resources.lock().forget(kind),
                false => self.announce_offers(kind),
            }
        }
    }

    /// Whether the server has this capability, such as `prompts` or `resources.subscribe`. `None` before its first session.
    pub fn declares(&self, capability: &str) -> Option<bool> {
        self.declared.lock().as_ref().map(|declared| declares(declared, capability))
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
        let text = self.secrets.hide(clean(&hidden, LONGEST_LINE));
        if let Some(log) = self.host.log.as_ref().filter(|_| !text.is_empty()) {
            log.write(&self.server, level, &text);
        }
        text
    }

    /// Reports an event of the connection to the hub's listeners. While the hub is served, a failure is also a line in the
    /// operator's log: callers may not read why, and the operator reads no answers.
    pub fn tell(&self, what: &str, details: Value) {
        let error = details.get("error").and_then(Value::as_str);
        if let Some(error) = error.filter(|_| self.callers_answer()) {
            self.log("warning", error);
        }
        if let Some(tell) = &self.host.tell {
            tell(&self.server, what, self.secrets.hide_json(details));
        }
    }

    /// Whether the server asks callers and does not say to which call a question belongs.
    pub fn asks_without_call(&self) -> bool {
        self.asks_without_call.load(Ordering::Relaxed)
    }

    /// Whether callers of the hub answer questions of servers.
    pub fn callers_answer(&self) -> bool {
        self.host.callers_answer.load(Ordering::Relaxed)
    }

    /// The client whose roots the server gets.
    pub fn roots_of(&self) -> Option<Arc<AskCaller>> {
        self.host.only_client.load_full().filter(|_| self.roots.is_empty())
    }

    /// The capabilities that we announce to a server, for a caller with these capabilities.
    pub fn capabilities(&self, caller: &Value) -> Value {
        let mut capabilities = json!({});
        for name in QUESTIONS {
            if let Some(declared) = caller.get(name).filter(|declared| declared.is_object()) {
                capabilities[name] = declared.clone();
            }
        }
        // Tasks are between the hub and each of its neighbours.
        let extensions = caller.get("extensions").and_then(Value::as_object).into_iter().flatten();
        for (name, settings) in extensions.filter(|(name, _)| *name != TASKS_EXTENSION) {
            capabilities["extensions"][name] = settings.clone();
        }
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
        *self.instructions.lock() = text.map(|text| self.secrets.hide(text));
    }

    pub fn instructions(&self) -> Option<String> {
        self.instructions.lock().clone()
    }

    /// Answers one request of the server, in whichever way it came. A question goes to `asked` and to no other.
    pub async fn answer(&self, method: &str, params: Value, asked: Asked) -> QuestionAnswer {
        let is_question = QUESTION_METHODS.contains(&method);
        let recorded = (is_question && cassette::is_recording()).then(|| params.clone());
        let answer = match (method, asked, &self.host) {
            ("ping", ..) => Ok(json!({})),
            ("roots/list", ..) if !self.roots.is_empty() => {
                let roots: Vec<Value> = self.roots.iter().map(|uri| json!({"uri": uri})).collect();
                Ok(json!({"roots": roots}))
            }
            ("sampling/createMessage", _, Host { sample: Some(sample), .. }) => {
                sample(self.server.clone(), self.secrets.hide_json(params)).await
            }
            (ELICIT, Asked::Owner, Host { elicit: Some(elicit), .. }) => self.elicited(elicit, params).await,
            ("roots/list", Asked::Owner | Asked::Unclear, _) => match self.roots_of() {
                Some(client) => self.asked_alone(&client, method, params).await,
                None => refusal(method),
            },
            // Nobody was asked, so nobody has declined.
            (ELICIT, Asked::Unclear, _) => Err((INTERNAL_ERROR, UNCLEAR.to_owned())),
            (_, Asked::Caller(caller), _) if is_question => self.asked_alone(&caller, method, params).await,
            _ => refusal(method),
        };
        if let Some(params) = recorded {
            let answer = match &answer {
                Ok(answer) => answer.clone(),
                Err((code, message)) => json!({"error": {"code": code, "message": message}}),
            };
            cassette::record_question(&self.server, method, &params, &answer);
        }
        answer
    }

    async fn asked_alone(&self, caller: &AskCaller, method: &str, params: Value) -> QuestionAnswer {
        let (key, method) = (self.server.to_string(), method.to_owned());
        let answers = self.ask_caller(caller, vec![RoundQuestion { key, method, params }], None).await;
        answers.into_iter().next().unwrap_or_else(|| refusal("an unanswered question"))
    }

    /// Whether a question of this method is for the caller, if there is one.
    pub fn is_for_caller(&self, method: &str) -> bool {
        match method {
            ELICIT => true,
            "sampling/createMessage" => self.host.sample.is_none(),
            "roots/list" => self.roots.is_empty(),
            _ => false,
        }
    }

    /// Puts questions to the caller of a call, all at once.
    pub async fn ask_caller(
        &self,
        caller: &AskCaller,
        questions: Vec<RoundQuestion>,
        server: Option<ServerRound>,
    ) -> Vec<QuestionAnswer> {
        let permits = self.questions.try_acquire_many(u32::try_from(questions.len()).unwrap_or(u32::MAX));
        let Ok(_asking) = permits else {
            return questions.iter().map(|question| declined(&question.method)).collect();
        };
        let (mut shown, mut asked) = (Vec::new(), Vec::new());
        for question in questions {
            let (form, params) = (form_of(&question), visible_question(question.params));
            let may_ask = self.may_ask(&question.method, &params);
            if may_ask {
                let params = with_origin(&self.server, self.secrets.hide_json(params));
                shown.push(RoundQuestion { params, ..question });
            }
            asked.push((may_ask, form));
        }
        let answers = if shown.is_empty() { Vec::new() } else { caller.ask_round(shown, server).await };
        let mut answers = answers.into_iter();
        let all = asked.into_iter().map(|(may_ask, form)| {
            // Only a form is withheld.
            let answer = if may_ask { answers.next() } else { Some(declined(ELICIT)) };
            let answer = answer.unwrap_or_else(|| refusal("an unanswered question"));
            async move { if form.is_some() { checked(answer?, form).await } else { answer } }
        });
        join_all(all).await
    }

    /// Whether a question may be put to a person.
    fn may_ask(&self, method: &str, params: &Value) -> bool {
        let is_form = method == ELICIT && self.trust != Trust::Full;
        let Some(field) = is_form.then(|| credential_field(params)).flatten() else { return true };
        let text = format!(
            "The form of this server was declined because '{}' looks like a credential; give the server trust \"full\" if it may ask for one.",
            clip(field)
        );
        self.log("warning", &text);
        false
    }

    /// The answer of the owner of the hub.
    async fn elicited(&self, ask: &Ask, params: Value) -> QuestionAnswer {
        let Ok(_asking) = self.questions.try_acquire() else { return declined(ELICIT) };
        let form = params.get("requestedSchema").cloned();
        let params = visible_question(params);
        if !self.may_ask(ELICIT, &params) {
            return declined(ELICIT);
        }
        let answer = ask(self.server.clone(), self.secrets.hide_json(params)).await?;
        checked(answer, form).await
    }
}

fn refusal(method: &str) -> QuestionAnswer {
    Err((METHOD_NOT_FOUND, format!("Method not found: {}", clean(method, 100))))
}

/// The answer when too many questions wait already.
fn declined(method: &str) -> QuestionAnswer {
    match method {
        ELICIT => Ok(json!({"action": "decline"})),
        _ => Err((INTERNAL_ERROR, "too many questions are open".to_owned())),
    }
}

fn declares(capabilities: &Value, path: &str) -> bool {
    let declared = path.split('.').try_fold(capabilities, |declared, part| declared.get(part));
    declared.is_some_and(|declared| !declared.is_null() && declared != &Value::Bool(false))
}

/// What a function of the user answers is sent only if it is an answer, and fits the form.
async fn checked(answer: Value, form: Option<Value>) -> QuestionAnswer {
    fitting_form(answer, form).await.map_err(|why| {
        (INTERNAL_ERROR, format!("the answer of the elicitation function cannot be sent: {why}"))
    })
}

// What one server sends, as its inbox passes it on.
impl ServerCallbacks {
    /// A request of the server came on no call's stream.
    pub fn asked_without_call(&self, method: &str) {
        let has_one = method == "roots/list" && self.roots_of().is_some();
        if self.callers_answer() && self.is_for_caller(method) && !has_one {
            self.asks_without_call.store(true, Ordering::Relaxed);
        }
    }

    pub fn notified(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/tools/list_changed" => self.announce_change(),
            "notifications/resources/list_changed" => self.announce_offers(OfferKind::Resources),
            "notifications/prompts/list_changed" => self.announce_offers(OfferKind::Prompts),
            "notifications/resources/updated" => {
                if let Some(uri) = parsed(params)["uri"].as_str() {
                    self.host.offers.send(&self.server, ChangedOffer::Content(Arc::from(uri)));
                }
            }
            // The first one belongs to the session, which lists its tools by itself.
            "notifications/subscriptions/acknowledged" if self.acknowledged.swap(true, Ordering::Relaxed) => {
                self.reconnected();
            }
            "notifications/message" => {
                let Some(log) = &self.host.log else { return };
                let params = parsed(params);
                let level = params["level"].as_str().unwrap_or("info");
                if !log.wants(level) {
                    return;
                }
                match &params["data"] {
                    Value::String(text) => self.log(level, text),
                    other => self.log(level, &self.secrets.hide_json(other.clone()).to_string()),
                };
            }
            _ => {}
        }
    }

    /// A log message of the call with this log.
    pub fn logged(&self, params: Option<&RawValue>, log: &CallLog) {
        let params = parsed(params);
        if params.is_object() {
            (log.write)(&self.secrets.hide_json(params));
        }
    }

    /// A stream of notifications was opened again: a change may have been announced while nothing listened.
    pub fn reconnected(&self) {
        for kind in [OfferKind::Resources, OfferKind::Prompts] {
            match self.declares(kind.capability()) {
                Some(true) => self.announce_offers(kind),
                _ => self.resources.lock().forget(kind),
            }
        }
        if self.declares("tools.listChanged") == Some(true) {
            self.announce_change();
        }
    }
}

/// What a server sends when no client wants more; the protocol has no way to take a level back.
const USUAL: &str = "info";

/// The level that clients want, for `logging/setLevel` of legacy servers: a connection gets the lowest level that any client of the
/// served hub wants, and each client then sees what it wants of it. Modern servers get the level in each request. All servers of a
/// hub share it.
#[derive(Clone, Default)]
pub struct WantedLogLevel(Arc<Mutex<Option<&'static str>>>);

impl WantedLogLevel {
    /// The lowest level that a client wants now; `None` if no client has named one. False if nothing has changed.
    pub fn set(&self, level: Option<&'static str>) -> bool {
        let mut to_send = self.0.lock();
        let level = level.or(to_send.map(|_| USUAL));
        std::mem::replace(&mut *to_send, level) != level
    }

    /// What servers shall be told; `None` if nothing.
    pub fn to_send(&self) -> Option<&'static str> {
        *self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::config::{Auth, Command, Endpoint, ServerOptions};

    impl ServerCallbacks {
        /// Of a server that nothing is known of.
        pub fn of_test() -> Arc<Self> {
            let (endpoint, options) = (Endpoint::Stdio(Command::default()), ServerOptions::default());
            let config =
                ServerConfig { id: "test".into(), endpoint, auth: Auth::None, options, disabled: false };
            ServerCallbacks::new(&config, Host::default())
        }
    }

    #[test]
    fn servers_hear_of_a_level_only_after_a_client_has_named_one() {
        let wanted = WantedLogLevel::default();
        assert!(!wanted.set(None));
        assert_eq!(wanted.to_send(), None);
        assert!(wanted.set(Some("debug")) && !wanted.set(Some("debug")));
        assert_eq!(wanted.to_send(), Some("debug"));
        assert!(wanted.set(None));
        assert_eq!(wanted.to_send(), Some(USUAL));
    }
}
