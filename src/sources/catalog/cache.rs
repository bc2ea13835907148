//! Tool lists over restarts: what a server has listed, and what it has said of itself with the list, goes into the store, and is
//! there before it is connected again.

use crate::mcp::config::{Command, Endpoint, ServerConfig};
use crate::mcp::connection::ServerIdentity;
use crate::mcp::protocol::{Era, NegotiatedProtocol, version};
use crate::mcp::server::Server;
use crate::mcp::tool_list::Listing;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use toolhub_store::{ListKey, Store, StoredList};

/// What is kept as the text of a list.
#[derive(Serialize, Deserialize)]
struct KeptList<'a> {
    #[serde(borrow)]
    tools: &'a RawValue,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    extensions: Map<String, Value>,
}

pub fn keep(store: &Store, server: &Server, identity: &ServerIdentity, listing: &Listing) {
    let Ok(tools) = RawValue::from_string(listing.to_json()) else { return };
    let kept = KeptList {
        tools: &tools,
        instructions: server.shown_instructions(),
        extensions: server.callbacks().extensions.lock().clone(),
    };
    let Ok(text) = serde_json::to_string(&kept) else { return };
    let list = StoredList {
        era: identity.era.name().to_owned(),
        protocol: identity.version.to_owned(),
        version: identity.program_version(),
        listed_at: SystemTime::now(),
        ttl_ms: listing.ttl_ms,
        tools: text,
    };
    store.save_list(key(server.config()), list);
}

/// What the server listed in an earlier process. Nothing is started for it; the first call connects and lists again.
pub fn recall(store: &Store, server: &Arc<Server>) {
    let Some(list) = store.list(&key(server.config())) else { return };
    let Some(era) = Era::parse(&list.era) else { return };
    let age = list.listed_at.elapsed().unwrap_or_default();
    let Ok(kept) = serde_json::from_str::<KeptList<'_>>(&list.tools) else { return };
    if let Ok(mut listing) = Listing::from_json(kept.tools.get(), era, list.ttl_ms) {
        listing.program_version = list.version.map(Arc::from);
        server.callbacks().set_instructions(kept.instructions);
        *server.callbacks().extensions.lock() = kept.extensions;
        server.restore(listing, NegotiatedProtocol { era, version: version(&list.protocol) }, age);
    }
}

fn key(config: &ServerConfig) -> ListKey {
    ListKey { server: config.id.clone(), config: place(config) }
}

/// A short checksum of where the server is, so that the list of another one under the same id is not taken for its own.
/// Headers and environment, where secrets are, have no part in it, and 32 bits do not give away an argument.
pub fn place(config: &ServerConfig) -> u32 {
    let place = match &config.endpoint {
        Endpoint::Stdio(Command { program, args, cwd, names_cwd, .. }) => {
            let named = cwd.as_deref().filter(|_| *names_cwd).map(Path::to_string_lossy);
            json!(["stdio", program, args, named])
        }
        Endpoint::Http(remote) => json!(["http", remote.url]),
        Endpoint::InProcess(_) => json!("in process"),
    };
    let sum = digest(&SHA256, place.to_string().as_bytes());
    sum.as_ref().iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}
