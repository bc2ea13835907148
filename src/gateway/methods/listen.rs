//! `subscriptions/listen`: the answer is a stream of changes, until one side ends it.

use crate::gateway::era::{ResultKind, modern_result};
use crate::gateway::exchange::Exchange;
use crate::gateway::list_changes::ListChanges;
use crate::gateway::rpc::{RpcError, RpcRequest, notification_message, object};
use crate::gateway::state::Gateway;
use serde_json::{Map, Value, json};

const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Reports changes until the client goes or the gateway stops. The first message confirms what will be reported.
pub async fn listen(
    gateway: &Gateway,
    request: &RpcRequest,
    exchange: &Exchange,
) -> Result<String, RpcError> {
    let params = object(request.params.as_deref())?;
    let Some(Value::Object(wanted)) = params.get("notifications") else {
        return Err(RpcError::invalid_params("Invalid params: 'notifications' must be an object"));
    };
    let wants_tools = wanted.get("toolsListChanged").and_then(Value::as_bool) == Some(true);
    let id: Value = serde_json::from_str(request.id.as_json()).unwrap_or_default();
    let meta = json!({SUBSCRIPTION_KEY: id});
    let mut honoured = Map::new();
    if wants_tools {
        honoured.insert("toolsListChanged".to_owned(), json!(true));
    }
    let view = &exchange.caller.view;
    // From before the confirmation, so that no change is lost in between.
    let mut changes = ListChanges::new(gateway, view);
    let confirmed = json!({"notifications": honoured, "_meta": meta});
    let confirmed = notification_message("notifications/subscriptions/acknowledged", &confirmed);
    if !exchange.outlet.send(confirmed).await {
        return Err(RpcError::invalid_request("The client must accept text/event-stream"));
    }
    let reports = async {
        while wants_tools && changes.next(gateway, view).await {
            let changed = notification_message("notifications/tools/list_changed", &json!({"_meta": meta}));
            if !exchange.outlet.send(changed).await {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = reports => {}
        () = exchange.cancel.cancelled() => {}
        () = gateway.stop.cancelled() => {}
    }
    Ok(modern_result(gateway, "{}", ResultKind::Plain, &[(SUBSCRIPTION_KEY, &id)]))
}
