//! L2, the resources and prompts of the hub itself: functions of the program, under a URI, a URI template or a name.
//!
//! ```text
//! add(definition)            checks the key, the template and the parameters; announces the change
//! find(kinds, key)           a resource of this URI, or else the most specific template; a prompt of this name
//! answer(query)              calls the function and gives its value the form of the protocol
//! ```
//!
//! Changes are announced by [`OfferSignals`], which the servers of the hub share.

pub use definition::{NativeOffer, OfferQuery, PartialArgument, Suggestions, check_required};
use definition::{completing, is_same, refused};
use parking_lot::RwLock;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
pub use template::UriTemplate;
use tokio::sync::broadcast;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use toolhub_context::model_output::content::is_block;
use toolhub_text::message;
use toolhub_text::pattern::NATIVE;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip, shown_seconds};
use toolhub_types::model::{Arguments, ChangedOffer, OfferChange, OfferKind};
use toolhub_types::tool::{CallContext, CallContextExtras, Tool};

mod definition;
mod template;

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
    pub signals: OfferSignals,
}

impl NativeOffers {
    /// Adds an offer. One of the same key is replaced if it is the same function, defined again, or if the caller wants it.
    pub fn add(&self, offer: NativeOffer, replace: bool) -> Result<()> {
        let (kind, offer) = (offer.kind, Arc::new(offer));
        let mut all = self.all.write();
        let replaced = match all.iter().position(|known| known.kind == kind && known.key == offer.key) {
            Some(at) if replace || is_same(&all[at], &offer) => Some(std::mem::replace(&mut all[at], offer)),
            Some(_) => {
                let text = message!(
                    "A {} '{}' already exists; remove it first, or pass replace=True.",
                    kind.noun(),
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
    pub fn updated(&self, uri: &str) -> Result<()> {
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
        fitting.rev().max_by_key(|(template, _)| template.literals).map(|(_, one)| one.clone())
    }

    /// The answer to a request, as the protocol has it.
    pub async fn answer(&self, query: &OfferQuery, ctx: &OfferCallContext<'_>) -> Result<Map<String, Value>> {
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
                Ok(contents(key, mime_type, value))
            }
            OfferQuery::Get { arguments, .. } => {
                check_required(key, &offer.entry, arguments)?;
                let value = called(&offer.function, kind, key, arguments.clone(), ctx).await?;
                messages(key, offer.entry.get("description"), value)
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
) -> Result<Map<String, Value>> {
    let from = offer.completions.iter().find(|(name, _)| *name == argument.name);
    let values = match from.map(|(_, from)| from) {
        None => Vec::new(),
        Some(Suggestions::Values(values)) => beginning_with(values, &argument.value),
        Some(Suggestions::Function(function)) => {
            let value = called(function, offer.kind, key, completing(function, argument), ctx).await?;
            suggestions(&argument.name, value)?
        }
    };
    Ok(completion(values))
}

/// Calls a function of the program.
async fn called(
    function: &Arc<dyn Tool>,
    kind: OfferKind,
    key: &str,
    arguments: Map<String, Value>,
    ctx: &OfferCallContext<'_>,
) -> Result<Value> {
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
            kind.noun(),
            clip(key),
            shown_seconds(ctx.limit.as_secs_f64())
        );
        Err(HubError::new(ErrorKind::Timeout, text))
    });
    answer.map(|output| output.value)
}

fn missing(kind: OfferKind, key: &str) -> HubError {
    let text = message!("The hub has no {} '{}' of its own.", kind.noun(), clip(key));
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

/// The most values that an answer to `completion/complete` may have.
const MOST_VALUES: usize = 100;

/// The answer to `resources/read`. A text is the content; `{"text": …}` and `{"blob": …}`, alone or in a list, are contents with
/// members of their own; an image or sound of a content block is its data; any other value is written as JSON.
pub fn contents(uri: &str, mime_type: Option<&str>, value: Value) -> Map<String, Value> {
    let contents = match value {
        Value::Object(mut result) if result.get("contents").is_some_and(Value::is_array) => {
            result.get_mut("contents").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default()
        }
        Value::Array(several) if !several.is_empty() && several.iter().all(is_content) => several,
        value => vec![value],
    };
    let contents = contents.into_iter().map(|one| content(uri, mime_type, one)).collect();
    Map::from_iter([("contents".to_owned(), contents)])
}

/// Whether a value is the content of a resource, and not data that is written as JSON.
fn is_content(value: &Value) -> bool {
    const MEMBERS: [&str; 7] = ["text", "blob", "uri", "mimeType", "_meta", "annotations", "type"];
    let Value::Object(members) = value else { return false };
    let texts = ["text", "blob"].iter().filter(|name| members.get(**name).is_some_and(Value::is_string));
    let is_own = texts.count() == 1 && members.keys().all(|key| MEMBERS.contains(&key.as_str()));
    is_own || media(value).is_some()
}

/// The data and type of an image or sound.
fn media(value: &Value) -> Option<(&Value, &Value)> {
    let is_media = matches!(value.get("type")?.as_str()?, "image" | "audio") && is_block(value);
    is_media.then_some((value.get("data")?, value.get("mimeType")?))
}

fn content(uri: &str, mime_type: Option<&str>, value: Value) -> Value {
    let mime = |usual: &str| json!(mime_type.unwrap_or(usual));
    if let Some((data, own)) = media(&value) {
        return json!({"uri": uri, "mimeType": own, "blob": data});
    }
    match value {
        Value::Object(members) if is_content(&Value::Object(members.clone())) => {
            let usual = if members.contains_key("blob") { "application/octet-stream" } else { "text/plain" };
            let mut content =
                Map::from_iter([("uri".to_owned(), json!(uri)), ("mimeType".to_owned(), mime(usual))]);
            content.extend(members.into_iter().filter(|(key, _)| key != "type"));
            Value::Object(content)
        }
        Value::String(text) => json!({"uri": uri, "mimeType": mime("text/plain"), "text": text}),
        value => json!({"uri": uri, "mimeType": mime("application/json"), "text": value.to_string()}),
    }
}

/// The answer to `prompts/get`. A text or a content block is a message of the user; `{"role": …, "content": …}` is a message; a
/// list has several of them.
pub fn messages(name: &str, description: Option<&Value>, value: Value) -> Result<Map<String, Value>> {
    let mut result = Map::new();
    let (mut description, mut value) = (description.cloned(), value);
    if let Value::Object(members) = &mut value
        && members.get("messages").is_some_and(Value::is_array)
    {
        description = members.remove("description").or(description);
        value = members.remove("messages").unwrap_or_default();
    }
    let messages = match value {
        Value::Array(several) => {
            several.into_iter().map(|one| message(name, one)).collect::<Result<_, _>>()?
        }
        one => vec![message(name, one)?],
    };
    result.extend(description.map(|text| ("description".to_owned(), text)));
    result.insert("messages".to_owned(), Value::Array(messages));
    Ok(result)
}

fn message(name: &str, value: Value) -> Result<Value> {
    let text = |text: String| json!({"type": "text", "text": text});
    let of_user = |content: Value| Ok(json!({"role": "user", "content": content}));
    let wrong = || {
        let text = message!(
            "Prompt '{}' must return texts, content blocks, or messages with the role 'user' or 'assistant'.",
            clip(name)
        );
        HubError::new(ErrorKind::ToolError, text)
    };
    match value {
        Value::String(given) => of_user(text(given)),
        block if is_block(&block) => of_user(block),
        Value::Object(mut members) => {
            let role = members.get("role").and_then(Value::as_str);
            if !matches!(role, Some("user" | "assistant")) {
                return Err(wrong());
            }
            match members.remove("content") {
                Some(Value::String(given)) => members.insert("content".to_owned(), text(given)),
                Some(block) if is_block(&block) => members.insert("content".to_owned(), block),
                _ => return Err(wrong()),
            };
            Ok(Value::Object(members))
        }
        _ => Err(wrong()),
    }
}

/// The answer to `completion/complete`.
pub fn completion(values: Vec<String>) -> Map<String, Value> {
    let total = values.len();
    let values: Vec<String> = values.into_iter().take(MOST_VALUES).collect();
    let completion = json!({"values": values, "total": total, "hasMore": total > values.len()});
    Map::from_iter([("completion".to_owned(), completion)])
}

/// The suggestions that a function returned: a list of texts, or nothing.
pub fn suggestions(name: &str, value: Value) -> Result<Vec<String>> {
    let texts: Option<Vec<String>> = serde_json::from_value(value).map_err(|_| {
        let text = message!("The completion of '{}' must return a list of texts.", clip(name));
        HubError::new(ErrorKind::ToolError, text)
    })?;
    Ok(texts.unwrap_or_default())
}

/// Those of the known values that begin as the user has, in upper or lower case.
pub fn beginning_with(values: &[String], begun: &str) -> Vec<String> {
    let begun = begun.to_lowercase();
    values.iter().filter(|value| value.to_lowercase().starts_with(&begun)).cloned().collect()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
mod answers_tests {
    use super::*;

    #[test]
    fn values_become_contents() {
        let read = |mime, value| contents("x://y", mime, value)["contents"].clone();
        let one = |mime: &str, member: &str, value: &str| json!([{"uri": "x://y", "mimeType": mime, member: value}]);
        assert_eq!(read(None, json!("hello")), one("text/plain", "text", "hello"));
        assert_eq!(read(Some("text/markdown"), json!("# hi")), one("text/markdown", "text", "# hi"));
        assert_eq!(read(None, json!({"a": [1]})), one("application/json", "text", r#"{"a":[1]}"#));
        assert_eq!(read(None, json!(["a", "b"])), one("application/json", "text", r#"["a","b"]"#));
        assert_eq!(read(None, json!(null)), one("application/json", "text", "null"));
        assert_eq!(read(None, json!({"blob": "AAE="})), one("application/octet-stream", "blob", "AAE="));
        assert_eq!(read(Some("image/png"), json!({"blob": "AAE="})), one("image/png", "blob", "AAE="));
        // Data that only has a member of this name.
        assert_eq!(
            read(None, json!({"text": "x", "id": 1})),
            one("application/json", "text", r#"{"text":"x","id":1}"#)
        );
        let image = json!({"type": "image", "data": "AAE=", "mimeType": "image/gif"});
        assert_eq!(read(None, image), one("image/gif", "blob", "AAE="));
        let several = json!([{"text": "a", "uri": "x://a"}, {"blob": "AA==", "mimeType": "image/png"}]);
        let expected = json!([
            {"uri": "x://a", "mimeType": "text/plain", "text": "a"},
            {"uri": "x://y", "mimeType": "image/png", "blob": "AA=="},
        ]);
        assert_eq!(read(None, several.clone()), expected);
        assert_eq!(read(None, json!({"contents": several})), expected);
    }

    #[test]
    fn values_become_messages() {
        let text = |role: &str, text: &str| json!({"role": role, "content": {"type": "text", "text": text}});
        let image = json!({"type": "image", "data": "AAE=", "mimeType": "image/png"});
        let made = |value| messages("p", Some(&json!("About.")), value).map(|made| made["messages"].clone());
        assert_eq!(made(json!("hi")), Ok(json!([text("user", "hi")])));
        assert_eq!(
            made(json!(["hi", {"role": "assistant", "content": "yes"}, image])),
            Ok(json!([text("user", "hi"), text("assistant", "yes"), {"role": "user", "content": image}]))
        );
        let whole = messages("p", Some(&json!("About.")), json!({"messages": ["a"], "description": "Own."}));
        assert_eq!(whole.unwrap()["description"], json!("Own."));
        assert_eq!(
            messages("p", Some(&json!("About.")), json!("a")).unwrap()["description"],
            json!("About.")
        );
        for wrong in
            [json!(5), json!([["a"]]), json!({"role": "system", "content": "a"}), json!({"role": "user"})]
        {
            assert_eq!(made(wrong).unwrap_err().kind, ErrorKind::ToolError);
        }
    }

    #[test]
    fn suggestions_are_limited_and_counted() {
        let many: Vec<String> = (0..250).map(|number| number.to_string()).collect();
        let completion = completion(many)["completion"].clone();
        assert_eq!(completion["values"].as_array().unwrap().len(), MOST_VALUES);
        assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(250), &json!(true)));
        let known = ["Paris".to_owned(), "Oslo".to_owned()];
        assert_eq!(beginning_with(&known, "pa"), ["Paris"]);
        assert_eq!(suggestions("p", json!(null)), Ok(Vec::new()));
        assert!(suggestions("p", json!([1])).is_err());
    }
}
