//! The methods of the protocol, the same for all endpoints.

mod audit;
mod call;
mod capabilities;
mod elicitation;
mod execute;
mod listen;
mod logging;
mod offers;
mod pages;
mod results;
pub mod search_mode;
mod search_tools;
mod tasks;
mod tools;

use crate::Exchange;
use crate::era::{ResultKind, legacy, modern, own_result};
use crate::rpc::{INTERNAL_ERROR, RpcError, RpcRequest};
use capabilities::{capabilities, instructions};
use execute::SHORT_PATIENCE;
use std::sync::Arc;
use std::time::Duration;
use toolhub_protocol::Era;
use toolhub_types::model::OfferKind;

/// The JSON text of the result, in the form of the caller's era. One that is too long is replaced by an error; that of a tool
/// was kept before.
pub async fn dispatch(exchange: &Arc<Exchange>, request: RpcRequest) -> Result<String, RpcError> {
    let most = exchange.gateway.options.max_result(&exchange.caller);
    let answer = answered(exchange, request).await?;
    match answer.len() > most {
        true => Err(RpcError::new(
            INTERNAL_ERROR,
            format!(
                "The result has {} bytes; results above {most} bytes (max_result) are not sent",
                answer.len()
            ),
        )),
        false => Ok(answer),
    }
}

async fn answered(exchange: &Arc<Exchange>, request: RpcRequest) -> Result<String, RpcError> {
    let RpcRequest { id, method, params } = request;
    let (gateway, era) = (&exchange.gateway, exchange.caller.era);
    // Boxed: a request that listens would keep as much memory as a call needs.
    match (method.as_str(), era) {
        ("initialize", Era::Legacy) => {
            let version = legacy::initialize(&params)?.version;
            wait_for_servers(exchange, SHORT_PATIENCE).await;
            let instructions = instructions(exchange);
            Ok(legacy::welcome(gateway, version, capabilities(exchange), instructions.as_deref()))
        }
        ("server/discover", Era::Modern) => {
            // A client that gets no answer for two seconds may take the hub for a server of the older protocol.
            wait_for_servers(exchange, DISCOVERY_PATIENCE).await;
            let instructions = instructions(exchange);
            Ok(modern::discovered(gateway, capabilities(exchange), instructions.as_deref()))
        }
        ("ping", Era::Legacy) => Ok(own_result(gateway, era, "{}".to_owned(), ResultKind::Plain)),
        ("logging/setLevel", Era::Legacy) => Box::pin(logging::set_level(exchange, &params)).await,
        ("tools/list", _) => {
            // Some clients list the tools once, so servers that are just being started are waited for.
            gateway.upstreams.listed(&exchange.caller.view, None).await;
            tools::list_now(exchange, &params).await;
            tools::list(exchange, &params)
        }
        ("tools/call", _) => Box::pin(call::call(exchange, params)).await,
        ("tools/describe", _) => Box::pin(tools::describe(exchange, &params)).await,
        ("resources/list", _) => Box::pin(offers::list(exchange, OfferKind::Resources, &params)).await,
        ("resources/templates/list", _) => {
            Box::pin(offers::list(exchange, OfferKind::ResourceTemplates, &params)).await
        }
        ("resources/read" | "prompts/get" | "completion/complete", _) => {
            Box::pin(until_given_up(exchange, offers::ask(exchange, &method, params))).await
        }
        ("resources/subscribe", Era::Legacy) => Box::pin(offers::subscribe(exchange, &params)).await,
        ("resources/unsubscribe", Era::Legacy) => offers::unsubscribe(exchange, &params),
        ("prompts/list", _) => Box::pin(offers::list(exchange, OfferKind::Prompts, &params)).await,
        ("tasks/get", _) => tasks::get(exchange, &params),
        ("tasks/cancel", _) => tasks::cancel(exchange, &params),
        ("tasks/result", Era::Legacy) => Box::pin(tasks::result(exchange, &params)).await,
        ("tasks/list", Era::Legacy) => tasks::list(exchange, &params),
        ("tasks/update", Era::Modern) => tasks::update(exchange, params),
        ("subscriptions/listen", Era::Modern) => listen::listen(exchange, &id, params).await,
        (method, _) => Err(RpcError::no_such_method(method)),
    }
}

/// How long the answer to `server/discover` waits for servers that have not listed their tools.
const DISCOVERY_PATIENCE: Duration = Duration::from_secs(1);

/// Waits a little for servers that are just being started: what they say of themselves is told once, in the welcome, and only to
/// callers who see everything. A client must not take the hub for dead meanwhile.
async fn wait_for_servers(exchange: &Exchange, patience: Duration) {
    let view = &exchange.caller.view;
    if view.shows_everything() {
        exchange.gateway.upstreams.listed(view, Some(patience)).await;
    }
}

/// Runs a request that may wait for a function that ignores its cancellation. A drain ends the wait.
async fn until_given_up(
    exchange: &Exchange,
    request: impl Future<Output = Result<String, RpcError>>,
) -> Result<String, RpcError> {
    tokio::select! {
        biased;
        answer = request => answer,
        () = exchange.gateway.operation.abandon.cancelled() => Err(results::cancelled().in_doubt()),
    }
}
