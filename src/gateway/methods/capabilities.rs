//! What the gateway says that it can do: tools always, the rest if a server behind the view has it.

use crate::gateway::caller::Caller;
use crate::gateway::state::Gateway;
use serde_json::{Value, json};
use std::time::Duration;

/// How long servers that are just being started may take to say what they have. One that takes longer may have anything.
const PATIENCE: Duration = Duration::from_secs(2);

/// The capabilities of both eras.
pub async fn capabilities(gateway: &Gateway, caller: &Caller) -> Value {
    let _ = tokio::time::timeout(PATIENCE, gateway.upstreams.listed()).await;
    let has = |capability: &str| gateway.upstreams.may_have(&caller.view, capability);
    let mut capabilities = json!({"tools": {"listChanged": true}});
    if has("resources") {
        capabilities["resources"] = json!({"listChanged": true});
        if has("resources.subscribe") {
            capabilities["resources"]["subscribe"] = json!(true);
        }
    }
    if has("prompts") {
        capabilities["prompts"] = json!({"listChanged": true});
    }
    if has("completions") {
        capabilities["completions"] = json!({});
    }
    capabilities
}
