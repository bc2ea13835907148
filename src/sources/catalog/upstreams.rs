//! The servers of a hub, and its own resources and prompts, as a gateway and its clients see them.
//!
//! The URI or name of a resource or prompt that only one server has stays as it is. One that several servers have is told apart by
//! its server ([`own_key`]), and so is every interface of an app: the tools name it in that way. These forms are understood at any
//! time, so that a client that knows one from an earlier list can still use it. What the hub has itself keeps its key, because it
//! is always there.

use super::Servers;
use super::lookup::FirstLists;
use super::resources::{
    Asker, LIST_PATIENCE, OfferedBy, ask_server, for_caller, key_of, own_key, too_late, trespassed,
};
use crate::mcp::server::Server;
use crate::mcp::{resources, skills};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use toolhub_engine::offers::{OfferCallContext, OfferQuery};
use toolhub_engine::plan::{CallSources, LookUpRequest, ServerSet, Unreachable};
use toolhub_engine::served::{SubscribedResource, Upstreams, View};
use toolhub_protocol::{APPS_SCHEME, TASKS_EXTENSION};
use toolhub_text::pattern::NATIVE;
use toolhub_types::error::Result;
use toolhub_types::model::OfferKind;
use toolhub_types::principal::Principal;
use toolhub_types::tool::{AskCaller, BoxFuture, CallContextExtras};

/// How long a server may take to list or read what it has.
const OFFER_TIMEOUT: Duration = Duration::from_secs(30);

/// What is behind a gateway.
pub struct HubUpstreams {
    servers: Arc<Servers>,
    first_lists: FirstLists,
}

impl HubUpstreams {
    /// Servers that connect from now on are told that callers answer questions.
    pub fn new(servers: Arc<Servers>) -> Self {
        servers.host.callers_answer.store(true, Ordering::Relaxed);
        HubUpstreams { servers, first_lists: FirstLists::default() }
    }

    /// Whether the hub itself has what the key names, for callers of this view.
    fn answers_itself(&self, view: &View, kinds: &[OfferKind], key: &str) -> bool {
        kinds.iter().all(|kind| view.shows(*kind, NATIVE))
            && self.servers.hub.own_offers.find(kinds, key).is_some()
    }

    fn shown(&self, view: &View, kind: OfferKind) -> Vec<Arc<Server>> {
        let shows = |server: &Arc<Server>| !server.config().disabled && view.shows(kind, server.id());
        self.servers.all().into_iter().filter(shows).collect()
    }

    /// The server that has what a client of the view names, and its key there.
    async fn find(
        &self,
        view: &View,
        kinds: &[OfferKind],
        asked: &str,
        caller: Option<&Arc<Principal>>,
        until: Instant,
    ) -> Result<(Arc<Server>, String)> {
        let kind = kinds.first().copied().unwrap_or(OfferKind::Resources);
        let among = for_caller(self.shown(view, kind), caller);
        self.servers.find_owner(among, kinds, asked, Asker::Client, until).await
    }
}

impl CallSources for HubUpstreams {
    fn servers(&self) -> Option<&dyn ServerSet> {
        Some(&*self.servers)
    }

    fn look_up<'a>(&'a self, request: &'a LookUpRequest) -> BoxFuture<'a, Unreachable> {
        Box::pin(async move {
            let servers = &self.servers;
            let end = Instant::now() + request.patience;
            if request.options.server.is_none() && request.servers.is_empty() {
                self.first_lists.wait(servers, Some(request.patience), || true).await;
                if request.name.as_ref().is_some_and(|name| servers.has_tool(name, &request.options)) {
                    return Unreachable::new();
                }
            }
            servers.carry_out(request, end).await
        })
    }
}

impl Upstreams for HubUpstreams {
    fn listed<'a>(&'a self, view: &'a View, patience: Option<Duration>) -> BoxFuture<'a, Vec<Arc<str>>> {
        let shows_any = || view.tools(&self.servers.hub.registry.snapshot()).next().is_some();
        Box::pin(self.first_lists.wait(&self.servers, patience, shows_any))
    }

