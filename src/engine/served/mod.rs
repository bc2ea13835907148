//! L4, the hub as its served callers see it: views of its tools, and the servers that stand behind it.
//!
//! The gateway serves this; the catalog answers for the servers. Neither needs the other.

mod view;

pub use view::{
    AUTO_SEARCH_ABOVE, Audience, DEFAULT_VIEW, EffectsAllowed, SearchMode, ShownTool, View, Views, core_names,
};

use crate::offers::OfferQuery;
use crate::plan::CallSources;
use serde_json::{Map, Value};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use toolhub_types::error::HubError;
use toolhub_types::model::OfferKind;
use toolhub_types::principal::Principal;
use toolhub_types::tool::{AskCaller, BoxFuture, CallContextExtras};

// What the gateway needs from the sources of tools, as a trait: the room knows no MCP client and no Python.

/// The servers behind a gateway.
pub trait Upstreams: CallSources {
    /// Waits until every server has listed its tools once, or has failed to: for at most `patience`, or the hub's
    /// `lookup_timeout`, or longer while the view shows nothing. Returns the servers that are still starting.
    fn listed<'a>(&'a self, view: &'a View, patience: Option<Duration>) -> BoxFuture<'a, Vec<Arc<str>>>;

    /// How much servers shall log for requests: the lowest level that a client has set; `None` if none has.
    fn want_log_level(&self, level: Option<&'static str>) -> BoxFuture<'_, ()>;

    /// The hub has one client only, whose roots are those of all connections to servers; `None`: it has left.
    fn set_only_client(&self, client: Option<AskCaller>);

    /// The roots of that client have changed.
    fn roots_changed(&self) -> BoxFuture<'_, ()>;

    /// Writes a line about a server, or the gateway, into the log of the operator.
    fn log(&self, server: &str, level: &str, text: &str);

    /// The state of each server, for the operator: id, state, era, version, transport, tools, age, error, pid, notices, stderr.
    fn server_states(&self) -> Vec<Value>;

    /// What a server says of its use, bounded and safe to show; `None` if it says nothing, or was never connected.
    fn instructions(&self, server: &str) -> Option<String>;

    /// The extensions of the protocol that the servers of the view have declared, without those that end at the hub.
    fn extensions(&self, view: &View) -> Map<String, Value>;

    /// Whether a server that the view shows has this capability, such as `prompts` or `resources.subscribe`. A server that was
    /// never connected may have it.
    fn may_have(&self, view: &View, capability: &str) -> bool;

    /// The resources, templates or prompts of the servers that the view shows, each as its server lists it for this caller. Keys
    /// that several servers have are told apart. `again`: what was listed a moment ago is good enough.
    fn offers<'a>(
        &'a self,
        view: &'a View,
        caller: &'a Arc<Principal>,
        kind: OfferKind,
        again: bool,
    ) -> BoxFuture<'a, Vec<Value>>;

    /// The result of a request about one of them, as its server gives it.
    fn ask_offer<'a>(
        &'a self,
        view: &'a View,
        query: &'a OfferQuery,
        extras: &'a CallContextExtras,
    ) -> BoxFuture<'a, Result<Map<String, Value>, HubError>>;

    /// Subscribes to the changes of a resource, which then are among the signals of the hub's own offers.
    fn subscribe<'a>(
        &'a self,
        view: &'a View,
        caller: &'a Arc<Principal>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<SubscribedResource, HubError>>;
}

/// A subscription to a resource. Dropping it ends the subscription.
pub struct SubscribedResource {
    pub server: Arc<str>,
    /// Its URI there.
    pub uri: String,
    _guard: Box<dyn Any + Send + Sync>,
}

impl SubscribedResource {
    pub fn new(server: Arc<str>, uri: String, guard: impl Send + Sync + 'static) -> Self {
        SubscribedResource { server, uri, _guard: Box::new(guard) }
    }
}
