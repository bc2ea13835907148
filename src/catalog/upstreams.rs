//! The servers of a hub as a gateway needs them.

use super::Servers;
use crate::error::{ErrorKind, HubError};
use crate::gateway::{OfferCall, SubscribedResource, Upstreams, View};
use crate::hub::Hub;
use crate::model::{Arguments, CallOptions, OfferChange, OfferKind};
use crate::plan::{ApprovalRequest, CallServices, LookUpRequest, ServerSet, Unreachable, Verdict};
use crate::tool::{BoxFuture, CallContextExtras};
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};
use tokio::sync::{broadcast, watch};

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
    /// Never fires: a hub without servers has no resources and prompts.
    never: broadcast::Sender<OfferChange>,
}

impl HubUpstreams {
    pub fn new(hub: Arc<Hub>, find: FindServers, model: Option<ModelFunction>) -> Self {
        let upstreams =
            HubUpstreams { hub, find, found: OnceLock::new(), model, never: broadcast::Sender::new(1) };
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
            let report = servers.look_up(request.name.as_deref(), &request.options, request.patience).await;
            report.into_iter().filter_map(|(id, asked)| Some((id, asked.err()?))).collect()
        })
    }

    /// Closed by default: a gateway has no user who could be asked.
    fn approve<'a>(&'a self, _: &'a ApprovalRequest, _: &'a Arguments) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::ready(Verdict::Refused("no approval can be asked for here".to_owned())))
    }

    fn ask_model<'a>(&'a self, prompt: &'a str) -> Option<BoxFuture<'a, Result<String, HubError>>> {
        self.model.as_ref().map(|model| model(prompt) as BoxFuture<'a, _>)
    }
}

impl Upstreams for HubUpstreams {
    fn changes(&self) -> watch::Receiver<u64> {
        self.hub.registry.watch()
    }

    fn listed(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(servers) = self.set() else { return };
            if servers.never_listed(None, None).is_empty() {
                return;
            }
            servers.look_up(None, &CallOptions::default(), servers.lookup_timeout()).await;
        })
    }

    fn offer_changes(&self) -> broadcast::Receiver<OfferChange> {
        self.set().map_or_else(|| self.never.subscribe(), |servers| servers.watch_offers())
    }

    fn subscribe<'a>(
        &'a self,
        view: &'a View,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<SubscribedResource, HubError>> {
        Box::pin(async move {
            let missing = || HubError::new(ErrorKind::NotFound, "This hub has no servers.");
            self.set().ok_or_else(missing)?.subscribe_served(view, uri).await
        })
    }

    fn may_have(&self, view: &View, capability: &str) -> bool {
        self.set().is_some_and(|servers| servers.may_have(view, capability))
    }

    fn offers<'a>(&'a self, view: &'a View, kind: OfferKind, again: bool) -> BoxFuture<'a, Vec<Value>> {
        Box::pin(async move {
            match self.set() {
                Some(servers) => servers.served_offers(view, kind, again).await,
                None => Vec::new(),
            }
        })
    }

    fn ask_offer<'a>(
        &'a self,
        view: &'a View,
        call: &'a OfferCall,
        extras: &'a CallContextExtras,
    ) -> BoxFuture<'a, Result<Map<String, Value>, HubError>> {
        Box::pin(async move {
            let missing = || HubError::new(ErrorKind::NotFound, "This hub has no servers.");
            self.set().ok_or_else(missing)?.ask_served(view, call, extras).await
        })
    }
}
