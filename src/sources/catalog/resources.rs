//! Resources and prompts of all servers: listed side by side, and read from the server that has them.

use super::{CONNECT_AT_ONCE, Servers};
use crate::mcp::convert::protocol;
use crate::mcp::resources::{self, OfferKind, ResourceRequest};
use crate::mcp::server::Server;
use crate::mcp::tool_list::Listed;
use futures_util::stream::{self, StreamExt};
use regex::Regex;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use toolhub_engine::offers::{OfferQuery, check_required};
use toolhub_engine::plan::ServerSet;
use toolhub_protocol::APPS_SCHEME;
use toolhub_text::pattern::BETWEEN;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::principal::Principal;
use toolhub_types::tool::CallContextExtras;

/// What one server has of a kind, or why it could not list it.
pub type OfferedBy = (Arc<str>, Result<Vec<Value>>);

/// The servers that a caller may use, and why others are closed to it.
pub(super) type ServersOfCaller = (Vec<Arc<Server>>, Vec<(Arc<str>, HubError)>);

/// How long the others wait for a server that has not listed what it has.
pub(super) const LIST_PATIENCE: Duration = Duration::from_secs(10);

/// The notices about names of each kind.
const MOST_NOTICES: usize = 10;

/// Who asks for a resource or prompt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    /// It can name the server beside the key.
    Program,
    /// Of a gateway: a key is all that it can name. One server that hangs does not delay every list.
    Client,
}

/// The server that may have it could not be asked.
fn not_asked(what: &str, key: &str, (id, error): (Arc<str>, HubError)) -> HubError {
    let reason = match error.kind {
        ErrorKind::Timeout => "it did not answer in time".into(),
        _ => error.message.clause(),
    };
    let text = message!(
        "No server that answered lists the {} '{}', and server '{}' could not be asked: {}.",
        what,
        clip(key),
        id,
        reason
    );
    HubError { message: text, ..error }.with_outcome(Outcome::NotSent)
}

impl Servers {
    /// What these servers have of a kind, or all that are not disabled, as this caller may see it.
    pub async fn offers(
        &self,
        kind: OfferKind,
        ids: Option<&[String]>,
        caller: Option<&Arc<Principal>>,
        limit: Duration,
    ) -> Result<Vec<OfferedBy>> {
        let (servers, closed) = for_caller(self.pick(ids)?, caller);
        let mut lists = self.list_offers(servers, kind, Asker::Program, false, limit).await;
        lists.extend(closed.into_iter().map(|(id, error)| (id, Err(error))));
        Ok(lists)
    }

    /// In the order of the servers. `again`: what a server has listed is good enough.
    pub(super) async fn list_offers(
        &self,
        servers: Vec<Arc<Server>>,
        kind: OfferKind,
        asker: Asker,
        again: bool,
        limit: Duration,
    ) -> Vec<OfferedBy> {
        let one = |server: Arc<Server>| async move {
            if let Some(known) = resources::known(&server, kind).filter(|_| again) {
                return (server.id().clone(), Ok(self.own_names(&server, kind, &known)));
            }
            if asker == Asker::Client && self.is_left_alone(&server) {
                return (server.id().clone(), Err(self.left_alone(&server)));
            }
            let listed = timeout(limit, resources::list(&server, kind)).await;
            let listed = listed.unwrap_or_else(|_| Err(too_late(&server, kind.name(), limit)));
            self.remember(&server, listed.as_ref().err());
            (server.id().clone(), listed.map(|listed| self.own_names(&server, kind, &listed)))
        };
        stream::iter(servers).map(one).buffered(CONNECT_AT_ONCE).collect().await
    }

    /// What a server lists, without names inside the space of another one.
    pub(super) fn own_names(&self, server: &Server, kind: OfferKind, listed: &[Value]) -> Vec<Value> {
        let ids = self.ids();
        let is_own = |offer: &&Value| trespassed(&ids, kind, server.id(), key_of(kind, offer)).is_none();
        listed.iter().filter(is_own).cloned().collect()
    }

    /// The names that a server has listed inside the space of another one, for people.
    pub(super) fn trespasses(&self, server: &Server) -> Vec<String> {
        let ids = self.ids();
        let of_kind = |kind: OfferKind| {
            let listed = resources::known(server, kind)?;
            let sentence = |offer: &Value| {
                let key = key_of(kind, offer);
                let other = trespassed(&ids, kind, server.id(), key)?;
                Some(format!("'{}' is left out: it is a name of server '{other}'", clip(key)))
            };
            Some(listed.iter().filter_map(sentence).take(MOST_NOTICES).collect::<Vec<_>>())
        };
        OfferKind::ALL.into_iter().filter_map(of_kind).flatten().collect()
    }

