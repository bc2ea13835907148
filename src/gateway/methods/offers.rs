//! Resources and prompts of the servers behind the gateway, and completion: passed through as the servers give them.

use super::audited::AuditedRequest;
use super::pages::{next_cursor, position};
use super::results::{cancelled, upstream_refusal};
use super::rounds::{RunningContext, answer_or_ask};
use super::tools::written;
use crate::aside::{LARGE, heavy};
use crate::error::{ErrorKind, HubError, clip};
use crate::gateway::caller::Caller;
use crate::gateway::conversation::{FinishedRequest, RequestSubject};
use crate::gateway::era::{ResultKind, foreign_object};
use crate::gateway::exchange::Exchange;
use crate::gateway::operate::AuditEvent;
use crate::gateway::rpc::{INTERNAL_ERROR, RpcError, object};
use crate::gateway::state::Gateway;
use crate::gateway::upstreams::OfferCall;
use crate::model::protocol::Era;
use crate::model::{Arguments, OfferKind, size_within};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The code of older protocols for a resource that is not there.
const NO_RESOURCE: i64 = -32002;

/// One page of what the caller sees of a kind.
pub async fn list(
    gateway: &Gateway,
    caller: &Caller,
    kind: OfferKind,
    params: Option<&RawValue>,
) -> Result<String, RpcError> {
    available(gateway, caller, kind.capability(), kind.method())?;
    let begin = position(gateway, caller, kind.method(), &object(params)?)?;
    let all = gateway.upstreams.offers(&caller.view, &caller.principal, kind, begin.is_some()).await;
    let begin = usize::try_from(begin.unwrap_or(0)).unwrap_or(usize::MAX);
    let end = begin.saturating_add(gateway.options.page_size.max(1));
    let mut page = Map::from_iter([(kind.name().to_owned(), json!([]))]);
    if end < all.len() {
        let cursor = next_cursor(gateway, caller, kind.method(), end as u64)?;
        page.insert("nextCursor".to_owned(), Value::String(cursor));
    }
    page[kind.name()] = all.into_iter().skip(begin).take(end - begin).collect();
    written(gateway, caller, &page, ResultKind::Cacheable)
}

/// A method that no server behind the view supports does not exist for its callers.
fn available(gateway: &Gateway, caller: &Caller, capability: &str, method: &str) -> Result<(), RpcError> {
    match gateway.upstreams.may_have(&caller.view, capability) {
        true => Ok(()),
        false => Err(RpcError::no_such_method(method)),
    }
}

/// `resources/read`.
pub async fn read(
    gateway: &Arc<Gateway>,
    exchange: &Exchange,
    params: Option<&RawValue>,
) -> Result<String, RpcError> {
    const KINDS: &[OfferKind] = &[OfferKind::Resources, OfferKind::ResourceTemplates];
    ask(gateway, exchange, ("resources/read", "resources"), KINDS, "uri", object(params)?).await
}

/// `prompts/get`.
pub async fn get_prompt(
    gateway: &Arc<Gateway>,
    exchange: &Exchange,
    params: Option<&RawValue>,
) -> Result<String, RpcError> {
    ask(gateway, exchange, ("prompts/get", "prompts"), &[OfferKind::Prompts], "name", object(params)?).await
}

/// `completion/complete`.
pub async fn complete(
    gateway: &Arc<Gateway>,
    exchange: &Exchange,
    params: Option<&RawValue>,
) -> Result<String, RpcError> {
    const METHOD: (&str, &str) = ("completion/complete", "completions");
    available(gateway, &exchange.caller, METHOD.1, METHOD.0)?;
    let params = object(params)?;
    let kind = params.get("ref").and_then(|reference| reference.get("type")).and_then(Value::as_str);
    match kind {
        Some("ref/prompt") => ask(gateway, exchange, METHOD, &[OfferKind::Prompts], "name", params).await,
        Some("ref/resource") => {
            const KINDS: &[OfferKind] = &[OfferKind::ResourceTemplates, OfferKind::Resources];
            ask(gateway, exchange, METHOD, KINDS, "uri", params).await
        }
        _ => Err(RpcError::invalid_params(
            "Invalid params: the type of 'ref' must be 'ref/prompt' or 'ref/resource'",
        )),
    }
}

