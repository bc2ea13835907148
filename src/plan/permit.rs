//! Which providers of a tool a call may use, and which calls need an approval.

use super::permissions::{ApprovalRequest, not_approved};
use super::state::{CallPlan, RouteState};
use crate::error::HubError;
use crate::hub::Hub;
use crate::identity::CallTarget;
use crate::model::{CallOptions, Source};
use crate::route::RouteRule;
use crate::select::Candidates;
use std::sync::Arc;

/// One provider of a name: its source, and its server if it has one.
type Provider = (Source, Option<Arc<str>>);

impl CallPlan {
    /// Whether permissions depend on the provider of a tool that no known provider has: then servers are asked first.
    pub(super) fn must_know_providers(&self, hub: &Hub) -> bool {
        let name = self.request.target.name();
        self.request.permissions.as_ref().is_some_and(|permissions| {
            permissions.allowed.names_servers()
                && permissions.allowed.may_allow(name)
                && providers(hub, name, &self.options).is_empty()
        })
    }

    /// Restricts the call to the providers that are allowed, or says why there are none.
    pub(super) fn narrow(&mut self, hub: &Hub) -> Result<(), HubError> {
        let Some(permissions) = self.request.permissions.clone() else { return Ok(()) };
        let name = self.request.target.name().clone();
        if hub.is_read_more(&name) {
            return Ok(());
        }
        let mut known = providers(hub, &name, &self.options);
        if self.must_know_providers(hub)
            && let Err(miss) = hub.offers(&name, &self.options)
        {
            return Err(self.missed(hub, miss));
        }
        if known.is_empty() {
            // A tool that no provider has is judged by its name, and by the server that was named.
            known.push((Source::Mcps, self.options.server.clone()));
        }
        let total = known.len();
        known.retain(|(_, server)| permissions.allowed.allows(&name, server.as_deref()));
        let refused = |reason: &str| Err(not_approved(&name, reason));
        self.is_forbidden = true;
        if known.is_empty() {
            return refused("it is not among the tools that are allowed here");
        }
        if known.len() < total {
            let first = known[0].clone();
            if known.iter().all(|one| place(one) == place(&first)) {
                self.restrict(first);
            } else {
                self.options.allowed = Some(permissions.allowed.clone());
            }
        }
        self.is_forbidden = false;
        Ok(())
    }

    /// A route can be restricted to one server or to one source.
    fn restrict(&mut self, (source, server): Provider) {
        if matches!(self.request.target, CallTarget::Routed { .. }) {
            let rule = if server.is_some() { RouteRule::Server } else { RouteRule::Source };
            self.route = RouteState::Found(rule);
        }
        self.options.source = if server.is_some() { None } else { Some(source) };
        self.options.server = server;
    }
}

/// What a provider is called by: its server, or else its source.
fn place((source, server): &Provider) -> (Option<Source>, Option<&Arc<str>>) {
    (Some(*source).filter(|_| server.is_none()), server.as_ref())
}

/// The question about a call that is not known to be harmless; `None` when no question is needed.
pub(super) fn approval(
    hub: &Hub,
    name: &Arc<str>,
    options: &CallOptions,
    candidates: &Candidates,
) -> Option<ApprovalRequest> {
    let snapshot = hub.registry.load();
    let entry = snapshot.get(name);
    let providers = providers(hub, name, options);
    let listed = entry.filter(|_| !providers.is_empty());
    // A server that has not listed the tool may have one with effects.
    if listed.is_some_and(|entry| entry.candidates.iter().all(|one| one.spec().effects.are_harmless())) {
        return None;
    }
    let mut servers: Vec<Arc<str>> = providers.into_iter().filter_map(|(_, server)| server).collect();
    servers.sort_unstable();
    servers.dedup();
    let description =
        entry.and_then(|entry| entry.candidates.iter().min_by_key(|one| (one.priority, one.id)));
    let description = description.map_or_else(|| Arc::from(""), |one| one.spec().description.clone());
    Some(ApprovalRequest { name: name.clone(), servers, description, candidates: candidates.clone() })
}

/// The known providers of a name that a call may reach.
fn providers(hub: &Hub, name: &str, options: &CallOptions) -> Vec<Provider> {
    let snapshot = hub.registry.load();
    let candidates = snapshot.get(name).map(|entry| entry.candidates.as_slice()).unwrap_or_default();
    candidates
        .iter()
        .filter(|one| options.source.is_none_or(|source| source == one.source))
        .filter(|one| options.server.is_none() || options.server == one.server)
        .filter(|one| options.allowed.as_ref().is_none_or(|list| list.allows(name, one.server.as_deref())))
        .filter(|one| options.safety.is_none_or(|most| one.spec().effects.safety <= most))
        .map(|one| (one.source, one.server.clone()))
        .collect()
}
