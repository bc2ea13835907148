//! Resources and prompts of the servers behind the gateway, and completion: passed through as the servers give them.

use super::elicitation::answer_or_ask;
use super::execute::AuditedRequest;
use super::pages::{Page, listed, page};
use super::results::{cancelled, upstream_refusal};
use super::tools::written;
use crate::Exchange;
use crate::era::{ResultKind, foreign_object};
use crate::kept::{FinishedCall, RequestSubject};
use crate::operate::AuditEvent;
use crate::rpc::{INTERNAL_ERROR, RpcError, RpcParams, must_be};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use toolhub_engine::offers::{OfferQuery, PartialArgument};
use toolhub_protocol::Era;
use toolhub_types::blocking::{LARGE, block_if_large};
use toolhub_types::error::{ErrorKind, HubError, clip};
use toolhub_types::model::{Arguments, OfferKind, size_within};
use toolhub_types::tool::CallContextExtras;

/// The code of older protocols for a resource that is not there.
const NO_RESOURCE: i64 = -32002;

/// One page of what the caller sees of a kind.
pub async fn list(exchange: &Exchange, kind: OfferKind, params: &RpcParams) -> Result<String, RpcError> {
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
    available(exchange, kind.capability(), kind.method())?;
    let continues = params.get("cursor").is_some_and(|cursor| !cursor.is_null());
    let all = gateway.upstreams.offers(&caller.view, &caller.principal, kind, continues).await;
    let Page { items, next } = page(params, gateway.options.page_size, all, |offer| {
        Cow::Borrowed(offer[kind.key()].as_str().unwrap_or_default())
    })?;
    written(exchange, &listed(kind.name(), Value::Array(items), next), ResultKind::Cacheable)
}

/// A method that no server behind the view supports does not exist for its callers.
fn available(exchange: &Exchange, capability: &str, method: &str) -> Result<(), RpcError> {
    match exchange.gateway.upstreams.may_have(&exchange.caller.view, capability) {
        true => Ok(()),
        false => Err(RpcError::no_such_method(method)),
    }
}

fn completion(params: &mut RpcParams) -> Result<OfferQuery, RpcError> {
    let reference = RpcParams::from(params.take_object("ref")?.unwrap_or_default());
    let (of, key) = match reference.text("type") {
        Ok("ref/prompt") => (OfferKind::Prompts, reference.text("name")),
        Ok("ref/resource") => (OfferKind::ResourceTemplates, reference.text("uri")),
        _ => {
            let text = "Invalid params: the type of 'ref' must be 'ref/prompt' or 'ref/resource'";
            return Err(RpcError::invalid_params(text));
        }
    };
    let key = key?.to_owned();
    let partial = RpcParams::from(params.take_object("argument")?.unwrap_or_default());
    let text = |member: &str| match partial.text(member) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(must_be(&format!("argument.{member}"), "a string")),
    };
    let context = params.take_object("context")?.unwrap_or_default();
    let context = RpcParams::from(context).take_texts("arguments")?;
    let argument = PartialArgument { name: text("name")?, value: text("value")?, context };
    Ok(OfferQuery::Complete { of, key, argument })
}

/// `resources/read`, `prompts/get` and `completion/complete` are passed on to the server that has what they name. A request that
/// is refused here is written down, and reaches no server.
pub async fn ask(exchange: &Arc<Exchange>, method: &str, mut params: RpcParams) -> Result<String, RpcError> {
    let refuse = |params: &RpcParams, kind, error| not_asked(exchange, method, params, kind, error);
    let capability = match method {
        "resources/read" => "resources",
        "prompts/get" => "prompts",
        _ => "completions",
    };
    if let Err(error) = available(exchange, capability, method) {
        return Err(refuse(&params, ErrorKind::NotFound, error));
    }
    let given = params.clone();
    let query = query(method, &mut params);
    let query = query.map_err(|error| refuse(&given, ErrorKind::InvalidArguments, error))?;
    let arguments = Arc::new(Arguments::new(query.params(query.key())));
    let subject = RequestSubject { method: query.method(), name: query.key().to_owned(), arguments };
    let run = async move |exchange: Arc<Exchange>, extras| run(&exchange, extras, &query).await;
    answer_or_ask(exchange, &subject, params, run, |refusal| refusal).await
}

fn query(method: &str, params: &mut RpcParams) -> Result<OfferQuery, RpcError> {
    match method {
        "resources/read" => Ok(OfferQuery::Read { uri: params.text("uri")?.to_owned() }),
        "prompts/get" => {
            let name = params.text("name")?.to_owned();
            Ok(OfferQuery::Get { name, arguments: params.take_texts("arguments")? })
        }
        _ => completion(params),
    }
}