/// `method` has the capability that a server needs for it.
async fn ask(
    gateway: &Arc<Gateway>,
    exchange: &Exchange,
    (method, capability): (&'static str, &'static str),
    kinds: &'static [OfferKind],
    member: &'static str,
    mut params: Map<String, Value>,
) -> Result<String, RpcError> {
    let named = match params.get("ref").filter(|_| method == "completion/complete") {
        Some(reference) => reference.get(member),
        None => params.get(member),
    };
    let named = named.and_then(Value::as_str).map(str::to_owned);
    let unnamed = || RpcError::invalid_params(format!("Invalid params: '{member}' must be a string"));
    let key = match (available(gateway, &exchange.caller, capability, method), named) {
        (Ok(()), Some(key)) => key,
        (there, named) => {
            let kind = if there.is_err() { ErrorKind::NotFound } else { ErrorKind::InvalidArguments };
            let call = OfferCall { method, kinds, key: named.unwrap_or_default(), params };
            let error = there.err().unwrap_or_else(unnamed);
            return Err(not_asked(gateway, &exchange.caller, &call, kind, error));
        }
    };
    let own = ["_meta", "inputResponses", "requestState"];
    let round: Map<String, Value> = own.into_iter().filter_map(|name| params.remove_entry(name)).collect();
    let subject =
        RequestSubject { method, name: key.clone(), arguments: Arc::new(Arguments::new(params.clone())) };
    let call = OfferCall { method, kinds, key, params };
    let run = async move |context: RunningContext| {
        let RunningContext { gateway, caller, extras, cancel } = context;
        let arguments = call.params.get("arguments").cloned().unwrap_or_else(|| json!({}));
        let record = event(&call, &arguments).map(|event| AuditedRequest::new(&gateway, &caller, event));
        let asked = gateway.upstreams.ask_offer(&caller.view, &call, &extras);
        let answered = tokio::select! {
            answered = asked => answered,
            () = cancel.cancelled() => Err(HubError::new(ErrorKind::Cancelled, "Cancelled.")),
        };
        let failure = answered.as_ref().err().map(|error| error.kind);
        let written = record.map_or(Ok(()), |record| record.write(failure));
        let answered = written.and_then(|()| answered.map_err(|error| refused(&caller, &call, error)));
        let is_failure = answered.is_err();
        let kind = if call.method == "resources/read" { ResultKind::Cacheable } else { ResultKind::Plain };
        FinishedRequest {
            answer: answered.map(|result| {
                let sizes = result.values().map(|value| size_within(value, LARGE));
                let bytes = sizes.sum::<Option<usize>>().unwrap_or(usize::MAX);
                heavy(bytes, || foreign_object(caller.era, result, kind))
            }),
            is_failure,
        }
    };
    answer_or_ask(gateway, exchange, &subject, round, run, |refusal| refusal).await
}

/// Writes down a request that is refused before a server is asked.
fn not_asked(
    gateway: &Gateway,
    caller: &Caller,
    call: &OfferCall,
    kind: ErrorKind,
    error: RpcError,
) -> RpcError {
    let arguments = call.params.get("arguments").unwrap_or(&Value::Null);
    let record = event(call, arguments).map(|event| AuditedRequest::new(gateway, caller, event));
    record.and_then(|record| record.write(Some(kind)).err()).unwrap_or(error)
}

/// What the audit log records of a request; completions are not recorded.
fn event<'a>(call: &'a OfferCall, arguments: &'a Value) -> Option<AuditEvent<'a>> {
    match call.method {
        "resources/read" => Some(AuditEvent::Resource { uri: &call.key }),
        "prompts/get" => Some(AuditEvent::Prompt { prompt: &call.key, arguments }),
        _ => None,
    }
}

fn refused(caller: &Caller, call: &OfferCall, error: HubError) -> RpcError {
    match (error.kind, error.code) {
        (ErrorKind::Cancelled, _) => cancelled(),
        (ErrorKind::NotFound, _) => missing(caller.era, call),
        // The eras disagree about the code of a resource that is not there.
        (ErrorKind::Rpc, Some(NO_RESOURCE)) if caller.era == Era::Modern => missing(caller.era, call),
        (ErrorKind::InvalidArguments, _) => RpcError::invalid_params(error.message),
        _ => upstream_refusal(&error).unwrap_or_else(|| RpcError::new(INTERNAL_ERROR, error.message)),
    }
}

/// Why a resource cannot be subscribed to.
pub fn subscription_refused(caller: &Caller, uri: String, error: HubError) -> RpcError {
    let call = OfferCall { method: "resources/read", kinds: &[], key: uri, params: Map::new() };
    match error.kind {
        ErrorKind::NotAllowed | ErrorKind::Limit => RpcError::invalid_params(error.message),
        _ => refused(caller, &call, error),
    }
}

/// The same for what does not exist and for what the caller must not know of.
fn missing(era: Era, call: &OfferCall) -> RpcError {
    if call.method != "resources/read" {
        let what = if call.kinds == [OfferKind::Prompts] { "prompt" } else { "resource template" };
        return RpcError::invalid_params(format!("Unknown {what}: {}", clip(&call.key)));
    }
    let error = match era {
        Era::Legacy => RpcError::new(NO_RESOURCE, "Resource not found"),
        Era::Modern => RpcError::invalid_params("Resource not found"),
    };
    error.with_data(json!({"uri": call.key}))
}
