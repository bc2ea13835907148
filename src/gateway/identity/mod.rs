//! Who calls the gateway, and what they see.

mod authenticator;
mod jwks;
mod jwt;

pub(crate) use authenticator::invalid;
pub use authenticator::{
    AuthenticationOptions, AuthenticationRefusal, Authenticator, PrincipalFunction, StaticToken,
};
pub use jwks::JwtAlgorithm;
pub use jwt::JwtOptions;

use crate::http::InspectorAccess;
use crate::methods::search_mode::ViewIndexes;
use crate::rpc::{METHOD_NOT_FOUND, RpcError};
use crate::{Gateway, GatewayOptions};
use arc_swap::ArcSwap;
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use toolhub_engine::served::{Audience, View, Views};
use toolhub_protocol::{
    APPS_EXTENSION, Era, LEGACY, MISSING_CAPABILITY, TASKS_EXTENSION, can_answer, needed_capability,
};
use toolhub_text::message;
use toolhub_types::error::{Result, clip};
use toolhub_types::principal::Principal;
use toolhub_types::tool::{AskCaller, AskRound, RoundQuestion};

/// Who may call, and what they see.
pub struct Identity {
    /// The principal of callers without credentials.
    pub anonymous: Arc<Principal>,
    /// Replaced by [`Identity::reload`], as the views are.
    pub authenticator: ArcSwap<Authenticator>,
    pub views: ArcSwap<Views>,
    pub view_indexes: ViewIndexes,
    /// Tells long-lived streams that both may have changed.
    pub reloaded: watch::Sender<()>,
    pub inspector: InspectorAccess,
}

impl Identity {
    pub fn new(options: &GatewayOptions) -> Result<Self> {
        let (authenticator, views) = access(options)?;
        Ok(Identity {
            anonymous: Arc::new(Principal::anonymous()),
            authenticator: ArcSwap::new(authenticator),
            views: ArcSwap::from_pointee(views),
            view_indexes: ViewIndexes::default(),
            reloaded: watch::Sender::new(()),
            inspector: InspectorAccess::new()?,
        })
    }

    /// Applies the credentials and views of these options to all requests from now on. Long-lived streams end if they would not
    /// be let in any more. Changes nothing when they have a mistake.
    pub async fn reload(&self, options: &GatewayOptions) -> Result<()> {
        let (mut authenticator, views) = access(options)?;
        if self.authenticator.load().is_closed() && !authenticator.is_closed() {
            return invalid(
                "A running server cannot stop asking for credentials; restart it to serve without them.",
            );
        }
        Arc::make_mut(&mut authenticator).prepare_after(&self.authenticator.load_full()).await?;
        // A credential that was taken back must stop to count before views change.
        self.authenticator.store(authenticator);
        self.views.store(Arc::new(views));
        self.reloaded.send_replace(());
        Ok(())
    }
}

/// Who may call, and what they see. A token for a view that does not exist is a mistake: all its requests would get 404.
fn access(options: &GatewayOptions) -> Result<(Arc<Authenticator>, Views)> {
    let authenticator = match &options.authenticator {
        Some(authenticator) => authenticator.clone(),
        None => Arc::new(Authenticator::new(AuthenticationOptions::default())?),
    };
    let mut views = match &options.views {
        Some(views) => views.clone(),
        None => Views::new(View::everything(), [])?,
    };
    for (name, view) in authenticator.token_views() {
        if !views.reserve(view) {
            let known: Vec<String> = views.named.keys().map(|name| format!("'{name}'")).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return invalid(message!(
                "The token of '{}' is for the view '{}', which does not exist; known views: {}.",
                clip(name),
                clip(view),
                known
            ));
        }
    }
    Ok((authenticator, views))
}

/// A token whose time is over, but which cannot be checked now, is looked at again after this time.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// Timers need not reach further.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns when the caller of a long-lived stream would not be let in any more. Its credentials and its view are looked at when the
/// configuration was reloaded, and a signed token when its time is over. A stream that is idle wakes up for nothing else.
pub async fn revoked(gateway: &Gateway, principal: &Principal, view: &View) {
    let mut reloaded = gateway.identity.reloaded.subscribe();
    loop {
        let (authenticator, now) = (gateway.identity.authenticator.load_full(), SystemTime::now());
        let renewed = gateway.identity.views.load().renewed(view);
        let has_view = renewed.is_some_and(|view| !view.has_token || principal.view.is_some());
        // Boxed: a stream that waits would keep as much memory as a check needs.
        if !has_view || !Box::pin(authenticator.still_accepts(principal, now)).await {
            return;
        }
        let expires = authenticator.expires(principal);
        drop(authenticator);
        let left = expires.and_then(|at| at.duration_since(SystemTime::now()).ok()).unwrap_or_default();
        tokio::select! {
            changed = reloaded.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(left.clamp(SHORTEST_WAIT, LONGEST_WAIT)), if expires.is_some() => {}
        }
    }
}

// The caller of one request.

/// Who makes a request, what they see, and which protocol they speak.
#[derive(Clone, Debug)]
pub struct Caller {
    pub principal: Arc<Principal>,
    pub view: Arc<View>,
    pub era: Era,
    pub version: &'static str,
    /// What the client says it can do, an object.
    pub capabilities: Arc<Value>,
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
        Era::Modern => has_extension(caller, TASKS_EXTENSION),
    }
}

/// Who uses what the client lists and calls by its name.
pub fn audience(caller: &Caller) -> Audience {
    if has_extension(caller, APPS_EXTENSION) { Audience::Apps } else { Audience::Model }
}

fn has_extension(caller: &Caller, name: &str) -> bool {
    let extensions = caller.capabilities.get("extensions");
    extensions.and_then(|all| all.get(name)).is_some_and(Value::is_object)
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

    /// Asks only what the client can answer.
    pub fn guard(&self, caller: &Caller, key: Arc<str>, round: AskRound) -> AskCaller {
        let (missing, capabilities) = (self.clone(), caller.capabilities.clone());
        let can = capabilities.clone();
        let guarded: AskRound = Arc::new(move |questions: Vec<RoundQuestion>, server| {
            let cannot = |one: &&RoundQuestion| !can_answer(&can, &one.method, &one.params);
            match questions.iter().find(cannot) {
                None => round(questions, server),
                Some(refused) => {
                    let _ = missing.0.set(needed_capability(&refused.method, &refused.params));
                    let refused = (METHOD_NOT_FOUND, "the client does not support it".to_owned());
                    Box::pin(std::future::ready(vec![Err(refused); questions.len()]))
                }
            }
        });
        AskCaller::new(key, capabilities, guarded)
    }
}
