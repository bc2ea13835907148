//! The servers of a hub, and its own resources and prompts, as a gateway needs them.

use super::Servers;
use super::first_lists::FirstLists;
use crate::mcp::server::Server;
use serde_json::{Map, Value, json};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use toolhub_engine::hub::Hub;
use toolhub_engine::offers::{OfferCallContext, OfferQuery};
use toolhub_engine::plan::{CallServices, LookUpRequest, ServerSet, Unreachable};
use toolhub_engine::served::{SubscribedResource, Upstreams, View};
use toolhub_text::pattern::NATIVE;
use toolhub_types::error::{ErrorKind, HubError};
use toolhub_types::model::{OfferChange, OfferKind};
use toolhub_types::principal::Principal;
use toolhub_types::tool::{AskCaller, BoxFuture, CallContextExtras};

/// Asks a model; the answer is its text.
pub type ModelFunction = Arc<dyn Fn(&str) -> BoxFuture<'static, Result<String, HubError>> + Send + Sync>;

/// Gives the servers of the hub, once there are any.
pub type FindServers = Box<dyn Fn() -> Option<Arc<Servers>> + Send + Sync>;

/// What is behind a gateway: the hub's servers, and the functions of its owner.
pub struct HubUpstreams {
    hub: Arc<Hub>,
    find: FindServers,
    found: OnceLock<Arc<Servers>>,
    model: Option<ModelFunction>,
    first_lists: FirstLists,
}

impl HubUpstreams {
    pub fn new(hub: Arc<Hub>, find: FindServers, model: Option<ModelFunction>) -> Self {
        let first_lists = FirstLists::default();
        let upstreams = HubUpstreams { hub, find, found: OnceLock::new(), model, first_lists };
        upstreams.set();
        upstreams
    }

    /// The servers. A hub may get its first one while it is served.
    fn set(&self) -> Option<&Arc<Servers>> {
        if let Some(servers) = self.found.get() {
            return Some(servers);
        }
        let servers = (self.find)()?;
        servers.let_callers_answer();
        Some(self.found.get_or_init(|| servers))
    }
}

impl CallServices for HubUpstreams {
    fn servers(&self) -> Option<&dyn ServerSet> {
        self.set().map(|servers| &**servers as &dyn ServerSet)
    }

    fn look_up<'a>(&'a self, request: &'a LookUpRequest) -> BoxFuture<'a, Unreachable> {
        Box::pin(async move {
            let Some(servers) = self.set() else { return Unreachable::new() };
            let end = Instant::now() + request.patience;
            if request.options.server.is_none() && request.servers.is_empty() {
                self.first_lists.wait(servers, Some(request.patience), || true).await;
                let is_found = |name: &Arc<str>| {
                    self.hub.offers(&self.hub.registry.load(), name, &request.options).is_ok()
                };
                if request.name.as_ref().is_some_and(is_found) {
                    return Unreachable::new();
                }
            }
            servers.carry_out(request, end).await
        })
    }

    fn ask_model<'a>(&'a self, prompt: &'a str) -> Option<BoxFuture<'a, Result<String, HubError>>> {
        self.model.as_ref().map(|model| model(prompt) as BoxFuture<'a, _>)
    }
}

impl Upstreams for HubUpstreams {
    fn changes(&self) -> watch::Receiver<u64> {
        self.hub.registry.watch()
    }

    fn listed<'a>(&'a self, view: &'a View, patience: Option<Duration>) -> BoxFuture<'a, Vec<Arc<str>>> {
        Box::pin(async move {
            let Some(servers) = self.set() else { return Vec::new() };
            let shows_any = || view.tools(&self.hub.registry.snapshot()).next().is_some();
            self.first_lists.wait(servers, patience, shows_any).await
        })
    }

    fn offer_changes(&self) -> broadcast::Receiver<OfferChange> {
        self.hub.own_offers.signals().watch()
    }

