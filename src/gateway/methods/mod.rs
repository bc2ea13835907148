//! The methods of the protocol, the same for all endpoints.

pub mod asking;
mod audited;
mod call;
mod capabilities;
mod definition;
mod listen;
mod logging;
mod offers;
mod pages;
mod perform;
mod results;
mod rounds;
mod search_tools;
mod subscribe;
mod tasks;
mod tools;

use super::era::{ResultKind, legacy, modern, own_result};
use super::exchange::Exchange;
use super::rpc::{INTERNAL_ERROR, RpcError, RpcRequest};
use super::state::Gateway;
use capabilities::{capabilities, instructions};
use perform::SHORT_PATIENCE;
use std::sync::Arc;
use std::time::Duration;
use toolhub_protocol::Era;
use toolhub_types::model::OfferKind;

/// The JSON text of the result, in the form of the caller's era. One that is too long is replaced by an error; that of a tool
/// was kept before.
pub async fn dispatch(
    gateway: &Arc<Gateway>,
    request: RpcRequest,
    exchange: &Exchange,
) -> Result<String, RpcError> {
    let most = gateway.options.max_result(&exchange.caller);
    let answer = answered(gateway, request, exchange).await?;
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

async fn answered(
    gateway: &Arc<Gateway>,
    request: RpcRequest,
    exchange: &Exchange,
) -> Result<String, RpcError> {
    let RpcRequest { id, method, params } = request;
    let era = exchange.caller.era;
    match (method.as_str(), era) {
        ("initialize", Era::Legacy) => {
            let version = legacy::initialize(&params)?.version;
            wait_for_servers(gateway, exchange, SHORT_PATIENCE).await;
            let capabilities = capabilities(gateway, &exchange.caller);
            let instructions = instructions(gateway, &exchange.caller);
            Ok(legacy::welcome(gateway, version, capabilities, instructions.as_deref()))
        }
        ("server/discover", Era::Modern) => {
            // A client that gets no answer for two seconds may take the hub for a server of the older protocol.
            wait_for_servers(gateway, exchange, DISCOVERY_PATIENCE).await;
            let instructions = instructions(gateway, &exchange.caller);
            let capabilities = capabilities(gateway, &exchange.caller);
            Ok(modern::discovered(gateway, capabilities, instructions.as_deref()))
        }
        ("ping", Era::Legacy) => Ok(own_result(gateway, era, "{}".to_owned(), ResultKind::Plain)),
        ("logging/setLevel", Era::Legacy) => {
            Box::pin(logging::set_level(gateway, &exchange.caller, &params)).await
        }
        ("tools/list", _) => {
            // Some clients list the tools once, so servers that are just being started are waited for.
            gateway.upstreams.listed(&exchange.caller.view, None).await;
            tools::list_now(gateway, exchange, &params).await;
            tools::list(gateway, &exchange.caller, &params)
        }
        // Boxed: a request that listens would keep as much memory as a call needs.
        ("tools/call", _) => Box::pin(call::call(gateway, exchange, params)).await,
        ("tools/describe", _) => Box::pin(tools::describe(gateway, exchange, &params)).await,
        ("resources/list", _) => {
            Box::pin(offers::list(gateway, &exchange.caller, OfferKind::Resources, &params)).await
        }
        ("resources/templates/list", _) => {
            Box::pin(offers::list(gateway, &exchange.caller, OfferKind::ResourceTemplates, &params)).await
        }
        ("resources/read", _) => {
            Box::pin(until_given_up(gateway, offers::read(gateway, exchange, params))).await
        }
        ("resources/subscribe", Era::Legacy) => {
            Box::pin(subscribe::subscribe(gateway, &exchange.caller, &params)).await
        }
        ("resources/unsubscribe", Era::Legacy) => subscribe::unsubscribe(gateway, &exchange.caller, &params),
        ("prompts/list", _) => {
            Box::pin(offers::list(gateway, &exchange.caller, OfferKind::Prompts, &params)).await
        }
        ("prompts/get", _) => {
            Box::pin(until_given_up(gateway, offers::get_prompt(gateway, exchange, params))).await
        }
        ("completion/complete", _) => {
            Box::pin(until_given_up(gateway, offers::complete(gateway, exchange, params))).await
        }
        ("tasks/get", _) => tasks::get(gateway, &exchange.caller, &params),
        ("tasks/cancel", _) => tasks::cancel(gateway, &exchange.caller, &params),
        ("tasks/result", Era::Legacy) => Box::pin(tasks::result(gateway, exchange, &params)).await,
        ("tasks/list", Era::Legacy) => tasks::list(gateway, &exchange.caller, &params),
        ("tasks/update", Era::Modern) => tasks::update(gateway, &exchange.caller, params),
        ("subscriptions/listen", Era::Modern) => listen::listen(gateway, &id, params, exchange).await,
        (method, _) => Err(RpcError::no_such_method(method)),
    }
}

/// How long the answer to `server/discover` waits for servers that have not listed their tools.
const DISCOVERY_PATIENCE: Duration = Duration::from_secs(1);

/// Waits a little for servers that are just being started: what they say of themselves is told once, in the welcome, and only to
/// callers who see everything. A client must not take the hub for dead meanwhile.
async fn wait_for_servers(gateway: &Gateway, exchange: &Exchange, patience: Duration) {
    let view = &exchange.caller.view;
    if view.shows_everything() {
        gateway.upstreams.listed(view, Some(patience)).await;
    }
}

/// Runs a request that may wait for a function that ignores its cancellation. A drain ends the wait.
async fn until_given_up(
    gateway: &Gateway,
    request: impl Future<Output = Result<String, RpcError>>,
) -> Result<String, RpcError> {
    tokio::select! {
        biased;
        answer = request => answer,
        () = gateway.given_up.cancelled() => Err(results::cancelled().in_doubt()),
    }
}
