//! The driver of a plan: carries its steps out, wherever the call is made.
//!
//! It is one `async fn`. On tokio it is awaited ([`super::call`]); on a caller's event loop the same future is polled in place
//! (the bindings' `CallDriver`). What differs there is in the [`CallServices`]: what a result is, and how a server, a person,
//! a model and a tool are asked. They decide nothing.
//!
//! A service that is interrupted (the caller is cancelled, or presses Ctrl-C) does not return: the future is dropped. The
//! plan then ends as given up, and one of the calls that follow this one leads.

use super::share::{Consulted, FlightLead, FollowedFlight, RunEnd, Shareable};
use super::state::not_approved;
use super::{
    ApprovalRequest, Approver, CallPlan, CallVerdict, FunctionAnswer, IsGone, LookUpRequest, NOT_APPROVED,
    PlanStep, SharedResults, Unreachable, closed,
};
use crate::execute::now;
use crate::hub::{Hub, PlannedRun, kept_error};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use toolhub_registry::Candidate;
use toolhub_registry::identity::{NotJson, is_same_tool};
use toolhub_text::{Message, message};
use toolhub_types::blocking;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result};
use toolhub_types::model::FOREVER;
use toolhub_types::tool::OnProgress;

/// How often a follower looks whether the one that it follows can still make progress.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// What the driver needs from the place where a call is made. What a place does not offer is refused, or not shared.
pub trait CallServices: Send + Sync {
    /// A result as a caller there gets it.
    type Result: Send + Sync + 'static;
    /// Arguments as a tool there takes them.
    type Arguments: Send + Sync;

    fn hub(&self) -> &Hub;

    /// Asks the plan.
    fn next_step(&self, plan: &mut CallPlan) -> PlanStep;

    /// The call is not refused; its route is known. Called once.
    fn routed(&self, _: &CallPlan) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Waits for something that the core does.
    fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send;

    /// Asks servers for their tools; returns those that could not be asked.
    fn look_up(&self, request: LookUpRequest) -> impl Future<Output = Unreachable> + Send;

    /// The arguments of the call as this candidate takes them; without one, as they were given.
    fn fit(&self, candidate: Option<&Candidate>) -> Result<Self::Arguments> {
        Err(not_approved(candidate.map_or("", |one| &one.spec().name), NO_APPROVALS))
    }

    /// Such arguments as JSON; the error says what is not.
    fn json(&self, _: &Self::Arguments) -> Result<Value, NotJson> {
        Err(NotJson::not_given())
    }

    /// Asks the function of this number, within the deadline of the call.
    fn approve(
        &self,
        _: &CallPlan,
        _function: usize,
        _: &ApprovalRequest,
        _: &Self::Arguments,
    ) -> impl Future<Output = FunctionAnswer> + Send {
        std::future::ready(FunctionAnswer::Refuse(NO_APPROVALS.into()))
    }

    /// Runs the candidates; with `approved` each with its own arguments, or not at all.
    fn run(
        &self,
        planned: Box<PlannedRun>,
        approved: Option<Vec<Result<Arc<Self::Arguments>>>>,
    ) -> impl Future<Output = Self::Result> + Send;

    /// The result of a call that ends without a run.
    fn without_run(&self, plan: &CallPlan, ended: WithoutRun) -> impl Future<Output = Self::Result> + Send;

    /// What went wrong, and what the call may have done; `None` for a success.
    fn failure(&self, result: &Self::Result) -> Option<(ErrorKind, Outcome)>;

    /// What a run keeps of a failure.
    fn kept(&self, result: &Self::Result) -> Value;

    /// Lets a model make one answer of several, if there is one.
    fn synthesize(&self, plan: &CallPlan, result: Self::Result) -> impl Future<Output = Self::Result> + Send;

    /// The results that calls share there.
    fn shared(&self) -> Option<&SharedResults<Self::Result>> {
        None
    }

    /// Where the progress of a call goes that this one follows.
    fn progress(&self) -> Option<OnProgress> {
        None
    }

    /// Tells those that follow this call whether it cannot make progress any more. A future leads until it is dropped.
    fn is_gone(&self) -> IsGone {
        Arc::new(|| false)
    }

    /// A copy of a shared result; `None` if it cannot be shared.
    fn copy(&self, _: &Self::Result, _is_cached: bool) -> Option<Self::Result> {
        None
    }

    /// About how much memory a result takes.
    fn bytes(&self, _: &Self::Result) -> usize {
        0
    }
}

const NO_APPROVALS: &str = "no approval can be asked for here";

