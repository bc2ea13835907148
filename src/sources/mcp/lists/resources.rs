//! What a server has in addition to tools and skills: resources, templates of resources, and prompts. They are listed with limits,
//! read on request and subscribed to, in both eras.

use crate::mcp::connection::{Connection, RequestExtras, send_in_passing};
use crate::mcp::convert::wrong_answer;
use crate::mcp::message::Params;
use crate::mcp::pages::{self, PagedList};
use crate::mcp::protocol::Era;
use crate::mcp::questions;
use crate::mcp::server::Server;
use crate::mcp::wire::clean;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use tokio::sync::Notify;
use toolhub_protocol::METHOD_NOT_FOUND;
use toolhub_text::{Message, message};
use toolhub_types::blocking::block_if_large;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
pub use toolhub_types::model::OfferKind;
use toolhub_types::tool::CallContextExtras;

const MAX_OFFERS: usize = 10_000;
/// In characters.
const MAX_KEY: usize = 8_000;
const MAX_TEXT: usize = 100_000;
/// How often one request may be answered with a question.
const ROUNDS: usize = 10;
/// How many resources of one server are subscribed to at once.
const MOST_SUBSCRIPTIONS: usize = 1_000;

/// What one server listed last. A list from before a change is not used.
#[derive(Default)]
pub struct KnownResources {
    by_kind: HashMap<OfferKind, Arc<Vec<Value>>>,
    changes: u64,
}

impl KnownResources {
    /// A change may have been missed: what was listed is not used any more. Resources and their templates change together.
    pub fn forget(&mut self, kind: OfferKind) {
        self.changes += 1;
        self.by_kind.retain(|known, _| known.capability() != kind.capability());
    }
}

/// One request about a resource or prompt.
pub struct ResourceRequest {
    pub method: &'static str,
    /// The resource or the prompt, as the modern era wants to see it in a header.
    pub name: String,
    pub params: Map<String, Value>,
}

/// What a server listed last, unless it has announced a change since or was connected again.
pub fn known(server: &Server, kind: OfferKind) -> Option<Arc<Vec<Value>>> {
    server.callbacks().resources.lock().by_kind.get(&kind).cloned()
}

/// All of one kind; none when the server does not declare the capability.
pub async fn list(server: &Arc<Server>, kind: OfferKind) -> Result<Arc<Vec<Value>>> {
    let _call = server.begin_call();
    // To list does no harm: when the connection is lost meanwhile, it is done once more.
    let list_once = |connection: Arc<Connection>| async move {
        let known = &server.callbacks().resources;
        // Before the request: a change that is announced meanwhile needs another list.
        let changes = known.lock().changes;
        let declared = connection.server.capabilities.get(kind.capability());
        let (method, member, most) = (kind.method(), kind.name(), MAX_OFFERS);
        let list = PagedList { method, member, meta: Map::new(), most, words: ["the list", "a second"] };
        let read = |entry: &RawValue| checked(kind, entry).ok_or_else(String::new);
        let listed = match declared.is_some_and(|declared| !declared.is_null()) {
            true => match pages::fetch(&connection, list, read).await {
                // A server with resources need not have templates.
                Err(error) if error.code == Some(METHOD_NOT_FOUND) => Vec::new(),
                fetched => fetched?.entries,
            },
            false => Vec::new(),
        };
        let listed = Arc::new(listed);
        let mut known = known.lock();
        if known.changes == changes {
            known.by_kind.insert(kind, listed.clone());
        }
        Ok(listed)
    };
    server.with_connection(list_once).await
}

/// An entry that can be used, with its key: its texts are safe to show, and all that is unknown stays.
fn checked(kind: OfferKind, entry: &RawValue) -> Option<(Arc<str>, Value, Vec<String>)> {
    let mut entry: Map<String, Value> = serde_json::from_str(entry.get()).ok()?;
    let key: Arc<str> = Arc::from(entry.get(kind.key())?.as_str()?);
    if key.trim().is_empty() || key.chars().any(char::is_control) || key.chars().count() > MAX_KEY {
        return None;
    }
    for text in ["name", "title", "description"].into_iter().filter(|text| *text != kind.key()) {
        if let Some(Value::String(value)) = entry.get_mut(text) {
            *value = clean(value, MAX_TEXT);
        }
    }
    Some((key, Value::Object(entry), Vec::new()))
}

/// Refuses a text that is not a URI, which servers may not survive. One that the server lists itself is its own affair.
pub fn check_uri(server: &Server, uri: &str) -> Result<()> {
    let is_it = |offer: &Value| offer.get("uri").and_then(Value::as_str) == Some(uri);
    let is_listed = || known(server, OfferKind::Resources).is_some_and(|listed| listed.iter().any(is_it));
    if reqwest::Url::parse(uri).is_ok() || is_listed() {
        return Ok(());
    }
    let text = message!("'{}' is not a URI: it needs a scheme, such as note://today.", clip(uri));
    Err(HubError::new(ErrorKind::InvalidArguments, text))
}

/// Asks about one resource or prompt on the connection of the caller, and answers what the server asks meanwhile.
pub async fn ask(
    server: &Arc<Server>,
    request: &ResourceRequest,
    extras: &CallContextExtras,
) -> Result<Map<String, Value>> {
    server.let_it_ask(extras.ask.as_ref());
    // A server that was removed is closed when the last request of its callers has ended.
    let _kept = server.begin_call();
    let server = &server.for_call(extras)?;
    let _call = server.begin_call();
    server.with_connection(|connection| ask_once(server, connection, request, extras)).await
}

