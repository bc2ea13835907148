//! L2, the resources and prompts of the hub itself: functions of the program, under a URI, a URI template or a name.
//!
//! ```text
//! add(definition)            checks the key, the template and the parameters; announces the change
//! find(kinds, key)           a resource of this URI, or else the most specific template; a prompt of this name
//! answer(query)              calls the function and gives its value the form of the protocol
//! ```
//!
//! Changes are announced by [`OfferSignals`], which the servers of the hub share.

use definition::{completing, is_same, noun, refused};
use parking_lot::RwLock;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use toolhub_text::message;
use toolhub_text::pattern::NATIVE;
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip, shown_seconds};
use toolhub_types::model::{Arguments, ChangedOffer, OfferChange, OfferKind};
use toolhub_types::tool::{CallContext, CallContextExtras, Tool};

mod answers;
mod definition;
mod template;

pub use definition::{NativeOffer, OfferQuery, PartialArgument, Suggestions, check_required};
pub use template::UriTemplate;

const MOST_OFFERS: usize = 10_000;

/// How long a function may take, and what it may do meanwhile.
pub struct OfferCallContext<'a> {
    pub limit: Duration,
    pub extras: &'a CallContextExtras,
}

/// The resources and prompts of one hub.
#[derive(Default)]
pub struct NativeOffers {
    /// In the order in which they were added.
    all: RwLock<Vec<Arc<NativeOffer>>>,
    signals: OfferSignals,
}

impl NativeOffers {
    pub fn signals(&self) -> &OfferSignals {
        &self.signals
    }

    /// Adds an offer. One of the same key is replaced if it is the same function, defined again, or if the caller wants it.
    pub fn add(&self, offer: NativeOffer, replace: bool) -> Result<(), HubError> {
        let (kind, offer) = (offer.kind, Arc::new(offer));
        let mut all = self.all.write();
        let replaced = match all.iter().position(|known| known.kind == kind && known.key == offer.key) {
            Some(at) if replace || is_same(&all[at], &offer) => Some(std::mem::replace(&mut all[at], offer)),
            Some(_) => {
                let text = message!(
                    "A {} '{}' already exists; remove it first, or pass replace=True.",
                    noun(kind),
                    clip(&offer.key)
                );
                return Err(refused(text));
            }
            None if all.len() >= MOST_OFFERS => {
                let text =
                    message!("A hub can have at most {} resources and prompts of its own.", MOST_OFFERS);
                return Err(HubError::new(ErrorKind::Limit, text).with_outcome(Outcome::NotSent));
            }
            None => {
                all.push(offer);
                None
            }
        };
        drop(all);
        // A function of the program may run code of its own when it is dropped.
        drop(replaced);
        self.announce(kind);
        Ok(())
    }

    /// Removes a resource or template by its URI, or a prompt by its name; false if there is none.
    pub fn remove(&self, kind: OfferKind, key: &str) -> bool {
        let mut all = self.all.write();
        let is_it = |one: &Arc<NativeOffer>| one.kind.capability() == kind.capability() && one.key == key;
        let removed = all.iter().position(is_it).map(|at| all.remove(at));
        drop(all);
        if let Some(removed) = &removed {
            self.announce(removed.kind);
        }
        removed.is_some()
    }

    pub fn clear(&self) {
        let removed = std::mem::take(&mut *self.all.write());
        drop(removed);
    }

    /// Announces that the content of a resource has changed.
    pub fn updated(&self, uri: &str) -> Result<(), HubError> {
        if self.find(&[OfferKind::Resources, OfferKind::ResourceTemplates], uri).is_none() {
            return Err(missing(OfferKind::Resources, uri));
        }
        self.signals.send(&Arc::from(NATIVE), ChangedOffer::Content(Arc::from(uri)));
        Ok(())
    }

    fn announce(&self, kind: OfferKind) {
        self.signals.send(&Arc::from(NATIVE), ChangedOffer::List(kind));
    }

    pub fn all(&self) -> Vec<Arc<NativeOffer>> {
        self.all.read().clone()
    }

    /// What a list of this kind shows.
    pub fn entries(&self, kind: OfferKind) -> Vec<Value> {
        self.all.read().iter().filter(|one| one.kind == kind).map(|one| one.entry.clone()).collect()
    }

    /// Whether there is anything of this capability of a server, such as `prompts` or `completions`.
    pub fn has(&self, capability: &str) -> bool {
        self.all.read().iter().any(|one| match capability {
            "completions" => !one.completions.is_empty(),
            // Every resource can be subscribed to.
            "resources" | "resources.subscribe" => one.kind != OfferKind::Prompts,
            "prompts" => one.kind == OfferKind::Prompts,
            _ => false,
        })
    }

