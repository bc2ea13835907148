//! A tool that no provider has: ask the servers whose list is missing or stale, once, before "not found".

use super::request::Permissions;
use super::servers::PlanView;
use super::state::{CallPlan, RecallState};
use crate::hub::{Hub, PlannedRun};
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolhub_registry::identity::CallTarget;
use toolhub_text::message;
use toolhub_text::message::{Join, Message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip};
use toolhub_types::model::CallOptions;
use toolhub_types::tool::Freshness;

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
        if view.servers.is_none() || self.unreachable.is_some() {
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
        if servers.is_empty() || view.hub.tape().is_some_and(|tape| tape.is_replay()) {
            return None;
        }
        // A run compares the definition again.
        self.recall = RecallState::default();
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
