//! A tool that no provider has: ask the servers whose list is missing or stale, once, before "not found".

use super::state::{CallPlan, Permissions, not_approved};
use crate::hub::{Hub, PlannedRun};
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolhub_registry::identity::CallTarget;
use toolhub_registry::route::{Directory, RouteRule};
use toolhub_registry::select::Candidates;
use toolhub_registry::{Candidate, NameEntry, Snapshot};
use toolhub_text::message::{Join, Message};
use toolhub_text::pattern::{BETWEEN, PatternList};
use toolhub_text::{message, near_names};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::model::{CallOptions, Freshness, Source};

/// Which servers to ask, and for what.
#[derive(Clone, Debug)]
pub struct LookUpRequest {
    /// The tool; `None` for a capability, which tools of every server may have.
    pub name: Option<Arc<str>>,
    /// Names the source and the server, if the call does.
    pub options: CallOptions,
    /// The servers that have to list their tools, as current as this. Empty: those that may have the tool.
    pub servers: Vec<Arc<str>>,
    pub freshness: Freshness,
    pub patience: Duration,
}

/// Whether no provider is known, so that a server may still have one.
pub(super) fn is_miss(error: &HubError) -> bool {
    matches!(error.kind, ErrorKind::NotFound | ErrorKind::NoCapability)
}

impl CallPlan {
    /// The look-up that this call needs; `None` when there are no servers, or they were asked already.
    pub(super) fn look_up(&self, view: &PlanView<'_>) -> Option<LookUpRequest> {
        let has_servers = view.servers.is_some_and(|servers| !servers.ids().is_empty());
        if !has_servers || self.unreachable.is_some() {
            return None;
        }
        let name = match &self.request.target {
            CallTarget::Capability(_) => None,
            CallTarget::Name(name) | CallTarget::Routed { name, .. } => Some(name.clone()),
        };
        Some(LookUpRequest {
            name,
            options: self.options.clone(),
            servers: Vec::new(),
            freshness: Freshness::Any,
            patience: self.patience(view.hub, view.now),
        })
    }

    /// The look-up that a call needs whose definition somebody approves or a run keeps. `None` when it was made already; then
    /// nothing leaves over a connection without a list.
    pub(super) fn current_lists(
        &mut self,
        view: &PlanView<'_>,
        planned: &PlannedRun,
        freshness: Freshness,
    ) -> Option<LookUpRequest> {
        if freshness == Freshness::Any || std::mem::replace(&mut self.are_lists_current, true) {
            return None;
        }
        let stale = planned.candidates.iter().filter(|one| !one.tool.is_current(freshness));
        let servers: Vec<_> = stale.filter_map(|one| one.server.clone()).collect();
        if servers.is_empty() || view.hub.is_replaying() {
            return None;
        }
        // A run compares the definition again.
        self.record = None;
        let (options, patience) = (self.options.clone(), self.patience(view.hub, view.now));
        Some(LookUpRequest { name: None, options, servers, freshness, patience })
    }

    /// Why no candidate of a call has a definition of now, which somebody could approve; `None` if one has.
    pub(super) fn why_not_listed(&self, planned: &PlannedRun) -> Option<HubError> {
        let failure = |server: Option<&Arc<str>>| {
            let mut failed = self.unreachable.iter().flatten();
            failed.find(|(id, _)| Some(id) == server).map(|(_, error)| error)
        };
        let failures: Option<Vec<_>> =
            planned.candidates.iter().map(|one| failure(one.server.as_ref())).collect();
        failures?.first().map(|error| (*error).clone().with_outcome(Outcome::NotSent))
    }

    /// How current the definition of the tool has to be.
    pub(super) fn freshness(&self, is_harmless: bool) -> Freshness {
        match self.request.permissions.as_ref().is_some_and(Permissions::needs_approval) {
            true if !is_harmless => Freshness::Now,
            // An earlier definition does not prove that the tool of today is harmless.
            _ if self.must_be_defined() => Freshness::Connection,
            _ => Freshness::Any,
        }
    }

    /// Whether what the call does has to be bound to a definition, which a server has not given before it has listed its tools.
    pub(super) fn must_be_defined(&self) -> bool {
        let permissions = self.request.permissions.as_ref();
        self.options.run.is_some()
            || self.request.proposed_in.is_some()
            || permissions.is_some_and(Permissions::needs_approval)
    }

    fn patience(&self, hub: &Hub, now: Instant) -> Duration {
        let limits = [Some(hub.options.lookup_timeout), self.options.timeout, self.time_left(now)];
        limits.into_iter().flatten().min().unwrap_or_default()
    }

    /// The final error of a call without a provider: the miss, or why the servers that may have it could not be asked.
    pub(super) fn missed(&self, hub: &Hub, miss: HubError) -> HubError {
        let unreachable = self.unreachable.as_deref().unwrap_or_default();
        if unreachable.is_empty() || !is_miss(&miss) {
            return miss;
        }
        let named = self.options.server.as_ref();
        if let Some((_, error)) = unreachable.iter().find(|(id, _)| Some(id) == named) {
            // The call named this server, so the answer is why it could not be asked.
            return error.clone().with_outcome(Outcome::NotSent);
        }
        if let Some(deadline) = self.limiting_deadline(hub)
            && unreachable.iter().any(|(_, error)| error.kind == ErrorKind::Timeout)
        {
            let text = message!(
                "'{}' was not found within the deadline of {} s (nothing was started).",
                clip(self.request.target.name()),
                deadline.as_secs_f64()
            );
            return HubError::new(ErrorKind::Timeout, text).with_outcome(Outcome::NotSent);
        }
        HubError { message: not_all_asked(&miss, unreachable), ..miss }
    }

    /// The deadline, when it was the shortest of the limits of the look-up.
    fn limiting_deadline(&self, hub: &Hub) -> Option<Duration> {
        let deadline = self.request.options.deadline?;
        let others = [Some(hub.options.lookup_timeout), self.options.timeout];
        others.into_iter().flatten().all(|limit| deadline <= limit).then_some(deadline)
    }
}

/// A miss, and why the servers that may have the tool could not be asked.
pub fn not_all_asked(miss: &HubError, unreachable: &[(Arc<str>, HubError)]) -> Message {
    let reasons = unreachable.iter().map(|(_, error)| error.message.clause()).collect();
    message!("{} Some servers could not be asked: {}.", miss, Message::list(reasons, Join::Semicolons))
}

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
    pub(super) fn narrow(&mut self, view: &PlanView<'_>) -> Result<()> {
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

    fn narrow_by_name(&mut self, view: &PlanView<'_>, name: &Arc<str>, allowed: &PatternList) -> Result<()> {
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
            self.route = Some(rule);
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
