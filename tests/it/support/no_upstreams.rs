//! The sources of a hub that has no servers.

use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use toolhub_engine::offers::OfferQuery;
use toolhub_engine::plan::{CallSources, LookUpRequest, ServerSet, Unreachable};
use toolhub_engine::served::{SubscribedResource, Upstreams, View};
use toolhub_types::error::{ErrorKind, HubError};
use toolhub_types::model::OfferKind;
use toolhub_types::principal::Principal;
use toolhub_types::tool::{AskCaller, BoxFuture, CallContextExtras};

/// The upstreams of a hub that has no servers.
pub struct NoUpstreams;

impl CallSources for NoUpstreams {
    fn servers(&self) -> Option<&dyn ServerSet> {
        None
    }

    fn look_up<'a>(&'a self, _: &'a LookUpRequest) -> BoxFuture<'a, Unreachable> {
        Box::pin(std::future::ready(Unreachable::new()))
    }
}

impl Upstreams for NoUpstreams {
    fn listed<'a>(&'a self, _: &'a View, _: Option<Duration>) -> BoxFuture<'a, Vec<Arc<str>>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    fn want_log_level(&self, _: Option<&'static str>) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn set_only_client(&self, _: Option<AskCaller>) {}

    fn roots_changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn log(&self, _: &str, _: &str, _: &str) {}

    fn server_states(&self) -> Vec<Value> {
        Vec::new()
    }

    fn instructions(&self, _: &str) -> Option<String> {
        None
    }

    fn extensions(&self, _: &View) -> Map<String, Value> {
        Map::new()
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