    /// The offer of this key: the one with exactly this key, or else the template with the most literal text that fits.
    pub fn find(&self, kinds: &[OfferKind], key: &str) -> Option<Arc<NativeOffer>> {
        let all = self.all.read();
        let among = || all.iter().filter(|one| kinds.contains(&one.kind));
        if let Some(exact) = among().find(|one| one.key == key) {
            return Some(exact.clone());
        }
        let templates = among().filter_map(|one| Some((one.template.as_ref()?, one)));
        let fitting = templates.filter(|(template, _)| template.values(key).is_some());
        // The first one of several that are as specific.
        fitting.rev().max_by_key(|(template, _)| template.literals()).map(|(_, one)| one.clone())
    }

    /// The answer to a request, as the protocol has it.
    pub async fn answer(
        &self,
        query: &OfferQuery,
        ctx: &OfferCallContext<'_>,
    ) -> Result<Map<String, Value>, HubError> {
        let key = query.key();
        let kind = query.kinds().first().copied().unwrap_or(OfferKind::Prompts);
        let offer = self.find(query.kinds(), key).ok_or_else(|| missing(kind, key))?;
        query.check()?;
        match query {
            OfferQuery::Read { .. } => {
                let values = match &offer.template {
                    Some(template) => template.values(key).ok_or_else(|| missing(kind, key))?,
                    None => Map::new(),
                };
                let value = called(&offer.function, kind, key, values, ctx).await?;
                let mime_type = offer.entry.get("mimeType").and_then(Value::as_str);
                Ok(answers::contents(key, mime_type, value))
            }
            OfferQuery::Get { arguments, .. } => {
                check_required(key, &offer.entry, arguments)?;
                let value = called(&offer.function, kind, key, arguments.clone(), ctx).await?;
                answers::messages(key, offer.entry.get("description"), value)
            }
            OfferQuery::Complete { argument, .. } => complete(&offer, key, argument, ctx).await,
        }
    }
}

/// Suggests values. An argument without suggestions has none.
async fn complete(
    offer: &NativeOffer,
    key: &str,
    argument: &PartialArgument,
    ctx: &OfferCallContext<'_>,
) -> Result<Map<String, Value>, HubError> {
    let from = offer.completions.iter().find(|(name, _)| *name == argument.name);
    let values = match from.map(|(_, from)| from) {
        None => Vec::new(),
        Some(Suggestions::Values(values)) => answers::beginning_with(values, &argument.value),
        Some(Suggestions::Function(function)) => {
            let value = called(function, offer.kind, key, completing(function, argument), ctx).await?;
            answers::suggestions(&argument.name, value)?
        }
    };
    Ok(answers::completion(values))
}

/// Calls a function of the program.
async fn called(
    function: &Arc<dyn Tool>,
    kind: OfferKind,
    key: &str,
    arguments: Map<String, Value>,
    ctx: &OfferCallContext<'_>,
) -> Result<Value, HubError> {
    let until = Instant::now() + ctx.limit;
    let cancel = CancellationToken::new();
    let mut context = CallContext::new(until.into_std(), cancel.clone());
    context.extras = ctx.extras.clone();
    let arguments = Arguments::new(arguments);
    // Dropped with this future: the function is cancelled when the caller has gone.
    let _guard = cancel.drop_guard();
    let answer = timeout_at(until, function.call(&arguments, &context)).await.unwrap_or_else(|_| {
        let text = message!(
            "The {} '{}' did not answer within {} s.",
            noun(kind),
            clip(key),
            shown_seconds(ctx.limit.as_secs_f64())
        );
        Err(HubError::new(ErrorKind::Timeout, text))
    });
    answer.map(|output| output.value)
}

fn missing(kind: OfferKind, key: &str) -> HubError {
    let text = message!("The hub has no {} '{}' of its own.", noun(kind), clip(key));
    HubError::new(ErrorKind::NotFound, text).with_outcome(Outcome::NotSent)
}

/// How many changes may wait for a slow listener. One that misses some looks at everything again.
const MOST_WAITING: usize = 256;

/// Announces changes to all listeners. The hub and its servers share it.
#[derive(Clone)]
pub struct OfferSignals {
    sender: broadcast::Sender<OfferChange>,
    /// The principal on whose connections the changes are announced.
    caller: Option<Arc<str>>,
}

impl Default for OfferSignals {
    fn default() -> Self {
        OfferSignals { sender: broadcast::Sender::new(MOST_WAITING), caller: None }
    }
}

impl OfferSignals {
    pub fn watch(&self) -> broadcast::Receiver<OfferChange> {
        self.sender.subscribe()
    }

    /// The same signals for what is announced on the connections of one principal.
    pub fn of_caller(&self, caller: Arc<str>) -> Self {
        OfferSignals { sender: self.sender.clone(), caller: Some(caller) }
    }

    pub fn send(&self, server: &Arc<str>, what: ChangedOffer) {
        // There may be no listener.
        let _ = self.sender.send(OfferChange { what, server: server.clone(), caller: self.caller.clone() });
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