    /// The answer about a resource, template or prompt, with the server that gave it: the named one, or the only one that lists it.
    pub async fn ask_about(
        &self,
        query: &OfferQuery,
        server: Option<&str>,
        extras: &CallContextExtras,
        limit: Duration,
    ) -> Result<(Arc<str>, Map<String, Value>)> {
        query.check()?;
        let until = Instant::now() + limit;
        let (key, kinds, caller) = (query.key(), query.kinds(), extras.principal.as_ref());
        let (server, key) = match server {
            Some(id) => (self.get(id).ok_or_else(|| self.unknown(id))?.for_caller(caller)?, key.to_owned()),
            None => {
                let among = for_caller(self.pick(None)?, caller);
                self.find_owner(among, kinds, key, Asker::Program, until).await?
            }
        };
        let answer = ask_server(&server, &key, query, extras, (until, limit)).await?;
        Ok((server.id().clone(), answer))
    }

    /// Which of these servers has this resource or prompt, and its key there: the one that the key names, or the only one that
    /// lists it. Fails if the one that may have it could not be asked.
    pub(super) async fn find_owner(
        &self,
        (among, closed): ServersOfCaller,
        kinds: &[OfferKind],
        key: &str,
        asker: Asker,
        until: Instant,
    ) -> Result<(Arc<Server>, String)> {
        // A server that does not answer leaves time for the one that has it.
        let patience = || until.saturating_duration_since(Instant::now()) / 2;
        let kind = kinds.first().copied().unwrap_or(OfferKind::Resources);
        let refuse = |kind, text| Err(HubError::new(kind, text).with_outcome(Outcome::NotSent));
        let missing = || refuse(ErrorKind::NotFound, not_listed(asker, kind.noun(), key));
        let no_answer = |server| Err(not_asked(kind.noun(), key, server));
        if let Some((id, rest)) = owner(&self.ids(), kind, key) {
            let Some(server) = among.into_iter().find(|server| server.id() == id) else {
                return closed.into_iter().find(|(closed, _)| closed == id).map_or_else(missing, no_answer);
            };
            if resources::known(&server, kind).is_none() {
                self.list_offers(vec![server.clone()], kind, asker, false, patience()).await;
            }
            // It may list names of this form itself.
            let is_whole = kinds.iter().any(|kind| known(&server, *kind, key).is_some());
            return Ok((server, if is_whole { key.to_owned() } else { rest.into_owned() }));
        }
        let mut silent_one = None;
        for kind in kinds {
            let has_it = |server: &&Arc<Server>| known(server, *kind, key).is_some();
            let owners = || among.iter().filter(has_it).cloned().collect::<Vec<_>>();
            let mut owning = owners();
            if owning.is_empty() {
                let mut listing = Box::pin(self.list_offers(among.clone(), *kind, asker, false, patience()));
                let listed = match timeout(LIST_PATIENCE, &mut listing).await {
                    Ok(listed) => listed,
                    Err(_) if !owners().is_empty() => Vec::new(),
                    // Only a server that is still starting can have it.
                    Err(_) => listing.await,
                };
                let failed = listed.into_iter().find_map(|(id, offers)| Some((id, offers.err()?)));
                silent_one = silent_one.or(failed);
                owning = owners();
            }
            match &owning[..] {
                [] => {}
                [one] => return Ok((one.clone(), key.to_owned())),
                several => {
                    return refuse(ErrorKind::InvalidArguments, of_several(asker, *kind, key, several));
                }
            }
        }
        // A server that is closed to the caller may have what no other lists.
        if let Some(one) = silent_one.or(closed.into_iter().next()) {
            return no_answer(one);
        }
        // A server may have resources that it does not list, such as those that its tools link to.
        let may_have = |one: &Arc<Server>| one.callbacks().declares(kind.capability()) == Some(true);
        let mut having = among.into_iter().filter(|one| asker == Asker::Client && may_have(one));
        match (having.next(), having.next()) {
            (Some(only), None) => Ok((only, key.to_owned())),
            _ => missing(),
        }
    }
}

fn not_listed(asker: Asker, what: &str, key: &str) -> Message {
    match asker {
        Asker::Program => message!(
            "No server lists the {} '{}'; name its server with `server` to ask for it anyway.",
            what,
            clip(key)
        ),
        Asker::Client => message!("No server lists the {} '{}'.", what, clip(key)),
    }
}

fn of_several(asker: Asker, kind: OfferKind, key: &str, several: &[Arc<Server>]) -> Message {
    let (what, shown) = (kind.noun(), clip(key));
    match asker {
        Asker::Program => {
            let ids: Vec<String> = several.iter().map(|one| format!("'{}'", one.id())).collect();
            let ids = ids.join(", ");
            message!("Several servers have the {} '{}': {}; name one with `server`.", what, shown, ids)
        }
        Asker::Client => {
            let own = |one: &Arc<Server>| format!("'{}'", clip(&own_key(kind, one.id(), key)));
            let names = several.iter().map(own).collect::<Vec<_>>().join(" or ");
            message!("Several servers have the {} '{}'; name it {}.", what, shown, names)
        }
    }
}

