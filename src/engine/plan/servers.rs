//! The MCP servers, as far as a plan has to know them, and what one step of it judges by.

use crate::hub::Hub;
use std::sync::Arc;
use std::time::Instant;
use toolhub_registry::route::Directory;
use toolhub_registry::{Candidate, NameEntry, Snapshot};
use toolhub_text::{message, near_names};
use toolhub_types::error::{ErrorKind, HubError, clip};

/// The configured servers of a hub.
pub trait ServerSet: Send + Sync {
    fn has(&self, id: &str) -> bool;

    /// In the order in which they were added.
    fn ids(&self) -> Vec<Arc<str>>;

    /// A candidate for a tool that its server has not listed: the server knows whether it has it. `None` when there is no
    /// such server, or its configuration excludes the tool.
    fn unlisted(&self, server: &str, tool: &str) -> Option<Arc<Candidate>>;
}

/// All servers that a call may name: those that are configured, and those of registered tools.
pub struct KnownServers<'a> {
    /// Held by the caller's frame: dropping a snapshot may run code of the user, and routing holds a lock.
    snapshot: Arc<Snapshot>,
    configured: Option<&'a dyn ServerSet>,
}

impl<'a> KnownServers<'a> {
    pub fn new(snapshot: Arc<Snapshot>, configured: Option<&'a dyn ServerSet>) -> Self {
        KnownServers { snapshot, configured }
    }

    fn of_tools(&self) -> impl Iterator<Item = &Arc<str>> {
        self.snapshot
            .entries()
            .flat_map(|(_, entry)| entry.candidates.iter().filter_map(|candidate| candidate.server.as_ref()))
    }
}

impl Directory for KnownServers<'_> {
    fn has(&self, id: &str) -> bool {
        self.configured.is_some_and(|servers| servers.has(id))
            || self.of_tools().any(|server| &**server == id)
    }

    fn ids(&self) -> Vec<Arc<str>> {
        let mut ids = self.configured.map(|servers| servers.ids()).unwrap_or_default();
        for server in self.of_tools() {
            if !ids.contains(server) {
                ids.push(server.clone());
            }
        }
        ids
    }
}

/// The error of a call that names this server; `None` when there is such a server.
pub fn unknown_to(snapshot: &Arc<Snapshot>, servers: Option<&dyn ServerSet>, id: &str) -> Option<HubError> {
    let known = KnownServers::new(snapshot.clone(), servers);
    (!known.has(id)).then(|| unknown_server(id, known.ids()))
}

/// The same error, with the providers that do offer the tool.
pub fn offered_elsewhere(error: HubError, tool: &str, entry: &NameEntry) -> HubError {
    let labels: Vec<String> = entry.candidates.iter().map(|candidate| candidate.label()).collect();
    let message = message!("{} Tool '{}' is offered by: {}.", error, clip(tool), labels.join(", "));
    HubError { message, ..error }
}

/// The error of a call that names a server that is not there.
pub fn unknown_server(id: &str, known: Vec<Arc<str>>) -> HubError {
    let quoted: Vec<String> = known.iter().map(|id| format!("'{}'", clip(id))).collect();
    let listed = if quoted.is_empty() { message!("none") } else { quoted.join(", ").into() };
    let mut message = message!("There is no server '{}'. Known servers: {}.", clip(id), listed);
    let near = near_names(id, known.iter().map(|id| (&**id, id)), 3);
    let suggestions: Vec<Arc<str>> = near.into_iter().cloned().collect();
    if let Some(near) = suggestions.first() {
        message = message!("{} Did you mean '{}'?", message, clip(near));
    }
    HubError { suggestions, ..HubError::new(ErrorKind::NotFound, message) }
}

/// What one step of a plan judges by.
pub struct PlanView<'a> {
    pub hub: &'a Hub,
    pub snapshot: Arc<Snapshot>,
    pub servers: Option<&'a dyn ServerSet>,
    pub now: Instant,
}

impl<'a> PlanView<'a> {
    pub fn new(hub: &'a Hub, servers: Option<&'a dyn ServerSet>, now: Instant) -> Self {
        PlanView { hub, snapshot: hub.registry.snapshot(), servers, now }
    }
}
