//! L4, one call from request to result.
//!
//! ```text
//! request ─► route ─► permit ─► look up ─► select ─► take turn ─► recall ─► approve ─► share ─► run ─► synthesise ─► result
//!              │         │         │          │          │          │         │         │       │         │
//!           labels   patterns   servers  candidates   message    ledger    caller    cache,  execute    model
//!                                                                                    flights
//! ```
//!
//! [`CallPlan`] decides, without I/O and without a runtime: [`CallPlan::next`] returns the next [`PlanStep`], the driver
//! carries it out and reports back ([`CallPlan::looked_up`], [`CallPlan::approval_answered`], [`CallPlan::not_shared`]).
//! Each step judges one snapshot of the registry, so that what was permitted is what runs. Time is an input. Every entry point is a [`CallRequest`]: a call by name, by capability, or as a model asked for it.
//!
//! One driver: [`fn@drive`], an `async fn` over [`CallServices`]. The gateway awaits it on tokio ([`call`]); the bindings poll
//! the same future in place on the caller's asyncio loop. A call that needs none of these steps (the usual one: a name that is
//! registered) goes straight to [`select_by_name`] and its run.
//!
//! | file | holds |
//! |---|---|
//! | [`state`] | what a caller asks for, what an agent may call, the question that asks for an approval; what is known and decided so far; what a model is asked when several answers were merged |
//! | [`question`] | what binds an approval in the store, and what a person reads |
//! | [`providers`] | who may be called: the servers, the permissions, and asking servers for a tool that none has listed |
//! | [`order`] | the order of the calls of one message |
//! | [`recall`] | what a run has recorded of the call |
//! | [`share`] | the result cache and single flight |
//! | [`drive`](mod@drive) | the driver, and what is asked about a call, form by form |
//! | [`on_tokio`] | a call from the gateway |

mod drive;
mod on_tokio;
mod order;
mod providers;
mod question;
mod recall;
mod share;
mod state;

pub use drive::{CallServices, WithoutRun, drive};
pub use on_tokio::{CallResult, CallSources, TokioCall, call, until_cancelled};
pub use order::{CallVerdict, MessageOrder, MessageTurn};
pub use providers::{
    KnownServers, LookUpRequest, PlanView, ServerSet, not_all_asked, unknown_server, unknown_to,
};
pub use question::in_short;
pub use recall::RecallRequest;
pub use share::{IsGone, Shareable, SharedResults};
pub use state::{
    ApprovalRequest, Approver, CallPlan, CallRequest, FunctionAnswer, NOT_APPROVED, Permissions,
    SharingRequest, TimeAllowed, UNKNOWN_SOURCE, UNREADABLE, Unreachable, answer_kind, question,
    synthesis_prompt,
};
pub use toolhub_registry::identity::CallTarget;

use crate::hub::{Hub, PlannedRun};
use order::Due;
use providers::{are_harmless, is_miss, offered_elsewhere};
use std::time::Instant;
use toolhub_registry::identity::CallKey;
use toolhub_registry::route::Route;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result};
use toolhub_types::model::{CallOptions, Freshness, Prefer};

/// What the driver of a call does next.
pub enum PlanStep {
    /// Make the key of the call where it holds nobody up, then report [`CallPlan::identified`].
    Identify(HeavyWork<CallKey>),
    /// Ask servers for their tools, then report [`CallPlan::looked_up`].
    LookUp(LookUpRequest),
    /// Wait for the turn of the call, and not beyond the deadline: calls before this one have not ended.
    AwaitTurn,
    /// Ask the ledger what the run knows of this call, then report [`CallPlan::recalled`].
    Recall(RecallRequest),
    /// Ask the caller, then report [`CallPlan::approval_answered`]. The call runs with the arguments that were shown.
    Approve(ApprovalRequest),
    /// Answer from the cache or from a call in flight; otherwise report [`CallPlan::not_shared`].
    Share(Box<Shareable>),
    /// Run these candidates. The result of the run is the result of the call, after [`CallPlan::may_synthesize`].
    Run(Box<PlannedRun>),
    /// The call ends here: nothing was called.
    Refuse(HubError),
}

/// What takes a while if the arguments are large.
pub struct HeavyWork<T>(Box<dyn FnOnce() -> T + Send>);

impl<T> HeavyWork<T> {
    fn run(self) -> T {
        (self.0)()
    }
}

impl CallPlan {
    /// What to do next.
    pub fn next(&mut self, hub: &Hub, servers: Option<&dyn ServerSet>, now: Instant) -> PlanStep {
        self.step(&PlanView::new(hub, servers, now)).unwrap_or_else(PlanStep::Refuse)
    }