/// Asks the server that was found. What the protocol does not allow is not sent: some servers end when they read it, for all
/// their callers.
pub(super) async fn ask_server(
    server: &Arc<Server>,
    key: &str,
    query: &OfferQuery,
    extras: &CallContextExtras,
    (until, limit): (Instant, Duration),
) -> Result<Map<String, Value>> {
    match query {
        OfferQuery::Read { .. } => resources::check_uri(server, key)?,
        OfferQuery::Get { arguments, .. } => {
            if let Some(prompt) = known(server, OfferKind::Prompts, key) {
                check_required(query.key(), &prompt, arguments)?;
            }
        }
        OfferQuery::Complete { .. } => {}
    }
    let request = ResourceRequest { method: query.method(), name: key.to_owned(), params: query.params(key) };
    let asked = timeout_at(until, resources::ask(server, &request, extras)).await;
    let asked = asked.unwrap_or_else(|_| Err(too_late(server, key, limit)));
    let mut answer = asked.map_err(|error| with_own_uri(error, key, query.key()))?;
    if key != query.key() {
        rename_contents(&mut answer, key, query.key());
    }
    let member = query.answered_by();
    match answer.get(member).is_some_and(|value| value.is_array() || value.is_object()) {
        true => Ok(answer),
        false => Err(protocol(format!("{} of '{}': it has no '{member}'", query.method(), clip(key)).into())),
    }
}

pub(super) fn key_of(kind: OfferKind, offer: &Value) -> &str {
    offer.get(kind.key()).and_then(Value::as_str).unwrap_or_default()
}

/// The data of a server's error has the URI that was asked for.
fn with_own_uri(mut error: HubError, from: &str, to: &str) -> HubError {
    let data = error.upstream.as_mut().and_then(|upstream| Arc::make_mut(upstream).data.as_mut());
    if let Some(uri) = data.and_then(|data| data.get_mut("uri")).filter(|uri| **uri == *from) {
        *uri = Value::from(to);
    }
    error
}

/// The contents have the URI that was asked for.
fn rename_contents(answer: &mut Map<String, Value>, from: &str, to: &str) {
    for content in answer.get_mut("contents").and_then(Value::as_array_mut).into_iter().flatten() {
        if content.get("uri").and_then(Value::as_str) == Some(from) {
            content["uri"] = Value::from(to);
        }
    }
}

/// What this server listed last under this key.
fn known(server: &Server, kind: OfferKind, key: &str) -> Option<Value> {
    let listed = resources::known(server, kind)?;
    let is_it = |offer: &&Value| {
        let listed = key_of(kind, offer);
        listed == key || (kind == OfferKind::ResourceTemplates && fits_template(listed, key))
    };
    listed.iter().find(is_it).cloned()
}

/// The servers as this caller may use them, and why some are closed to it.
pub(super) fn for_caller(servers: Vec<Arc<Server>>, caller: Option<&Arc<Principal>>) -> ServersOfCaller {
    let (mut open, mut closed) = (Vec::with_capacity(servers.len()), Vec::new());
    for server in servers {
        match server.for_caller(caller) {
            Ok(own) => open.push(own),
            Err(error) => closed.push((server.id().clone(), error)),
        }
    }
    (open, closed)
}

/// Whether an address can come from a template (RFC 6570). `{name}` stands for one part of a path; other expressions for any text.
fn fits_template(template: &str, uri: &str) -> bool {
    let Some((start, expressions)) = template.split_once('{') else { return template == uri };
    let Some(uri) = uri.strip_prefix(start) else { return false };
    let (mut pattern, mut is_next) = (String::from(r"(?s)\A"), false);
    for part in expressions.split('{') {
        let Some((expression, literal)) = part.split_once('}') else { return false };
        let is_any = expression.starts_with(['+', '#', '.', '/', ';', '?', '&']) || expression.ends_with('*');
        // Of expressions in a row, the first takes what it can.
        pattern += match is_any {
            true => ".*",
            false if is_next => "[^/]*",
            false => "[^/]+",
        };
        is_next = literal.is_empty();
        pattern += &regex::escape(literal);
    }
    Regex::new(&(pattern + r"\z")).is_ok_and(|pattern| pattern.is_match(uri))
}

pub(super) fn too_late(server: &Server, what: &str, limit: Duration) -> HubError {
    let text = message!(
        "Server '{}' did not answer for '{}' within {} s.",
        server.id(),
        clip(what),
        limit.as_secs_f64()
    );
    HubError::new(ErrorKind::Timeout, text)
}