async fn ask_once(
    server: &Arc<Server>,
    connection: Arc<Connection>,
    request: &ResourceRequest,
    extras: &CallContextExtras,
) -> Result<Map<String, Value>> {
    let begun = extras.resumes.as_ref().map(|begun| questions::resumed(server, connection.server.era, begun));
    let mut asked = begun.transpose()?;
    for _ in 0..ROUNDS {
        let params = request.params.iter();
        let mut params = params.fold(Params::new(), |params, (key, value)| params.with(key, value));
        if let Some(asked) = asked.take() {
            let gathered =
                Box::pin(questions::gather(server, &request.name, asked, extras.ask.as_ref())).await?;
            params = questions::with_answers(params, gathered);
        }
        let name = Some(Arc::from(&*request.name));
        let sent = RequestExtras { name, call: Some(extras), ..RequestExtras::default() };
        let raw = connection.request(request.method, params, sent).await?;
        let wrong =
            |why: Message| wrong_answer(format_args!("{} of '{}'", request.method, clip(&request.name)), why);
        let read = block_if_large(raw.get().len(), || serde_json::from_str(raw.get()));
        let answer: Value = read.map_err(|error: serde_json::Error| wrong(error.to_string().into()))?;
        let Value::Object(mut answer) = answer else { return Err(wrong(message!("it is not an object"))) };
        match answer.get("resultType").and_then(Value::as_str) {
            None | Some("complete") => return Ok(answer),
            Some("input_required") => asked = Some(questions::requested(&mut answer)),
            Some(_) => return Err(wrong(message!("its 'resultType' is unknown"))),
        }
    }
    let name = clip(&request.name);
    let text = message!("'{}' asked for more input {} times and was abandoned.", name, ROUNDS);
    Err(HubError::new(ErrorKind::Limit, text))
}

/// The resources of one server that are subscribed to, each with the number of its subscribers. They outlive sessions.
#[derive(Default)]
pub struct SubscribedResources {
    counts: Mutex<BTreeMap<String, usize>>,
    /// Notified when a modern server has to be told.
    pub changed: Notify,
}

impl SubscribedResources {
    pub fn is_empty(&self) -> bool {
        self.counts.lock().is_empty()
    }

    pub fn uris(&self) -> Vec<String> {
        self.counts.lock().keys().cloned().collect()
    }

    /// True for the first subscriber of a resource. `None` when there are too many resources.
    fn add(&self, uri: &str) -> Option<bool> {
        let mut counts = self.counts.lock();
        if counts.len() >= MOST_SUBSCRIPTIONS && !counts.contains_key(uri) {
            return None;
        }
        let count = counts.entry(uri.to_owned()).or_default();
        *count += 1;
        Some(*count == 1)
    }

    /// True when the last subscriber of a resource has gone.
    fn remove(&self, uri: &str) -> bool {
        let mut counts = self.counts.lock();
        let Some(count) = counts.get_mut(uri) else { return false };
        *count -= 1;
        *count == 0 && counts.remove(uri).is_some()
    }
}

/// One subscriber of a resource; dropping it ends the subscription.
pub struct ResourceSubscription {
    server: Weak<Server>,
    uri: String,
}

/// Subscribes to a resource. Its changes are announced from now on, also after the server was connected again.
pub async fn subscribe(server: &Arc<Server>, uri: &str) -> Result<ResourceSubscription> {
    let connection = server.connection().await?;
    if server.callbacks().declares("resources.subscribe") != Some(true) {
        let text = message!("Server '{}' does not support resource subscriptions.", server.id());
        return Err(HubError::new(ErrorKind::NotAllowed, text));
    }
    let subscriptions = &server.callbacks().subscriptions;
    let Some(is_first) = subscriptions.add(uri) else {
        let text = message!("Too many resource subscriptions to server '{}'.", server.id());
        return Err(HubError::new(ErrorKind::Limit, text).with_outcome(Outcome::NotSent));
    };
    let subscription = ResourceSubscription { server: Arc::downgrade(server), uri: uri.to_owned() };
    match connection.server.era {
        _ if !is_first => {}
        Era::Modern => subscriptions.changed.notify_one(),
        // Dropping the subscription takes it back if the server refuses.
        Era::Legacy => {
            let request = request("resources/subscribe", uri);
            ask(server, &request, &CallContextExtras::default()).await?;
        }
    }
    Ok(subscription)
}

fn request(method: &'static str, uri: &str) -> ResourceRequest {
    let params = Map::from_iter([("uri".to_owned(), Value::from(uri))]);
    ResourceRequest { method, name: uri.to_owned(), params }
}

impl Drop for ResourceSubscription {
    fn drop(&mut self) {
        let Some(server) = self.server.upgrade() else { return };
        let subscriptions = &server.callbacks().subscriptions;
        if !subscriptions.remove(&self.uri) {
            return;
        }
        subscriptions.changed.notify_one();
        let is_legacy = |connection: Arc<Connection>| connection.server.era == Era::Legacy;
        // A server that is not connected has forgotten it already.
        if server.live_connection().is_some_and(is_legacy) {
            let request = request("resources/unsubscribe", &self.uri);
            send_in_passing(async move { ask(&server, &request, &CallContextExtras::default()).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_hears_of_the_first_and_the_last_subscriber() {
        let subscriptions = SubscribedResources::default();
        assert_eq!(subscriptions.add("note://x"), Some(true));
        assert_eq!(subscriptions.add("note://x"), Some(false));
        assert!(!subscriptions.remove("note://x"));
        assert!(subscriptions.remove("note://x"));
        assert!(!subscriptions.remove("note://x"));
        for number in 0..MOST_SUBSCRIPTIONS {
            assert_eq!(subscriptions.add(&number.to_string()), Some(true));
        }
        assert_eq!(subscriptions.add("one more"), None);
    }
}
