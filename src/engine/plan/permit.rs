//! Which providers of a tool a call may use.

use super::request::not_approved;
use super::servers::PlanView;
use super::state::{CallPlan, RouteState};
use crate::hub::Hub;
use std::sync::Arc;
use toolhub_registry::Snapshot;
use toolhub_registry::identity::CallTarget;
use toolhub_registry::route::RouteRule;
use toolhub_registry::select::Candidates;
use toolhub_text::message;
use toolhub_text::pattern::{BETWEEN, PatternList};
use toolhub_types::error::HubError;
use toolhub_types::model::{CallOptions, Source};

/// One provider of a tool: what it calls the tool, its source, and its server if it has one.
type Provider = (Arc<str>, Source, Option<Arc<str>>);

impl CallPlan {
    /// Whether permissions depend on the provider of a tool that no known provider has: then servers are asked first.
    pub(super) fn must_know_providers(&self, view: &PlanView<'_>) -> bool {
        let name = self.request.target.name();
        self.request.permissions.as_ref().is_some_and(|permissions| {
            let depends = permissions.allowed.names_servers() && permissions.allowed.may_allow(name);
            // `server__tool` is allowed if the tool is allowed on that server.
            (depends || name.contains(BETWEEN)) && providers(&view.snapshot, name, &self.options).is_empty()
        })
    }

    /// Restricts the call to the providers that are allowed, or says why there are none.
    pub(super) fn narrow(&mut self, view: &PlanView<'_>) -> Result<(), HubError> {
        let Some(permissions) = self.request.permissions.clone() else { return Ok(()) };
        let name = self.request.target.name().clone();
        if Hub::is_read_more(&view.snapshot, &name) {
            return Ok(());
        }
        self.is_forbidden = true;
        if !matches!(self.request.target, CallTarget::Capability(_)) {
            self.narrow_by_name(view, &name, &permissions.allowed)?;
        }
        // What a later step finds has to be allowed too, and so has each tool with a capability.
        self.options.allowed = Some(permissions.allowed);
        self.is_forbidden = false;
        Ok(())
    }

    fn narrow_by_name(
        &mut self,
        view: &PlanView<'_>,
        name: &Arc<str>,
        allowed: &PatternList,
    ) -> Result<(), HubError> {
        let mut known = providers(&view.snapshot, name, &self.options);
        if known.is_empty() && self.must_know_providers(view) {
            let anyone = CallOptions { allowed: None, ..self.options.clone() };
            if let Err(miss) = view.hub.offers(&view.snapshot, name, &anyone) {
                self.is_forbidden = false;
                return Err(self.missed(view.hub, miss));
            }
        }
        if known.is_empty() {
            // A tool that no provider has is judged by its name, and by the server that was named.
            known.push((name.clone(), Source::Mcps, self.options.server.clone()));
        }
        let total = known.len();
        known.retain(|(own, _, server)| allowed.allows(own, server.as_deref()));
        let Some(first) = known.first().cloned() else {
            return Err(not_approved(name, message!("it is not among the tools that are allowed here")));
        };
        if known.len() < total && known.iter().all(|one| place(one) == place(&first)) {
            self.restrict(first);
        }
        Ok(())
    }

    /// A route can be restricted to one server or to one source.
    fn restrict(&mut self, (_, source, server): Provider) {
        if matches!(self.request.target, CallTarget::Routed { .. }) {
            let rule = if server.is_some() { RouteRule::Server } else { RouteRule::Source };
            self.route = RouteState::Found(rule);
        }
        self.options.source = if server.is_some() { None } else { Some(source) };
        self.options.server = server;
    }
}

/// What a provider is called by: its server, or else its source.
fn place((_, source, server): &Provider) -> (Option<Source>, Option<&Arc<str>>) {
    (Some(*source).filter(|_| server.is_none()), server.as_ref())
}

/// Whether a call of these candidates is known to change nothing.
pub(super) fn are_harmless(candidates: &Candidates) -> bool {
    candidates.iter().all(|one| one.spec().effects.are_harmless())
}

/// The known providers of a name that a call may reach.
fn providers(snapshot: &Snapshot, name: &str, options: &CallOptions) -> Vec<Provider> {
    let entry = snapshot.find(name);
    let candidates = entry.iter().flat_map(|entry| &entry.candidates);
    candidates
        .filter(|one| options.source.is_none_or(|source| source == one.source))
        .filter(|one| options.server.is_none() || options.server == one.server)
        .filter(|one| options.safety.is_none_or(|most| one.spec().effects.safety <= most))
        .map(|one| (one.spec().name.clone(), one.source, one.server.clone()))
        .collect()
}
