//! What the gateway says that it can do: tools always, the rest if a server behind the view has it.

use crate::Exchange;
use crate::methods::search_mode;
use serde_json::{Value, json};
use toolhub_types::error::clip;

/// The bytes of the instructions of all servers together.
const LONGEST_INSTRUCTIONS: usize = 16_000;

/// The capabilities of both eras. A server that was never connected may have anything; a client that asks for what it does not
/// have gets an empty list.
pub fn capabilities(exchange: &Exchange) -> Value {
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
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
    let extensions = gateway.upstreams.extensions(&caller.view);
    if !extensions.is_empty() {
        capabilities["extensions"] = Value::Object(extensions);
    }
    capabilities
}

/// The instructions of the hub and then those of its servers, each with its name. In search mode a client gets those of a server
/// with the description of a tool; a caller who sees some tools only gets none, because they may speak of others.
pub fn instructions(exchange: &Exchange) -> Option<String> {
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
    let own = caller.view.instructions.as_ref().or(gateway.options.instructions.as_ref());
    let mut all: Vec<String> = own.map(|text| text.to_string()).into_iter().collect();
    let is_whole =
        caller.view.shows_everything() && !search_mode::is_on(&caller.view, &gateway.hub.registry.load());
    let mut left = LONGEST_INSTRUCTIONS;
    for id in gateway.upstreams.server_ids().into_iter().filter(|_| is_whole) {
        let Some(text) = gateway.upstreams.instructions(&id) else { continue };
        let said = format!("Server '{}' says:\n{text}", clip(&id));
        let Some(rest) = left.checked_sub(said.len()) else { break };
        left = rest;
        all.push(said);
    }
    Some(all.join("\n\n")).filter(|text| !text.is_empty())
}
