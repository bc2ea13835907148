//! The caller of one request.

use crate::rpc::{METHOD_NOT_FOUND, RpcError};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};
use toolhub_engine::served::{Audience, View};
use toolhub_protocol::{
    APPS_EXTENSION, Era, LEGACY, MISSING_CAPABILITY, TASKS_EXTENSION, can_answer, needed_capability,
};
use toolhub_types::principal::Principal;
use toolhub_types::tool::{AskCaller, AskRound, BoxFuture, QuestionAnswer, RoundQuestion, ServerRound};

/// Who makes a request, what they see, and which protocol they speak.
#[derive(Clone, Debug)]
pub struct Caller {
    pub principal: Arc<Principal>,
    pub view: Arc<View>,
    pub era: Era,
    pub version: &'static str,
    /// What the client says it can do, an object.
    pub capabilities: Arc<Value>,
    /// `name` and `version` of the client, as it gives them.
    pub client: Arc<Value>,
    /// The session of a legacy client on HTTP, as its header names it, or a name for the pipe of a client on stdio.
    pub session: Option<Arc<str>>,
    /// Everything for this client goes through one stream, as on stdio: a message that its reader refuses ends all of it.
    pub has_one_stream: bool,
}

impl Caller {
    /// The client whose answers to questions count: the principal, and its session if it has one.
    pub fn client_key(&self) -> Arc<str> {
        Arc::from(format!("{}\n{}", self.principal.id, self.session.as_deref().unwrap_or_default()))
    }
}

/// Whether calls of the client may be answered with a task. The modern client says so in each request; a legacy one asks for a
/// task in the call itself, which the latest legacy version allows.
pub fn takes_tasks(caller: &Caller) -> bool {
    match caller.era {
        Era::Legacy => caller.version == LEGACY[0],
        Era::Modern => {
            let extensions = caller.capabilities.get("extensions");
            extensions.and_then(|all| all.get(TASKS_EXTENSION)).is_some_and(Value::is_object)
        }
    }
}

/// Who uses what the client lists and calls by its name.
pub fn audience(caller: &Caller) -> Audience {
    let extensions = caller.capabilities.get("extensions");
    match extensions.and_then(|all| all.get(APPS_EXTENSION)).is_some_and(Value::is_object) {
        true => Audience::Apps,
        false => Audience::Model,
    }
}

/// The error of a request about tasks whose client does not take them.
pub fn needs_tasks() -> RpcError {
    missing_capability(json!({"extensions": {TASKS_EXTENSION: {}}}))
}

fn missing_capability(needed: Value) -> RpcError {
    let error = RpcError::new(MISSING_CAPABILITY, "Missing required client capability");
    error.with_data(json!({"requiredCapabilities": needed}))
}

/// Whether any question can be put to the client.
pub fn can_be_asked(caller: &Caller) -> bool {
    ["elicitation", "sampling", "roots"]
        .iter()
        .any(|name| caller.capabilities.get(name).is_some_and(Value::is_object))
}

/// The first capability that a question needed and the client has not.
#[derive(Clone, Default)]
pub struct MissingCapability(Arc<OnceLock<Value>>);

impl MissingCapability {
    /// The error of a call that failed for want of it. The tool had begun when it asked.
    pub fn error(&self) -> Option<RpcError> {
        self.0.get().cloned().map(|needed| missing_capability(needed).in_doubt())
    }

    fn note(&self, method: &str, params: &Value) -> (i64, String) {
        let _ = self.0.set(needed_capability(method, params));
        (METHOD_NOT_FOUND, "the client does not support it".to_owned())
    }

    /// Asks only what the client can answer.
    pub fn guard(&self, caller: &Caller, key: Arc<str>, round: AskRound) -> AskCaller {
        let (missing, capabilities) = (self.clone(), caller.capabilities.clone());
        let can = capabilities.clone();
        let guarded = move |questions: Vec<RoundQuestion>,
                            server: Option<ServerRound>|
              -> BoxFuture<'static, Vec<QuestionAnswer>> {
            let cannot = |one: &&RoundQuestion| !can_answer(&can, &one.method, &one.params);
            match questions.iter().find(cannot) {
                None => round(questions, server),
                Some(refused) => {
                    let refused = missing.note(&refused.method, &refused.params);
                    Box::pin(std::future::ready(vec![Err(refused); questions.len()]))
                }
            }
        };
        AskCaller::new(key, capabilities, Arc::new(guarded))
    }
}
