//! `subscriptions/listen`: the answer is a stream of changes, until one side ends it.

use crate::Exchange;
use crate::identity::{needs_tasks, revoked, takes_tasks};
use crate::rpc::{RpcError, RpcId, RpcParams, must_be, notification_message};
use crate::session::{ClientChanges, ClientSubscriptions, MOST_RESOURCES, WantedLists, WantedTasks};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use toolhub_protocol::SERVER_KEY;

const TASK_IDS: &str = "taskIds";
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Reports changes until the client goes or the gateway stops. The first message confirms what will be reported.
pub async fn listen(exchange: &Exchange, id: &RpcId, params: RpcParams) -> Result<String, RpcError> {
    let gateway = &exchange.gateway;
    // Boxed, and its own function: a stream that waits keeps no more than it reports by.
    let (mut changes, confirmed) = Box::pin(begin(exchange, id, params)).await?;
    if !exchange.outlet.send(confirmed).await {
        return Err(RpcError::invalid_request("The client must accept text/event-stream"));
    }
    let (view, principal) = (&exchange.caller.view, &exchange.caller.principal);
    let reports = async {
        loop {
            let (method, mut params) = changes.next(&gateway.hub, view).await;
            params["_meta"] = meta_of(id);
            if !exchange.outlet.send(notification_message(method, &params)).await {
                break std::future::pending::<()>().await;
            }
        }
    };
    // A pipe has no credentials.
    let is_http = exchange.caller.session.is_none();
    tokio::select! {
        () = reports => {}
        () = exchange.cancel.cancelled() => {}
        () = gateway.operation.closing.cancelled() => {}
        () = revoked(gateway, principal, view), if is_http => {}
    }
    let meta = json!({SERVER_KEY: gateway.server_info(), SUBSCRIPTION_KEY: id_of(id)});
    Ok(json!({"resultType": "complete", "_meta": meta}).to_string())
}

/// The changes that the client wants to hear of, from now on, and the message that confirms it.
async fn begin(
    exchange: &Exchange,
    id: &RpcId,
    mut params: RpcParams,
) -> Result<(ClientChanges, String), RpcError> {
    let gateway = &exchange.gateway;
    let wanted = params.take_object("notifications")?;
    let wanted = &wanted.ok_or_else(|| must_be("notifications", "an object"))?;
    let wants = |name: &str| wanted.get(name).and_then(Value::as_bool) == Some(true);
    let (view, principal) = (&exchange.caller.view, &exchange.caller.principal);
    let lists = WantedLists {
        tools: wants("toolsListChanged"),
        resources: wants("resourcesListChanged") && gateway.upstreams.may_have(view, "resources"),
        prompts: wants("promptsListChanged") && gateway.upstreams.may_have(view, "prompts"),
    };
    let tasks = wanted_tasks(exchange, wanted)?;
    let subscribed = ClientSubscriptions::default();
    // From before the confirmation, so that no change is lost in between.
    let wants = (lists, tasks.clone());
    let changes = ClientChanges::new(gateway, (view, principal), wants, subscribed.clone());
    let resources = subscribe(exchange, wanted, &subscribed).await;
    let lists = [
        ("toolsListChanged", lists.tools),
        ("resourcesListChanged", lists.resources),
        ("promptsListChanged", lists.prompts),
    ];
    let mut honoured: Map<String, Value> = lists
        .into_iter()
        .filter(|(_, is_honoured)| *is_honoured)
        .map(|(name, _)| (name.to_owned(), json!(true)))
        .collect();
    if !resources.is_empty() {
        honoured.insert("resourceSubscriptions".to_owned(), Value::Array(resources));
    }
    if let Some(WantedTasks::These(ids)) = &tasks {
        honoured.insert(TASK_IDS.to_owned(), ids.iter().map(|id| json!(&**id)).collect());
    }
    let confirmed = json!({"notifications": honoured, "_meta": meta_of(id)});
    Ok((changes, notification_message("notifications/subscriptions/acknowledged", &confirmed)))
}

fn id_of(id: &RpcId) -> Value {
    serde_json::from_str(id.as_json()).unwrap_or_default()
}

/// What tells the messages of this stream apart from those of others.
fn meta_of(id: &RpcId) -> Value {
    json!({SUBSCRIPTION_KEY: id_of(id)})
}

/// The tasks of the caller that the client names.
fn wanted_tasks(exchange: &Exchange, wanted: &Map<String, Value>) -> Result<Option<WantedTasks>, RpcError> {
    let caller = &exchange.caller;
    let Some(Value::Array(named)) = wanted.get(TASK_IDS) else { return Ok(None) };
    if !takes_tasks(caller) {
        return Err(needs_tasks());
    }
    let named = named.iter().filter_map(Value::as_str).take(MOST_RESOURCES);
    let own = named.filter(|id| exchange.gateway.kept.task(caller, id).is_some());
    Ok(Some(WantedTasks::These(own.map(Arc::from).collect())))
}

/// Subscribes to the resources that the client names; returns those that it will hear of.
async fn subscribe(
    exchange: &Exchange,
    wanted: &Map<String, Value>,
    subscribed: &ClientSubscriptions,
) -> Vec<Value> {
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
    let named = wanted.get("resourceSubscriptions").and_then(Value::as_array).into_iter().flatten();
    let mut honoured = Vec::new();
    for uri in named.filter_map(Value::as_str).take(MOST_RESOURCES) {
        if let Ok(resource) = gateway.upstreams.subscribe(&caller.view, &caller.principal, uri).await
            && subscribed.add(uri.to_owned(), resource)
        {
            honoured.push(json!(uri));
        }
    }
    honoured
}