    fn subscribe<'a>(
        &'a self,
        view: &'a View,
        caller: &'a Arc<Principal>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<SubscribedResource, HubError>> {
        Box::pin(async move {
            if self.answers_itself(view, OfferKind::READ, uri) {
                return Ok(SubscribedResource::new(Arc::from(NATIVE), uri.to_owned(), ()));
            }
            self.set().ok_or_else(no_servers)?.subscribe_served(view, caller, uri).await
        })
    }

    fn want_log_level(&self, level: Option<&'static str>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(servers) = self.set() {
                servers.want_log_level(level).await;
            }
        })
    }

    fn set_only_client(&self, client: Option<AskCaller>) {
        if let Some(servers) = self.set() {
            servers.set_only_client(client);
        }
    }

    fn roots_changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(servers) = self.set() {
                servers.roots_changed().await;
            }
        })
    }

    fn log(&self, server: &str, level: &str, text: &str) {
        if let Some(servers) = self.set() {
            servers.log(server, level, text);
        }
    }

    fn server_states(&self) -> Vec<Value> {
        let Some(servers) = self.set() else { return Vec::new() };
        servers.all().iter().map(|server| state_of(servers, server)).collect()
    }

    fn instructions(&self, server: &str) -> Option<String> {
        self.set()?.get(server)?.shown_instructions()
    }

    fn server_ids(&self) -> Vec<Arc<str>> {
        self.set()
            .map(|servers| servers.all().iter().map(|one| one.id().clone()).collect())
            .unwrap_or_default()
    }

    fn extensions(&self, view: &View) -> Map<String, Value> {
        self.set().map(|servers| servers.extensions(view)).unwrap_or_default()
    }

    fn may_have(&self, view: &View, capability: &str) -> bool {
        let own = match capability {
            "prompts" => view.shows(OfferKind::Prompts, NATIVE),
            "completions" => {
                [OfferKind::Prompts, OfferKind::Resources].iter().any(|kind| view.shows(*kind, NATIVE))
            }
            _ => view.shows(OfferKind::Resources, NATIVE),
        };
        (own && self.hub.own_offers.has(capability))
            || self.set().is_some_and(|servers| servers.may_have(view, capability))
    }

    fn offers<'a>(
        &'a self,
        view: &'a View,
        caller: &'a Arc<Principal>,
        kind: OfferKind,
        again: bool,
    ) -> BoxFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let mut all = match view.shows(kind, NATIVE) {
                true => self.hub.own_offers.entries(kind),
                false => Vec::new(),
            };
            if let Some(servers) = self.set() {
                let kinds = if kind == OfferKind::Resources { OfferKind::READ } else { &[kind] };
                let is_own = |key: &str| self.answers_itself(view, kinds, key);
                all.extend(servers.served_offers(view, caller, kind, again, &is_own).await);
            }
            all
        })
    }

    fn ask_offer<'a>(
        &'a self,
        view: &'a View,
        query: &'a OfferQuery,
        extras: &'a CallContextExtras,
    ) -> BoxFuture<'a, Result<Map<String, Value>, HubError>> {
        Box::pin(async move {
            if self.answers_itself(view, query.kinds(), query.key()) {
                let ctx = OfferCallContext { limit: self.hub.options.timeout, extras };
                return self.hub.own_offers.answer(query, &ctx).await;
            }
            self.set().ok_or_else(no_servers)?.ask_served(view, query, extras).await
        })
    }
}

impl HubUpstreams {
    /// Whether the hub itself has what the key names, for callers of this view.
    fn answers_itself(&self, view: &View, kinds: &[OfferKind], key: &str) -> bool {
        kinds.iter().all(|kind| view.shows(*kind, NATIVE)) && self.hub.own_offers.find(kinds, key).is_some()
    }
}

fn no_servers() -> HubError {
    HubError::new(ErrorKind::NotFound, "This hub has no servers.")
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
