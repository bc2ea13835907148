//! What the gateway says that it can do: tools always, the rest if a server behind the view has it.

use crate::gateway::caller::Caller;
use crate::gateway::state::Gateway;
use serde_json::{Value, json};

/// The capabilities of both eras. No server is waited for: one that is silent would delay every client. A server that was
/// never connected may have anything; a client that asks for what it does not have gets an empty list.
pub fn capabilities(gateway: &Gateway, caller: &Caller) -> Value {
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