    /// On the connection of the caller.
    fn subscribe<'a>(
        &'a self,
        view: &'a View,
        caller: &'a Arc<Principal>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<SubscribedResource>> {
        Box::pin(async move {
            if self.answers_itself(view, OfferKind::READ, uri) {
                return Ok(SubscribedResource::new(Arc::from(NATIVE), uri.to_owned(), ()));
            }
            let until = Instant::now() + OFFER_TIMEOUT;
            let (server, key) = self.find(view, OfferKind::READ, uri, Some(caller), until).await?;
            resources::check_uri(&server, &key)?;
            let subscribed = timeout_at(until, resources::subscribe(&server, &key)).await;
            let guard = subscribed.unwrap_or_else(|_| Err(too_late(&server, uri, OFFER_TIMEOUT)))?;
            Ok(SubscribedResource::new(server.id().clone(), key, guard))
        })
    }

    /// Waits, with a limit, until the servers that are connected have been told.
    fn want_log_level(&self, level: Option<&'static str>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let servers = &self.servers;
            if servers.host.log_level.set(level) {
                join_all(servers.all().iter().map(|server| server.apply_log_level())).await;
            }
        })
    }

    fn set_only_client(&self, client: Option<AskCaller>) {
        self.servers.host.only_client.store(client.map(Arc::new));
    }

    fn roots_changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            join_all(self.servers.all().iter().map(|server| server.roots_changed())).await;
        })
    }

    fn log(&self, server: &str, level: &str, text: &str) {
        if let Some(log) = self.servers.host.log.as_ref().filter(|log| log.wants(level)) {
            log.write(server, level, text);
        }
    }

    fn server_states(&self) -> Vec<Value> {
        let servers = &self.servers;
        servers.all().iter().map(|server| state_of(servers, server)).collect()
    }

    fn instructions(&self, server: &str) -> Option<String> {
        self.servers.get(server)?.shown_instructions()
    }

    /// Tasks and skills end at the hub.
    fn extensions(&self, view: &View) -> Map<String, Value> {
        let shown = self.shown(view, OfferKind::Resources).into_iter();
        let mut all = Map::new();
        for (name, settings) in shown.flat_map(|server| server.callbacks().extensions.lock().clone()) {
            if ![TASKS_EXTENSION, skills::EXTENSION].contains(&&*name) {
                all.entry(name).or_insert(settings);
            }
        }
        all
    }

    fn may_have(&self, view: &View, capability: &str) -> bool {
        let kinds: &[OfferKind] = match capability {
            "prompts" => &[OfferKind::Prompts],
            "completions" => &[OfferKind::Prompts, OfferKind::Resources],
            _ => &[OfferKind::Resources],
        };
        let may_have = |server: &Arc<Server>| server.callbacks().declares(capability) != Some(false);
        kinds.iter().any(|kind| view.shows(*kind, NATIVE)) && self.servers.hub.own_offers.has(capability)
            || kinds.iter().any(|kind| self.shown(view, *kind).iter().any(may_have))
    }

    /// A server that cannot list what it has, or is closed to the caller, hides that of no other.
    fn offers<'a>(
        &'a self,
        view: &'a View,
        caller: &'a Arc<Principal>,
        kind: OfferKind,
        again: bool,
    ) -> BoxFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let servers = &self.servers;
            let (shown, _) = for_caller(self.shown(view, kind), Some(caller));
            let lists = servers.list_offers(shown, kind, Asker::Client, again, LIST_PATIENCE).await;
            let mut all =
                if view.shows(kind, NATIVE) { self.servers.hub.own_offers.entries(kind) } else { Vec::new() };
            let kinds = if kind == OfferKind::Resources { OfferKind::READ } else { &[kind] };
            let is_own = |key: &str| self.answers_itself(view, kinds, key);
            all.extend(told_apart(kind, lists, &servers.ids(), &is_own));
            all
        })
    }

    fn ask_offer<'a>(
        &'a self,
        view: &'a View,
        query: &'a OfferQuery,
        extras: &'a CallContextExtras,
    ) -> BoxFuture<'a, Result<Map<String, Value>>> {
        Box::pin(async move {
            let (kinds, key) = (query.kinds(), query.key());
            if self.answers_itself(view, kinds, key) {
                let ctx = OfferCallContext { limit: self.servers.hub.options.timeout, extras };
                return self.servers.hub.own_offers.answer(query, &ctx).await;
            }
            let until = Instant::now() + OFFER_TIMEOUT;
            let (server, key) = self.find(view, kinds, key, extras.principal.as_ref(), until).await?;
            ask_server(&server, &key, query, extras, (until, OFFER_TIMEOUT)).await
        })
    }
}

