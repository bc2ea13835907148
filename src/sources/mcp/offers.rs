//! What a server offers in addition to tools and skills: resources, templates of resources, and prompts. They are listed with
//! limits and read on request, in both eras.

use super::connection::{Connection, RequestExtras};
use super::convert::protocol;
use super::input::{self, InputRequests};
use super::message::Params;
use super::offer_changes::OfferList;
use super::pages::{self, PagedList};
use super::server::Server;
use super::wire::clean;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;
use toolhub_protocol::METHOD_NOT_FOUND;
use toolhub_types::aside::heavy;
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip};
pub use toolhub_types::model::OfferKind;
use toolhub_types::tool::CallContextExtras;

const MAX_OFFERS: usize = 10_000;
/// In characters.
const MAX_KEY: usize = 8_000;
const MAX_TEXT: usize = 100_000;
/// How often one request may be answered with a question.
const ROUNDS: usize = 10;

fn is_offered(kind: OfferKind, connection: &Connection) -> bool {
    connection.server().capabilities.get(kind.capability()).is_some_and(|declared| !declared.is_null())
}

/// One request about an offer.
pub struct OfferRequest {
    pub method: &'static str,
    /// The resource or the prompt, as the modern era wants to see it in a header.
    pub name: String,
    pub params: Map<String, Value>,
}

/// What a server listed last, unless it has announced a change since or was connected again.
pub fn known(server: &Server, kind: OfferKind) -> Option<Arc<OfferList>> {
    server.callbacks().offer_changes.known(kind)
}

/// All offers of one kind; none when the server does not declare the capability.
pub async fn list(server: &Arc<Server>, kind: OfferKind) -> Result<Arc<OfferList>, HubError> {
    let _call = server.begin_call();
    let listed = match list_once(server, kind).await {
        // To list does no harm: when the connection is lost meanwhile, it is done once more.
        Err(error) if error.kind == ErrorKind::Closed => list_once(server, kind).await,
        listed => listed,
    };
    listed.inspect(|_| server.answered())
}

async fn list_once(server: &Arc<Server>, kind: OfferKind) -> Result<Arc<OfferList>, HubError> {
    let connection = server.connection().await?;
    let own = &server.callbacks().offer_changes;
    // Before the request: a change that is announced meanwhile needs another list.
    let changes = own.count(kind);
    let offers = list_pages(&connection, kind).await?;
    Ok(own.keep(kind, offers, changes))
}

async fn list_pages(connection: &Connection, kind: OfferKind) -> Result<Vec<Value>, HubError> {
    let mut offers = Vec::new();
    if !is_offered(kind, connection) {
        return Ok(offers);
    }
    let mut keys = HashSet::new();
    let list = PagedList { method: kind.method(), member: kind.name(), meta: Map::new() };
    let fetched = pages::fetch(connection, list, |page| {
        for entry in page.entries.into_iter().filter_map(|entry| checked(kind, entry)) {
            if offers.len() < MAX_OFFERS && keys.insert(entry[kind.key()].to_string()) {
                offers.push(entry);
            }
        }
        offers.len() < MAX_OFFERS
    });
    match fetched.await {
        // A server with resources need not have templates.
        Err(error) if error.code != Some(METHOD_NOT_FOUND) => Err(error),
        _ => Ok(offers),
    }
}

/// An entry that can be used: its texts are safe to show, and all that is unknown stays.
fn checked(kind: OfferKind, entry: &RawValue) -> Option<Value> {
    let mut entry: Map<String, Value> = serde_json::from_str(entry.get()).ok()?;
    let key = entry.get(kind.key())?.as_str()?;
    if key.trim().is_empty() || key.chars().any(char::is_control) || key.chars().count() > MAX_KEY {
        return None;
    }
    for text in ["name", "title", "description"].into_iter().filter(|text| *text != kind.key()) {
        if let Some(Value::String(value)) = entry.get_mut(text) {
            *value = clean(value, MAX_TEXT);
        }
    }
    Some(Value::Object(entry))
}

