//! MCP Apps: tools with a user interface, which is a resource of their server, and tools for such interfaces alone.

use super::name_space::own_key;
use crate::mcp::tool_list::Listed;
use serde_json::Value;
use std::sync::Arc;
use toolhub_protocol::APPS_SCHEME;
use toolhub_types::model::OfferKind;

const META: &str = "_meta";
/// Where a definition names its interface; the second form is the older one.
const PLACES: [&str; 2] = ["/ui/resourceUri", "/ui~1resourceUri"];

/// Whether a model may see the tool. `visibility: ["app"]` keeps it to the interfaces of the server.
pub fn is_for_models(listed: &Listed) -> bool {
    let visibility = listed.other.get(META).and_then(|meta| meta.pointer("/ui/visibility")?.as_array());
    visibility.is_none_or(|for_whom| for_whom.iter().any(|one| one == "model"))
}

/// The definition with the interface under the name that tells its server: two servers may have one of the same URI, and need
/// not list it.
pub fn listed(server: &str, listed: &Arc<Listed>) -> Arc<Listed> {
    let named = |place: &&str| {
        let uri = listed.other.get(META).and_then(|meta| meta.pointer(place)?.as_str());
        uri.is_some_and(|uri| uri.starts_with(APPS_SCHEME))
    };
    let places: Vec<&str> = PLACES.into_iter().filter(|place| named(place)).collect();
    if places.is_empty() {
        return listed.clone();
    }
    let mut own = Listed::clone(listed);
    for place in places {
        let uri = own.other.get_mut(META).and_then(|meta| meta.pointer_mut(place));
        if let Some(uri) = uri {
            let key = own_key(OfferKind::Resources, server, uri.as_str().unwrap_or_default());
            *uri = Value::String(key);
        }
    }
    Arc::new(own)
}