fn state_of(servers: &Servers, server: &Server) -> Value {
    let info = server.info();
    let notices: Vec<String> = info.notices.into_iter().chain(servers.refused(server)).collect();
    json!({
        "id": &**server.id(), "state": info.state, "era": info.era, "version": info.version,
        "transport": info.transport, "tools": info.tools, "age": info.age.map(|age| age.as_secs_f64()),
        "error": info.error.map(|error| error.message), "pid": info.pid, "notices": notices,
        "stderr": server.error_lines(),
    })
}

/// One list of all; what several servers have, or the hub too, gets the name of its server.
fn told_apart(
    kind: OfferKind,
    lists: Vec<OfferedBy>,
    ids: &[Arc<str>],
    is_own: &dyn Fn(&str) -> bool,
) -> Vec<Value> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for offer in lists.iter().filter_map(|(_, listed)| listed.as_ref().ok()).flatten() {
        *counts.entry(key_of(kind, offer).to_owned()).or_default() += 1;
    }
    let mut all = Vec::new();
    for (id, listed) in lists {
        for mut offer in listed.unwrap_or_default() {
            let key = key_of(kind, &offer);
            let is_shared = counts.get(key).is_some_and(|count| *count > 1) || is_own(key);
            if is_shared || kind != OfferKind::Prompts && key.starts_with(APPS_SCHEME) {
                let told = own_key(kind, &id, key);
                // With servers 'a' and 'a__b', the prompt 'b__c' of 'a' has no name of its own.
                if trespassed(ids, kind, &id, &told).is_some() {
                    continue;
                }
                offer[kind.key()] = Value::from(told);
            }
            all.push(offer);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toolhub_types::error::{ErrorKind, HubError};

    fn by(id: &str, offers: Value) -> OfferedBy {
        (Arc::from(id), Ok(offers.as_array().cloned().unwrap()))
    }

    #[test]
    fn only_what_several_servers_have_is_renamed() {
        let lists = vec![
            by("alpha", json!([{"name": "review", "x": 1.5}, {"name": "own"}])),
            by("beta", json!([{"name": "review"}])),
            (Arc::from("broken"), Err(HubError::new(ErrorKind::Closed, "gone"))),
        ];
        let all = told_apart(OfferKind::Prompts, lists, &[], &|_| false);
        assert_eq!(
            json!(all).to_string(),
            r#"[{"name":"alpha__review","x":1.5},{"name":"own"},{"name":"beta__review"}]"#
        );
        let lists = vec![by("a b", json!([{"uri": "note://x"}])), by("c", json!([{"uri": "note://x"}]))];
        let uris: Vec<Value> = told_apart(OfferKind::Resources, lists, &[], &|_| false)
            .iter()
            .map(|one| one["uri"].clone())
            .collect();
        assert_eq!(uris, ["toolhub://a%20b/note://x", "toolhub://c/note://x"]);
        let lists = vec![by("a", json!([{"name": "p"}]))];
        let own = told_apart(OfferKind::Prompts, lists, &[], &|key| key == "p");
        assert_eq!(own, [json!({"name": "a__p"})]);
    }
}