/// Refuses a text that is not a URI, which servers may not survive. One that the server lists itself is its own affair.
pub fn check_uri(server: &Server, uri: &str) -> Result<(), HubError> {
    let is_listed = || {
        let listed = known(server, OfferKind::Resources);
        let is_it = |offer: &Value| offer.get("uri").and_then(Value::as_str) == Some(uri);
        listed.is_some_and(|listed| listed.offers.iter().any(is_it))
    };
    if reqwest::Url::parse(uri).is_ok() || is_listed() {
        return Ok(());
    }
    let text = format!("'{}' is not a URI: it needs a scheme, such as note://today.", clip(uri));
    Err(HubError::new(ErrorKind::InvalidArguments, text).with_outcome(Outcome::NotSent))
}

/// Asks about one offer on the connection of the caller, and answers what the server asks meanwhile.
pub async fn ask(
    server: &Arc<Server>,
    request: &OfferRequest,
    extras: &CallContextExtras,
) -> Result<Map<String, Value>, HubError> {
    server.let_it_ask(extras.ask.as_ref());
    // A server that was removed is closed when the last request of its callers has ended.
    let _kept = server.begin_call();
    let server = &server.for_call(extras)?;
    let _call = server.begin_call();
    let connection = server.connection().await?;
    let answer = match ask_once(server, &connection, request, extras).await {
        Err(error) if error.kind == ErrorKind::Closed => {
            ask_once(server, &*server.connection().await?, request, extras).await
        }
        answer => answer,
    };
    answer.inspect(|_| server.answered())
}

async fn ask_once(
    server: &Arc<Server>,
    connection: &Connection,
    request: &OfferRequest,
    extras: &CallContextExtras,
) -> Result<Map<String, Value>, HubError> {
    let answered = async |asked: InputRequests| {
        let state = asked.1.clone();
        let gathered = Box::pin(input::gather(server, &request.name, asked, extras.ask.as_ref())).await?;
        let mut input = Map::from_iter([("inputResponses".to_owned(), Value::Object(gathered))]);
        input.extend(state.map(|state| ("requestState".to_owned(), Value::String(state))));
        Ok::<_, HubError>(input)
    };
    let mut input = match &extras.resumes {
        Some(begun) => answered(input::resumed(server, connection.server().era, begun)?).await?,
        None => Map::new(),
    };
    for _ in 0..ROUNDS {
        let params = request.params.iter().chain(&input);
        let params = params.fold(Params::new(), |params, (key, value)| params.with(key, value));
        let sent = RequestExtras {
            cancel_reason: extras.cancel_reason.clone(),
            name: Some(Arc::from(&*request.name)),
            meta: extras.meta.clone(),
            on_progress: extras.progress.clone(),
            ask: extras.ask.clone(),
            log: extras.log.clone(),
            principal: extras.principal.clone(),
            ..RequestExtras::default()
        };
        let raw = connection.request(request.method, params, sent).await?;
        let wrong = |why: &str| protocol(format!("{} of '{}': {why}", request.method, clip(&request.name)));
        let read = heavy(raw.get().len(), || serde_json::from_str(raw.get()));
        let answer: Value = read.map_err(|error: serde_json::Error| wrong(&error.to_string()))?;
        let Value::Object(mut answer) = answer else { return Err(wrong("it is not an object")) };
        match answer.get("resultType").and_then(Value::as_str) {
            None | Some("complete") => return Ok(answer),
            Some("input_required") => {
                let requests = match answer.remove("inputRequests") {
                    Some(Value::Object(requests)) => requests,
                    _ => Map::new(),
                };
                let state = match answer.remove("requestState") {
                    Some(Value::String(state)) => Some(state),
                    _ => None,
                };
                input = answered((requests, state)).await?;
            }
            Some(_) => return Err(wrong("its 'resultType' is unknown")),
        }
    }
    let text = format!("'{}' asked for more input {ROUNDS} times and was abandoned.", clip(&request.name));
    Err(HubError::new(ErrorKind::Limit, text))
}