async fn run(exchange: &Exchange, extras: CallContextExtras, query: &OfferQuery) -> FinishedCall {
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
    let arguments = match query {
        OfferQuery::Get { arguments, .. } => Value::Object(arguments.clone()),
        _ => json!({}),
    };
    let event = event(query.method(), query.key(), &arguments);
    let record = event.map(|event| AuditedRequest::new(exchange, event).traced(&extras.meta));
    let asked = gateway.upstreams.ask_offer(&caller.view, query, &extras);
    let answered = tokio::select! {
        answered = asked => answered,
        () = exchange.cancel.cancelled() => Err(HubError::new(ErrorKind::Cancelled, "Cancelled.")),
    };
    let failure = answered.as_ref().err().map(|error| error.kind);
    if let Some(record) = record {
        record.write(failure);
    }
    let answered = answered.map_err(|error| refused(exchange, query, error));
    let is_failure = answered.is_err();
    let kind = match query {
        OfferQuery::Read { .. } => ResultKind::Cacheable,
        _ => ResultKind::Plain,
    };
    FinishedCall {
        answer: answered.map(|result| {
            let sizes = result.values().map(|value| size_within(value, LARGE));
            let bytes = sizes.sum::<Option<usize>>().unwrap_or(usize::MAX);
            block_if_large(bytes, || foreign_object(caller.era, result, kind))
        }),
        is_failure,
    }
}

/// Writes down a request that is refused before a server is asked.
fn not_asked(
    exchange: &Exchange,
    method: &str,
    params: &RpcParams,
    kind: ErrorKind,
    error: RpcError,
) -> RpcError {
    let key = params.text("name").or(params.text("uri")).unwrap_or_default();
    let arguments = params.get("arguments").unwrap_or(&Value::Null);
    if let Some(event) = event(method, key, arguments) {
        AuditedRequest::new(exchange, event).write(Some(kind));
    }
    error
}

/// What the audit log records of a request; completions are not recorded.
fn event<'a>(method: &str, key: &'a str, arguments: &'a Value) -> Option<AuditEvent<'a>> {
    match method {
        "resources/read" => Some(AuditEvent::Resource { uri: key }),
        "prompts/get" => Some(AuditEvent::Prompt { prompt: key, arguments }),
        _ => None,
    }
}

fn refused(exchange: &Exchange, query: &OfferQuery, error: HubError) -> RpcError {
    let era = exchange.caller.era;
    match (error.kind, error.code) {
        (ErrorKind::Cancelled, _) => cancelled(),
        (ErrorKind::NotFound, _) => missing(era, query),
        // The eras disagree about the code of a resource that is not there.
        (ErrorKind::Rpc, Some(NO_RESOURCE)) if era == Era::Modern => missing(era, query),
        (ErrorKind::InvalidArguments, _) => RpcError::invalid_params(error.message),
        _ => upstream_refusal(exchange, "", &error)
            .unwrap_or_else(|| RpcError::new(INTERNAL_ERROR, exchange.face("", &error).into_owned())),
    }
}

/// Why a resource cannot be subscribed to.
pub fn subscription_refused(exchange: &Exchange, uri: String, error: HubError) -> RpcError {
    match error.kind {
        ErrorKind::NotAllowed | ErrorKind::Limit => {
            RpcError::invalid_params(exchange.face("", &error).into_owned())
        }
        _ => refused(exchange, &OfferQuery::Read { uri }, error),
    }
}

/// The same for what does not exist and for what the caller must not know of.
fn missing(era: Era, query: &OfferQuery) -> RpcError {
    let key = query.key();
    let what = match query {
        OfferQuery::Read { .. } => {
            let error = match era {
                Era::Legacy => RpcError::new(NO_RESOURCE, "Resource not found"),
                Era::Modern => RpcError::invalid_params("Resource not found"),
            };
            return error.with_data(json!({"uri": key}));
        }
        OfferQuery::Get { .. } | OfferQuery::Complete { of: OfferKind::Prompts, .. } => "prompt",
        OfferQuery::Complete { .. } => "resource template",
    };
    RpcError::invalid_params(format!("Unknown {what}: {}", clip(key)))
}

/// Tells the client of changes of a resource from now on, on its long-lived stream.
pub async fn subscribe(exchange: &Exchange, params: &RpcParams) -> Result<String, RpcError> {
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
    let uri = uri(exchange, "resources/subscribe", params)?;
    let Some(session) = &caller.session else {
        return Err(RpcError::invalid_request("Invalid Request: a subscription needs a session"));
    };
    let subscribed = gateway.upstreams.subscribe(&caller.view, &caller.principal, &uri).await;
    let subscribed = subscribed.map_err(|error| subscription_refused(exchange, uri.clone(), error))?;
    match gateway.sessions.subscriptions_of(&caller.principal.id, session).add(uri, subscribed) {
        true => Ok("{}".to_owned()),
        false => Err(RpcError::invalid_params("Invalid params: too many resources are subscribed to")),
    }
}

/// Ends a subscription. One that there is not has ended already.
pub fn unsubscribe(exchange: &Exchange, params: &RpcParams) -> Result<String, RpcError> {
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
    let uri = uri(exchange, "resources/unsubscribe", params)?;
    if let Some(session) = &caller.session {
        gateway.sessions.subscriptions_of(&caller.principal.id, session).remove(&uri);
    }
    Ok("{}".to_owned())
}

fn uri(exchange: &Exchange, method: &str, params: &RpcParams) -> Result<String, RpcError> {
    available(exchange, "resources.subscribe", method)?;
    params.text("uri").map(str::to_owned)
}