/// How a call ends for which no candidate was run.
pub struct WithoutRun {
    pub outcome: Result<Value>,
    /// The id of the question that it waits for.
    pub paused: Option<String>,
    /// The run has kept it.
    pub is_replayed: bool,
}

impl WithoutRun {
    fn replayed(kept: &Value) -> Box<Self> {
        let outcome = match kept.get("success").and_then(Value::as_bool) {
            Some(true) => Ok(kept.get("result").cloned().unwrap_or_default()),
            _ => Err(kept_error(kept)),
        };
        let paused = kept.get("paused").and_then(Value::as_str).map(str::to_owned);
        Box::new(WithoutRun { outcome, paused, is_replayed: true })
    }
}

impl From<HubError> for Box<WithoutRun> {
    fn from(error: HubError) -> Self {
        Box::new(WithoutRun { outcome: Err(error), paused: None, is_replayed: false })
    }
}

/// Makes a call, from its plan to its result. What goes wrong is in the result.
pub async fn drive<S: CallServices>(plan: &mut CallPlan, services: &S) -> S::Result {
    let result = match carry_out(plan, services).await {
        Ok(result) => services.synthesize(plan, result).await,
        Err(ended) => services.without_run(plan, *ended).await,
    };
    let answer = plan.is_told().then(|| services.kept(&result));
    plan.ended(Some(CallVerdict::of(services.failure(&result))), answer);
    result
}

async fn carry_out<S: CallServices>(plan: &mut CallPlan, services: &S) -> Result<S::Result, Box<WithoutRun>> {
    let (mut lead, mut approvals, mut is_routed) = (None, None::<Approvals<S::Arguments>>, false);
    loop {
        let step = services.next_step(plan);
        if !is_routed && matches!(step, PlanStep::Share(_) | PlanStep::Run(_)) {
            is_routed = true;
            services.routed(plan).await;
        }
        match step {
            PlanStep::Identify(work) => {
                let key =
                    services.wait(blocking::on_blocking_thread_until(plan.end(), move || work.run())).await;
                plan.identified(key.ok_or_else(|| plan.late(Outcome::NotSent, false))?);
            }
            PlanStep::LookUp(request) => plan.looked_up(services.look_up(request).await),
            PlanStep::AwaitTurn => await_turn(plan, services).await,
            PlanStep::Recall(request) => {
                let (answer, answered) = oneshot::channel();
                request.ask(move |memory| drop(answer.send(memory)));
                let memory = services.wait(answered).await;
                let memory = memory.unwrap_or_else(|_| Err("it is closed".into()));
                let kept = plan.recalled(memory, now());
                if services.hub().is_closed() {
                    // Whatever was heard of the run.
                    return Err(closed().into());
                }
                if let Some(kept) = kept? {
                    services.routed(plan).await;
                    return Err(WithoutRun::replayed(&kept));
                }
            }
            PlanStep::Approve(request) => approvals = Some(approve(plan, services, request).await?),
            PlanStep::Share(shareable) => match share(plan, services, &shareable).await? {
                Shared::Result(result) => return Ok(result),
                Shared::Lead(leads) => {
                    lead = leads;
                    plan.not_shared();
                }
            },
            PlanStep::Run(mut planned) => {
                planned.followers = lead.as_ref().and_then(|lead| lead.followers());
                let approvals = approvals.filter(|_| !planned.is_replayed);
                let approved = approvals.map(|approvals| approvals.for_run(&planned));
                let result = services.run(planned, approved).await;
                if let Some(lead) = lead {
                    land(services, *lead, &result);
                }
                return Ok(result);
            }
            PlanStep::Refuse(error) => return Err(error.into()),
        }
    }
}

/// Waits for the calls before this one, and not beyond the deadline, which the plan looks at.
async fn await_turn<S: CallServices>(plan: &CallPlan, services: &S) {
    let Some(turn) = &plan.request().turn else { return };
    let (comes, left) = (turn.comes(), plan.time_left(now()).unwrap_or(FOREVER));
    services.wait(async move { _ = tokio::time::timeout(left, comes).await }).await;
}

/// Asks about each form of the arguments that a candidate takes.
async fn approve<S: CallServices>(
    plan: &mut CallPlan,
    services: &S,
    request: ApprovalRequest,
) -> Result<Approvals<S::Arguments>, Box<WithoutRun>> {
    let mut approvals = Approvals::new(request, services)?;
    for at in 0..approvals.forms.len() {
        approvals.forms[at].answer =
            ask(plan, services, &approvals.request_of(at), &approvals.forms[at]).await?;
    }
    let verdict = match approvals.is_kept() {
        Err(reason) => Err(reason),
        Ok(is_kept) if is_kept || plan.heeds_answers() => {
            ask_store(plan, services, &approvals, is_kept).await?
        }
        Ok(_) => Ok(()),
    };
    if verdict.is_err() && services.hub().is_closed() {
        // Perhaps nobody had the time to answer.
        return Err(closed().into());
    }
    plan.approval_answered(verdict)?;
    Ok(approvals)
}

