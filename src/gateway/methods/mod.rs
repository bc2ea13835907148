//! The methods of the protocol, the same for all endpoints.

mod asking;
mod call;
mod call_record;
mod definition;
mod listen;
mod logging;
mod perform;
mod results;
mod search_tools;
mod tools;

use super::era::{ResultKind, legacy, modern, own_result};
use super::exchange::Exchange;
use super::rpc::{RpcError, RpcRequest};
use super::state::Gateway;
use crate::model::protocol::Era;
use std::sync::Arc;

/// The JSON text of the result, in the form of the caller's era.
pub async fn dispatch(
    gateway: &Arc<Gateway>,
    request: &RpcRequest,
    exchange: &Exchange,
) -> Result<String, RpcError> {
    let params = request.params.as_deref();
    let era = exchange.caller.era;
    let instructions = exchange.caller.view.instructions.as_ref().or(gateway.options.instructions.as_ref());
    let instructions = instructions.map(|text| &**text);
    match (request.method.as_str(), era) {
        ("initialize", Era::Legacy) => {
            Ok(legacy::welcome(gateway, legacy::initialize(params)?.version, instructions))
        }
        ("server/discover", Era::Modern) => Ok(modern::discovered(gateway, instructions)),
        ("ping", Era::Legacy) => Ok(own_result(gateway, era, "{}".to_owned(), ResultKind::Plain)),
        ("logging/setLevel", Era::Legacy) => logging::set_level(params),
        ("tools/list", _) => {
            // Some clients list the tools once, so servers that are just being started are waited for.
            gateway.upstreams.listed().await;
            tools::list(gateway, &exchange.caller, params)
        }
        // Boxed: a request that listens would keep as much memory as a call needs.
        ("tools/call", _) => Box::pin(call::call(gateway, exchange, params)).await,
        ("tools/describe", _) => tools::describe(gateway, &exchange.caller, params),
        ("subscriptions/listen", Era::Modern) => listen::listen(gateway, request, exchange).await,
        (method, _) => Err(RpcError::no_such_method(method)),
    }
}