// Names that tell which server has a resource or prompt: `toolhub://<server>/<uri>` and `<server>__<prompt>`. The interface
// `ui://<path>` of an app is `ui://toolhub/<server>/<path>`, because clients take no other scheme for one.
//
// They are understood at any time and always mean that server, whatever others list: a server that lists a name inside another
// one's space would be asked in its place.

const SCHEME: &str = "toolhub://";
const APPS: &str = "ui://toolhub/";

/// The server that a key names, and the rest of the key. Of several that fit, the one with the longest id. `ids` are those of all
/// servers of the hub, also of those that a caller does not see.
fn owner<'a, 'k>(ids: &'a [Arc<str>], kind: OfferKind, key: &'k str) -> Option<(&'a Arc<str>, Cow<'k, str>)> {
    let named = ids.iter().filter_map(|id| {
        let rest = |start: &str| key.strip_prefix(&own_key(kind, id, start)).filter(|rest| !rest.is_empty());
        let of_app = || rest(APPS_SCHEME).map(|rest| Cow::Owned(format!("{APPS_SCHEME}{rest}")));
        Some((id, rest("").map(Cow::Borrowed).or_else(of_app)?))
    });
    named.min_by_key(|(_, rest)| rest.len())
}

/// The other server in whose space the key of an offer of `server` is.
pub(super) fn trespassed<'a>(
    ids: &'a [Arc<str>],
    kind: OfferKind,
    server: &str,
    key: &str,
) -> Option<&'a Arc<str>> {
    owner(ids, kind, key).map(|(owner, _)| owner).filter(|owner| &***owner != server)
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
    use super::{fits_template, rename_contents};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn contents_have_the_uri_that_was_asked_for() {
        let mut answer =
            json!({"contents": [{"uri": "note://x"}, {"uri": "note://y"}]}).as_object().cloned().unwrap();
        rename_contents(&mut answer, "note://x", "toolhub://a/note://x");
        assert_eq!(answer["contents"], json!([{"uri": "toolhub://a/note://x"}, {"uri": "note://y"}]));
    }

    #[test]
    fn addresses_are_found_by_their_template() {
        for (template, uri, fits) in [
            ("file:///{path}", "file:///a.txt", true),
            ("file:///{path}", "file:///a/b.txt", false),
            ("file:///{+path}", "file:///a/b.txt", true),
            ("db://{table}/rows/{id}", "db://users/rows/7", true),
            ("db://{table}/rows/{id}", "db://users/7", false),
            ("db://{table}/rows/{id}", "db://users/rows/", false),
            ("note://x", "note://x", true),
            ("note://x", "note://y", false),
            ("search://{?q}", "search://?q=1", true),
            ("broken://{", "broken://x", false),
            ("db://{schema}{id}", "db://7", true),
            ("x://{a}x{b}x{c}", &format!("x://{}", "x".repeat(100_000)), true),
            ("x://{a}x{b}y{c}", &format!("x://{}", "x".repeat(100_000)), false),
        ] {
            assert_eq!(fits_template(template, uri), fits, "{template} {uri}");
        }
    }

    proptest! {
        #[test]
        fn what_is_put_into_a_template_fits_it(parts in prop::collection::vec("[a-z0-9]{1,8}", 1..5)) {
            let template: String = (0..parts.len()).map(|n| format!("/p{n}/{{v{n}}}")).collect();
            let uri: String = parts.iter().enumerate().map(|(n, part)| format!("/p{n}/{part}")).collect();
            prop_assert!(fits_template(&template, &uri));
        }

        #[test]
        fn any_template_ends(template in "[a-z{}+/?*]{0,30}", uri in "[a-z/?]{0,30}") {
            let _ = fits_template(&template, &uri);
        }
    }
}

#[cfg(test)]
mod name_tests {
    use super::*;
    use proptest::prelude::*;

    fn spaces(ids: &[&str]) -> Vec<Arc<str>> {
        ids.iter().map(|id| Arc::from(*id)).collect()
    }

    #[test]
    fn a_name_belongs_to_the_server_that_it_names() {
        let spaces = spaces(&["good", "evil", "a", "a__b"]);
        let trespassed = |kind, server: &str, key: &str| {
            super::trespassed(&spaces, kind, server, key).map(|id| id.to_string())
        };
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
        let owner = |kind, key| {
            super::owner(&spaces, kind, key).map(|(id, rest)| (id.to_string(), rest.into_owned()))
        };
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
                prop_assert_eq!(owner(&spaces, kind, &named), Some((&Arc::from(&*id), Cow::from(&*key))));
            }
        }
    }
}
