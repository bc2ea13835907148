//! The sources of a hub that has no servers.

use serde_json::{Map, Value};
use std::sync::Arc;
use tokio::sync::{broadcast, watch};
use toolhub_engine::hub::Hub;
use toolhub_engine::offers::OfferQuery;
use toolhub_engine::plan::{CallSources, LookUpRequest, ServerSet, Unreachable};
use toolhub_engine::served::{SubscribedResource, Upstreams, View};
use toolhub_types::error::{ErrorKind, HubError};
use toolhub_types::model::{OfferChange, OfferKind};
use toolhub_types::principal::Principal;
use toolhub_types::tool::{BoxFuture, CallContextExtras};

/// The upstreams of a hub that has no servers: its tools change with its registry, and it has nothing else.
pub struct NoUpstreams {
    hub: Arc<Hub>,
    never: broadcast::Sender<OfferChange>,
}

impl NoUpstreams {
    pub fn new(hub: Arc<Hub>) -> Self {
        NoUpstreams { hub, never: broadcast::Sender::new(1) }
    }
}

impl CallSources for NoUpstreams {
    fn servers(&self) -> Option<&dyn ServerSet> {
        None
    }

    fn look_up<'a>(&'a self, _: &'a LookUpRequest) -> BoxFuture<'a, Unreachable> {
        Box::pin(std::future::ready(Unreachable::new()))
    }
}

impl Upstreams for NoUpstreams {
    fn changes(&self) -> watch::Receiver<u64> {
        self.hub.registry.watch()
    }

    fn offer_changes(&self) -> broadcast::Receiver<OfferChange> {
        self.never.subscribe()
    }

    fn may_have(&self, _: &View, _: &str) -> bool {
        false
    }

    fn offers<'a>(
        &'a self,
        _: &'a View,
        _: &'a Arc<Principal>,
        _: OfferKind,
        _: bool,
    ) -> BoxFuture<'a, Vec<Value>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    fn ask_offer<'a>(
        &'a self,
        _: &'a View,
        _: &'a OfferQuery,
        _: &'a CallContextExtras,
    ) -> BoxFuture<'a, Result<Map<String, Value>, HubError>> {
        let error = HubError::new(ErrorKind::NotFound, "This hub has no servers.");
        Box::pin(std::future::ready(Err(error)))
    }

    fn subscribe<'a>(
        &'a self,
        _: &'a View,
        _: &'a Arc<Principal>,
        _: &'a str,
    ) -> BoxFuture<'a, Result<SubscribedResource, HubError>> {
        let error = HubError::new(ErrorKind::NotFound, "This hub has no servers.");
        Box::pin(std::future::ready(Err(error)))
    }
}
