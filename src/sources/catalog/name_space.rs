//! Names that tell which server has a resource or prompt: `toolhub://<server>/<uri>` and `<server>__<prompt>`. The interface
//! `ui://<path>` of an app is `ui://toolhub/<server>/<path>`, because clients take no other scheme for one.
//!
//! They are understood at any time and always mean that server, whatever others list: a server that lists a name inside another
//! one's space would be asked in its place.

use crate::mcp::tool_list::Listed;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;
use toolhub_protocol::APPS_SCHEME;
use toolhub_text::pattern::BETWEEN;
use toolhub_types::model::OfferKind;

const SCHEME: &str = "toolhub://";
const APPS: &str = "ui://toolhub/";

/// The ids of all servers of a hub, also of those that a caller does not see.
pub struct NameSpaces(pub Vec<Arc<str>>);

impl NameSpaces {
    /// The server that a key names, and the rest of the key. Of several that fit, the one with the longest id.
    pub fn owner<'a>(&self, kind: OfferKind, key: &'a str) -> Option<(&Arc<str>, Cow<'a, str>)> {
        let named = self.0.iter().filter_map(|id| {
            let rest =
                |start: &str| key.strip_prefix(&own_key(kind, id, start)).filter(|rest| !rest.is_empty());
            let of_app = || rest(APPS_SCHEME).map(|rest| Cow::Owned(format!("{APPS_SCHEME}{rest}")));
            Some((id, rest("").map(Cow::Borrowed).or_else(of_app)?))
        });
        named.min_by_key(|(_, rest)| rest.len())
    }

    /// The other server in whose space the key of an offer of `server` is.
    pub fn trespassed(&self, kind: OfferKind, server: &str, key: &str) -> Option<&Arc<str>> {
        self.owner(kind, key).map(|(owner, _)| owner).filter(|owner| &***owner != server)
    }
}

/// The key of an offer that names its server.
pub fn own_key(kind: OfferKind, server: &str, key: &str) -> String {
    match (kind, key.strip_prefix(APPS_SCHEME)) {
        (OfferKind::Prompts, _) => format!("{server}{BETWEEN}{key}"),
        (_, Some(path)) => format!("{APPS}{}/{path}", host(server)),
        (_, None) => format!("{SCHEME}{}/{key}", host(server)),
    }
}

/// The id of a server as the host of a URI.
fn host(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let encoded = |byte: u8| if plain(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") };
    id.bytes().map(encoded).collect()
}

// MCP Apps: tools with a user interface, which is a resource of their server, and tools for such interfaces alone.

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
        if let Some(uri) = own.other.get_mut(META).and_then(|meta| meta.pointer_mut(place)) {
            *uri = Value::String(own_key(OfferKind::Resources, server, uri.as_str().unwrap_or_default()));
        }
    }
    Arc::new(own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spaces(ids: &[&str]) -> NameSpaces {
        NameSpaces(ids.iter().map(|id| Arc::from(*id)).collect())
    }

    #[test]
    fn a_name_belongs_to_the_server_that_it_names() {
        let spaces = spaces(&["good", "evil", "a", "a__b"]);
        let trespassed =
            |kind, server: &str, key: &str| spaces.trespassed(kind, server, key).map(|id| id.to_string());
        assert_eq!(trespassed(OfferKind::Prompts, "evil", "good__greet").as_deref(), Some("good"));
        assert_eq!(
            trespassed(OfferKind::Resources, "evil", "toolhub://good/note://x").as_deref(),
            Some("good")
        );
        assert_eq!(
            trespassed(OfferKind::ResourceTemplates, "evil", "toolhub://good/{x}").as_deref(),
            Some("good")
        );
        for (kind, key) in [
            (OfferKind::Prompts, "good__greet"),
            (OfferKind::Prompts, "greet"),
            (OfferKind::Prompts, "good__"),
            (OfferKind::Prompts, "other__greet"),
            (OfferKind::Resources, "toolhub://good/note://x"),
            (OfferKind::Resources, "toolhub://other/note://x"),
            (OfferKind::Resources, "good__greet"),
        ] {
            assert_eq!(trespassed(kind, "good", key), None, "{key}");
        }
        let owner = |kind, key| spaces.owner(kind, key).map(|(id, rest)| (id.to_string(), rest.into_owned()));
        let is = |id: &str, rest: &str| Some((id.to_owned(), rest.to_owned()));
        assert_eq!(owner(OfferKind::Prompts, "a__b__c"), is("a__b", "c"));
        assert_eq!(
            own_key(OfferKind::Resources, "good", "ui://form/x.html"),
            "ui://toolhub/good/form/x.html"
        );
        assert_eq!(owner(OfferKind::Resources, "ui://toolhub/good/form/x"), is("good", "ui://form/x"));
        assert_eq!(owner(OfferKind::Resources, "ui://toolhub/good/"), None);
        assert_eq!(owner(OfferKind::Resources, "toolhub://good/ui://form/x"), is("good", "ui://form/x"));
    }

    proptest! {
        #[test]
        fn a_key_with_its_server_leads_back(id in "[ -~]{1,12}", key in "\\PC{1,20}") {
            let spaces = spaces(&[&id]);
            for kind in OfferKind::ALL {
                let named = own_key(kind, &id, &key);
                prop_assert_eq!(spaces.owner(kind, &named), Some((&Arc::from(&*id), Cow::from(&*key))));
            }
        }
    }
}