/// Asks about one form: each list has to approve, and in a list the first answer that is not a pass counts. Whether a list
/// leaves it to the store, which is asked last, so that no stored approval is used up by a call that is then refused.
async fn ask<S: CallServices>(
    plan: &CallPlan,
    services: &S,
    request: &ApprovalRequest,
    form: &ArgumentForm<S::Arguments>,
) -> Result<Result<bool, Message>> {
    let mut is_kept = false;
    'lists: for list in plan.approvers().iter() {
        for approver in list {
            let Approver::Function(function) = approver else {
                is_kept = true;
                continue 'lists;
            };
            match services.approve(plan, *function, request, &form.args).await {
                FunctionAnswer::Go => continue 'lists,
                FunctionAnswer::Pass => {}
                // Perhaps nobody had the time to answer.
                FunctionAnswer::Refuse(_) if services.hub().is_closed() => return Err(closed()),
                FunctionAnswer::Refuse(reason) => return plan.check_deadline(now()).map(|()| Err(reason)),
            }
        }
        return plan.check_deadline(now()).map(|()| Err(NOT_APPROVED.into()));
    }
    Ok(Ok(is_kept))
}

/// Uses the stored approval of this call up, or asks for one. All forms of the arguments are one question.
async fn ask_store<S: CallServices>(
    plan: &CallPlan,
    services: &S,
    approvals: &Approvals<S::Arguments>,
    is_new_asked: bool,
) -> Result<Result<(), Message>, Box<WithoutRun>> {
    let forms = approvals.open().map(|form| services.json(&form.args)).collect();
    let (question, is_large) =
        plan.stored_question(services.hub(), approvals.request.clone(), forms, is_new_asked)?;
    let (ledger, end) = (services.hub().ledger(), plan.end());
    let asked = ledger.clone();
    let answer = services.wait(async move {
        let question = match is_large {
            true => blocking::on_blocking_thread_until(end, move || question.run()).await,
            false => Some(question.run()),
        };
        let Some(question) = question else { return Err("the time is over".into()) };
        let (answer, answered) = oneshot::channel();
        asked.ask_approval(question, end, Box::new(move |known| drop(answer.send(known))));
        answered.await.unwrap_or_else(|_| Err("it is closed".into()))
    });
    plan.stored_answer(answer.await, &ledger, now())
}

/// The result of an identical call; or the lead of those that follow this one, if it is shared.
enum Shared<R> {
    Result(R),
    Lead(Option<Box<FlightLead<R>>>),
}

/// Looks into the cache, then follows an identical call in flight.
async fn share<S: CallServices>(
    plan: &CallPlan,
    services: &S,
    shareable: &Shareable,
) -> Result<Shared<S::Result>> {
    let Some(shared) = services.shared() else { return Ok(Shared::Lead(None)) };
    let copied = |result: &S::Result, is_cached| {
        services.copy(result, is_cached).map_or(Shared::Lead(None), Shared::Result)
    };
    // A function of its own: who leads in the end hears no more as a follower.
    let told = services.progress().map(|told| -> OnProgress { Arc::new(move |update| told(update)) });
    let (time, is_gone) = (&shareable.time, services.is_gone());
    let (mut followed, mut begun) = (None::<FollowedFlight<S::Result>>, now());
    loop {
        if let Some(result) = followed.as_ref().and_then(FollowedFlight::result) {
            return Ok(copied(&result, false));
        }
        let at = now();
        let flight = match shared.consult(shareable, at, (&is_gone, told.as_ref())) {
            Consulted::Hit(result) => return Ok(copied(&result, true)),
            Consulted::Lead(lead) => return Ok(Shared::Lead(Some(lead))),
            Consulted::Follow(flight) => flight,
        };
        if followed.is_none_or(|before| before.leader != flight.leader) {
            begun = at;
        }
        if plan.end().is_some_and(|end| end <= at) {
            return Err(plan.late(Outcome::Unknown, false));
        }
        // A leader that takes as long as this call may is replaced by it.
        let is_shorter = begun + time.longest.min(FOREVER) < flight.overdue_at;
        let times_out_at = is_shorter.then(|| begun + time.timeouts.min(FOREVER));
        if times_out_at.is_some_and(|end| end <= at) {
            return Err(plan.followed_too_long(time));
        }
        let ends = [plan.end(), times_out_at, Some(flight.overdue_at)];
        let until = ends.into_iter().flatten().fold(at + LOOK_AFTER, Instant::min);
        services.wait(flight.ends(until)).await;
        followed = Some(flight);
    }
}

