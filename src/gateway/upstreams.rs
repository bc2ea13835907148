//! What the gateway needs from the sources of tools, as a trait: the room knows no MCP client and no Python.

use crate::error::HubError;
use crate::hub::Hub;
use crate::model::Arguments;
use crate::plan::{ApprovalRequest, CallServices, LookUpRequest, ServerSet, Unreachable, Verdict};
use crate::tool::BoxFuture;
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio::sync::watch;

/// The servers behind a gateway.
pub trait Upstreams: CallServices {
    /// Fires after the set of tools has changed.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Waits until every server has listed its tools once, or has failed to within the hub's `lookup_timeout`.
    fn listed(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The resources of all servers, as those list them.
    fn resources(&self) -> BoxFuture<'_, Result<Vec<Value>, HubError>>;

    /// The resource templates of all servers.
    fn resource_templates(&self) -> BoxFuture<'_, Result<Vec<Value>, HubError>>;

    /// The result of `resources/read`.
    fn read_resource<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<Value, HubError>>;

    /// The prompts of all servers.
    fn prompts(&self) -> BoxFuture<'_, Result<Vec<Value>, HubError>>;

    /// The result of `prompts/get`.
    fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Value, HubError>>;

    /// The result of `completion/complete` for these parameters.
    fn complete<'a>(&'a self, params: &'a Map<String, Value>) -> BoxFuture<'a, Result<Value, HubError>>;
}

/// The upstreams of a hub that has no servers: its tools change with its registry, and it has nothing else.
pub struct NoUpstreams(Arc<Hub>);

impl NoUpstreams {
    pub fn new(hub: Arc<Hub>) -> Self {
        NoUpstreams(hub)
    }
}

fn none<T: Send + 'static>(missing: &'static str) -> BoxFuture<'static, Result<T, HubError>> {
    let error = HubError::new(crate::error::ErrorKind::NotFound, missing);
    Box::pin(std::future::ready(Err(error)))
}

impl CallServices for NoUpstreams {
    fn servers(&self) -> Option<&dyn ServerSet> {
        None
    }

    fn look_up<'a>(&'a self, _: &'a LookUpRequest) -> BoxFuture<'a, Unreachable> {
        Box::pin(std::future::ready(Unreachable::new()))
    }

    /// Closed by default: without a user there is no approval.
    fn approve<'a>(&'a self, _: &'a ApprovalRequest, _: &'a Arguments) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::ready(Verdict::Refused("no approval can be asked for here".to_owned())))
    }

    fn ask_model<'a>(&'a self, _: &'a str) -> Option<BoxFuture<'a, Result<String, HubError>>> {
        None
    }
}

impl Upstreams for NoUpstreams {
    fn changes(&self) -> watch::Receiver<u64> {
        self.0.registry.watch()
    }

    fn resources(&self) -> BoxFuture<'_, Result<Vec<Value>, HubError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn resource_templates(&self) -> BoxFuture<'_, Result<Vec<Value>, HubError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn read_resource<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Value, HubError>> {
        none("There is no resource of that URI.")
    }

    fn prompts(&self) -> BoxFuture<'_, Result<Vec<Value>, HubError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn get_prompt<'a>(
        &'a self,
        _: &'a str,
        _: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Value, HubError>> {
        none("There is no prompt of that name.")
    }

    fn complete<'a>(&'a self, _: &'a Map<String, Value>) -> BoxFuture<'a, Result<Value, HubError>> {
        none("There is no prompt or resource template of that name.")
    }
}
