//! `resources/subscribe` and `resources/unsubscribe` of legacy clients.

use super::offers::subscription_refused;
use crate::Exchange;
use crate::rpc::{RpcError, RpcParams};

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
    if !exchange.gateway.upstreams.may_have(&exchange.caller.view, "resources.subscribe") {
        return Err(RpcError::no_such_method(method));
    }
    params.text("uri").map(str::to_owned)
}