    fn step(&mut self, view: &PlanView<'_>) -> Result<PlanStep> {
        let (hub, now) = (view.hub, view.now);
        if hub.is_closed() {
            return Err(closed());
        }
        if let Some(content) = self.heavy.take() {
            self.check_deadline(now)?;
            let CallRequest { target, options, .. } = &self.request;
            let (target, options) = (target.clone(), options.clone());
            return Ok(PlanStep::Identify(HeavyWork(Box::new(move || {
                CallKey::new(&target, &options, content)
            }))));
        }
        self.take_number(hub);
        if let Some(error) = &self.request.unreadable {
            return Err(HubError::new(ErrorKind::InvalidArguments, error.clone()));
        }
        self.find_route(view)?;
        if self.unreachable.is_none() {
            self.check_deadline(now)?;
        }
        if self.must_know_providers(view)
            && let Some(look_up) = self.look_up(view)
        {
            return Ok(PlanStep::LookUp(look_up));
        }
        self.narrow(view)?;
        let mut planned = match self.select(view) {
            Ok(planned) => planned,
            Err(miss) => match self.look_up(view) {
                Some(look_up) if is_miss(&miss) => return Ok(PlanStep::LookUp(look_up)),
                _ => return Err(self.missed(hub, miss)),
            },
        };
        if self.must_be_defined()
            && !planned.candidates.iter().all(|one| one.tool.is_defined())
            && let Some(look_up) = self.look_up(view)
        {
            return Ok(PlanStep::LookUp(look_up));
        }
        let is_harmless = are_harmless(&planned.candidates);
        match self.request.turn.as_ref().map_or(Due::Now, |turn| turn.take(is_harmless)) {
            Due::Now => {}
            Due::Never(error) => return Err(error),
            Due::Later => {
                self.check_deadline(now)?;
                return Ok(PlanStep::AwaitTurn);
            }
        }
        if let Some(request) = self.recall(hub, &planned)? {
            return Ok(PlanStep::Recall(request));
        }
        let freshness = self.freshness(is_harmless);
        if let Some(look_up) = self.current_lists(view, &planned, freshness) {
            return Ok(PlanStep::LookUp(look_up));
        }
        if freshness == Freshness::Now
            && let Some(error) = self.why_not_listed(&planned)
        {
            return Err(error);
        }
        if !is_harmless && self.needs_approval()? {
            self.check_deadline(now)?;
            return Ok(PlanStep::Approve(ApprovalRequest::new(&planned.candidates)));
        }
        let cassette = hub.cassette();
        if let Some(shareable) = self.shareable(view, &planned).filter(|_| cassette.is_none()) {
            return Ok(PlanStep::Share(Box::new(shareable)));
        }
        // The deadline and the duration count from the beginning of the call.
        planned.run.count_from(self.begun, now);
        planned.freshness = freshness;
        self.in_doubt = planned.in_doubt.clone();
        self.record(hub, &mut planned);
        if let Some(cassette) = cassette {
            let identity = self.identity(hub, &planned.candidates).ok();
            planned.put_on_cassette(&cassette, identity.as_ref(), now);
        }
        Ok(PlanStep::Run(planned))
    }

    fn find_route(&mut self, view: &PlanView<'_>) -> Result<()> {
        let (None, CallTarget::Routed { source, .. }) = (&self.route, &self.request.target) else {
            return Ok(());
        };
        let known = KnownServers::new(view.snapshot.clone(), view.servers);
        let Route { rule, source, server } = view.hub.route(source.as_deref(), &known)?;
        self.route = Some(rule);
        self.options.source = source;
        // A route that names no server leaves the one that the caller named.
        self.options.server = server.or_else(|| self.options.server.take());
        self.options.is_routed = true;
        // Models mislabel sources, so MCP servers come first unless the user decided otherwise.
        let prefer = self.options.prefer.or(view.hub.options.prefer);
        self.options.prefer = prefer.or(Some(Prefer::Mcps));
        Ok(())
    }

    /// Finds the candidates, with an error that says why there are none.
    fn select(&self, view: &PlanView<'_>) -> Result<Box<PlannedRun>> {
        let PlanView { hub, snapshot, servers, now } = view;
        match &self.request.target {
            CallTarget::Name(name) => select_by_name(view, name, &self.options),
            CallTarget::Capability(tag) => {
                let planned = hub.plan_by_capability(snapshot, &tag.to_lowercase(), &self.options, *now);
                planned.map_err(|error| {
                    let server = self.options.server.as_deref();
                    server.and_then(|server| unknown_to(snapshot, *servers, server)).unwrap_or(error)
                })
            }
            CallTarget::Routed { name, .. } => {
                hub.offers(snapshot, name, &self.options)?;
                hub.plan_by_name(snapshot, name, &self.options, *now)
            }
        }
    }

    /// Whether there is somebody to ask about a call that is not known to be harmless.
    fn needs_approval(&mut self) -> Result<bool> {
        let permissions = self.request.permissions.as_ref();
        if self.request.proposed_in.is_some() && permissions.is_none_or(|one| one.approvers.is_empty()) {
            self.is_forbidden = true;
            return Err(state::only_proposed(self.request.target.name()));
        }
        Ok(!self.is_approved && permissions.is_some_and(Permissions::needs_approval))
    }

    /// The caller was asked; the reason is the rest of a sentence: "it was not approved".
    pub fn approval_answered(&mut self, verdict: Result<(), Message>) -> Result<()> {
        self.is_approved = verdict.is_ok();
        self.is_forbidden = verdict.is_err();
        verdict.map_err(|reason| state::not_approved(self.request.target.name(), reason))
    }
}

/// The candidates of a name. A call that names a server may use tools that the server has not listed.
pub fn select_by_name(view: &PlanView<'_>, name: &str, options: &CallOptions) -> Result<Box<PlannedRun>> {
    let PlanView { hub, snapshot, servers, now } = view;
    let planned = hub.plan_by_name(snapshot, name, options, *now);
    let (Err(error), Some(server)) = (&planned, &options.server) else { return planned };
    if error.kind != ErrorKind::NotFound || name.is_empty() {
        return planned;
    }
    if let Some(unknown) = unknown_to(snapshot, *servers, server) {
        return Err(match snapshot.find(name) {
            Some(entry) => offered_elsewhere(unknown, name, &entry),
            None => unknown,
        });
    }
    match servers.and_then(|servers| servers.unlisted(server, name)) {
        Some(candidate) => Ok(hub.plan_for(candidate, options, *now)),
        None => planned,
    }
}

/// The answer of a hub that was closed.
pub fn closed() -> HubError {
    HubError::new(ErrorKind::Closed, message!("The hub is closed; make a new ToolHub."))
        .with_outcome(Outcome::NotSent)
}