/// Hands the result of a run to the calls that share it. A call that was cancelled has none: a follower leads.
fn land<S: CallServices>(services: &S, lead: FlightLead<S::Result>, result: &S::Result) {
    let end = match services.failure(result) {
        None => RunEnd::Success,
        Some((ErrorKind::Cancelled, _)) => return,
        Some((ErrorKind::Timeout, _)) => RunEnd::TimedOut,
        Some(_) => RunEnd::Failure,
    };
    if lead.is_wanted(end)
        && let Some(copy) = services.copy(result, false)
    {
        let bytes = if lead.is_cached(end) { services.bytes(&copy) } else { 0 };
        lead.land(copy, bytes, end, now());
    }
}

/// A form of the arguments.
pub(super) struct ArgumentForm<A> {
    pub args: Arc<A>,
    /// Whether it is left to the store; or why it must not run.
    pub answer: Result<bool, Message>,
}

/// What is asked, and what was answered.
pub(super) struct Approvals<A> {
    pub request: ApprovalRequest,
    /// Of each candidate: the form that it takes, or why it takes none.
    fits: Vec<Result<usize>>,
    pub forms: Vec<ArgumentForm<A>>,
}

impl<A> Approvals<A> {
    /// The arguments as each candidate takes them; the error is that of the first candidate when all refuse them.
    pub fn new<S: CallServices<Arguments = A>>(request: ApprovalRequest, services: &S) -> Result<Self> {
        // `5` and `"5"` are two forms, and so are values that are not JSON.
        let are_same = |one: &A, other: &A| {
            let (one, other) = (services.json(one), services.json(other));
            one.is_ok_and(|one| other.is_ok_and(|other| one == other))
        };
        let form = |args: A| ArgumentForm { args: Arc::new(args), answer: Err(NOT_APPROVED.into()) };
        let mut forms = Vec::<ArgumentForm<A>>::new();
        let mut form_of = |args: A| {
            let known = forms.iter().position(|form| are_same(&form.args, &args));
            known.unwrap_or_else(|| {
                forms.push(form(args));
                forms.len() - 1
            })
        };
        let fits = request.candidates.iter().map(|one| services.fit(Some(one)).map(&mut form_of));
        let fits: Vec<_> = fits.collect();
        match fits.first() {
            Some(Err(error)) if forms.is_empty() => return Err(error.clone()),
            // A tool that no server has listed yet: nothing is known about its arguments.
            None => forms.push(form(services.fit(None)?)),
            _ => {}
        }
        Ok(Approvals { request, fits, forms })
    }

    /// The question about one form: it names the servers that would get the arguments in this form.
    pub fn request_of(&self, at: usize) -> ApprovalRequest {
        let mut request = self.request.clone();
        if self.forms.len() > 1 {
            let takes = |id: &Arc<str>| {
                let mut fits = self.request.candidates.iter().zip(&self.fits);
                fits.any(|(one, fit)| one.server.as_ref() == Some(id) && *fit == Ok(at))
            };
            request.servers.retain(takes);
        }
        request
    }

    /// The forms that would run.
    pub fn open(&self) -> impl Iterator<Item = &ArgumentForm<A>> {
        self.forms.iter().filter(|form| form.answer.is_ok())
    }

    /// Whether the store decides; the reason of the first form if all are refused.
    pub fn is_kept(&self) -> Result<bool, Message> {
        match self.open().next() {
            Some(_) => Ok(self.open().any(|form| form.answer == Ok(true))),
            None => self.forms.first().map_or(Ok(false), |form| form.answer.clone()),
        }
    }

    /// What each candidate of a run gets: the approved arguments, or the reason why it must not start.
    pub fn for_run(&self, planned: &PlannedRun) -> Vec<Result<Arc<A>>> {
        let name = &self.request.name;
        let of = |now: &Arc<Candidate>| {
            let asked = self.request.candidates.iter().position(|asked| is_same_tool(asked, now));
            let Some(at) = asked else {
                return Err(not_approved(name, message!("it changed while its approval was awaited")));
            };
            let form = &self.forms[*self.fits[at].as_ref().map_err(HubError::clone)?];
            form.answer.clone().map(|_| form.args.clone()).map_err(|reason| not_approved(name, reason))
        };
        planned.candidates.iter().map(of).collect()
    }
}
