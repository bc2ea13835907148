//! Carries a plan out on tokio, without Python.

use super::{
    ApprovalRequest, ApprovalRound, CallPlan, CallRequest, CallVerdict, Consulted, FlightLead,
    FunctionAnswer, LookUpRequest, NextApprover, PlanStep, RunEnd, ServerSet, Shareable, SharedResults,
    Unreachable, Verdict, answer_kind, changed_meanwhile, closed, not_approved, question, synthesis_prompt,
};
use crate::hub::{Hub, PlannedRun, RunReport, answer_text, kept_error, kept_result};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use toolhub_registry::Candidate;
use toolhub_registry::identity::{CallContent, is_same_tool};
use toolhub_types::aside;
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip};
use toolhub_types::kind::ToolKind;
use toolhub_types::model::{Arguments, CheckOptions, Fitting, ToolOutput};
use toolhub_types::tool::{BoxFuture, CallContextExtras};

/// What a plan needs from outside.
pub trait CallServices: Send + Sync {
    /// The MCP servers, if there are any.
    fn servers(&self) -> Option<&dyn ServerSet>;

    /// Asks servers for their tools; returns those that could not be asked.
    fn look_up<'a>(&'a self, request: &'a LookUpRequest) -> BoxFuture<'a, Unreachable>;

    /// Asks the approver of this number whether a call may be made with these arguments. Without a user there is no approval.
    fn approve<'a>(
        &'a self,
        _approver: usize,
        _request: &'a ApprovalRequest,
        _args: &'a Arguments,
    ) -> BoxFuture<'a, FunctionAnswer> {
        let reason = "no approval can be asked for here".to_owned();
        Box::pin(std::future::ready(FunctionAnswer::Refuse(reason)))
    }

    /// Asks a model; `None` when there is none.
    fn ask_model<'a>(&'a self, _prompt: &'a str) -> Option<BoxFuture<'a, Result<String, HubError>>> {
        None
    }
}

/// What a call came to.
#[derive(Clone, Debug)]
pub struct CallResult {
    pub outcome: Result<ToolOutput, HubError>,
    /// The label of the provider that answered; of the last one that was tried when none did.
    pub provider: Option<String>,
    /// Every answer with the label of its provider, when several were merged.
    pub answers: Vec<(String, Value)>,
    /// What merged answers are about.
    answer_kind: ToolKind,
    pub cached: bool,
    /// A model made one answer of several.
    pub synthesized: bool,
    /// The name of the rule by which a routed call was routed.
    pub route: Option<&'static str>,
}

impl CallResult {
    fn of(report: RunReport) -> Self {
        let answers = report.merged_answers();
        let provider = report.provider();
        let answer_kind = answer_kind(&report.plan);
        let outcome = report.into_output();
        CallResult { outcome, provider, answers, answer_kind, cached: false, synthesized: false, route: None }
    }

    /// About how much memory the answers take.
    fn bytes(&self) -> usize {
        let output = self.outcome.iter().map(|output| &output.value);
        output.chain(self.answers.iter().map(|(_, value)| value)).map(|value| value.to_string().len()).sum()
    }

    /// What a run kept of the call.
    fn replayed(kept: &Value) -> Self {
        if kept.get("success").and_then(Value::as_bool).unwrap_or(false) {
            let value = kept.get("result").cloned().unwrap_or_default();
            return CallResult { outcome: Ok(ToolOutput::new(value)), ..CallResult::refused(closed()) };
        }
        CallResult::refused(kept_error(kept))
    }

    /// A call that is given up while its tool runs on.
    pub fn given_up(tool: &str, provider: Option<String>) -> Self {
        let text = format!("Tool '{}' was cancelled, and has not ended.", clip(tool));
        let error = HubError::new(ErrorKind::Cancelled, text).with_outcome(Outcome::Unknown);
        CallResult { provider, ..CallResult::refused(error) }
    }

    /// Nothing was called.
    pub fn refused(error: HubError) -> Self {
        CallResult {
            outcome: Err(error),
            provider: None,
            answers: Vec::new(),
            answer_kind: ToolKind::Other,
            cached: false,
            synthesized: false,
            route: None,
        }
    }
}

/// Makes one call, from request to result. `extras` reach every tool that runs. Never fails: what goes wrong is in the result.
pub async fn call(
    hub: &Hub,
    services: &dyn CallServices,
    shared: &SharedResults<CallResult>,
    request: CallRequest,
    args: Arc<Arguments>,
    extras: &CallContextExtras,
    cancel: &CancellationToken,
) -> CallResult {
    let mut request = request;
    if hub.tape().is_some() && request.content.is_none() {
        let (arguments, meta) = (args.as_value().clone(), extras.meta.clone());
        request.content = Some(Ok(CallContent { arguments, meta, ..CallContent::default() }));
    }
    let mut plan = CallPlan::new(request, now());
    let (mut lead, mut approved) = (None, None);
    let ended = tokio::select! {
        biased;
        ended = prepare(&mut plan, &mut lead, hub, services, shared, (&args, &mut approved)) => ended,
        () = cancel.cancelled() => Readied::Over(Box::new(CallResult::refused(cancelled(&plan)))),
    };
    let mut result = match ended {
        Readied::Over(result) => *result,
        Readied::Run(planned) => {
            let approved =
                approved.filter(|_| !planned.is_replayed()).map(|approved| for_run(&approved, &planned));
            CallResult::of(hub.run_planned(*planned, args.clone(), approved, extras, cancel).await)
        }
    };
    // A call that was cancelled has no result to share: a follower leads.
    let cancelled = matches!(&result.outcome, Err(error) if error.kind == ErrorKind::Cancelled);
    if let Some(lead) = lead.filter(|_| !cancelled) {
        let end = match &result.outcome {
            Ok(_) => RunEnd::Success,
            Err(error) if error.kind == ErrorKind::Timeout => RunEnd::TimedOut,
            Err(_) => RunEnd::Failure,
        };
        let bytes = if lead.is_cached(end) { result.bytes() } else { 0 };
        lead.land(result.clone(), bytes, end, now());
    }
    let (verdict, answer) = match &result.outcome {
        Ok(_) => (CallVerdict::Over, None),
        Err(error) => {
            let answer = plan.is_told().then(|| kept_result(&Err(error.clone())));
            (CallVerdict::of_failure(error.kind, error.outcome), answer)
        }
    };
    plan.ended(Some(verdict), answer);
    synthesize(&plan, services, &mut result, &args).await;
    result.route = plan.route_name();
    result
}

enum Readied {
    Run(Box<PlannedRun>),
    Over(Box<CallResult>),
}

/// Everything before the run.
async fn prepare(
    plan: &mut CallPlan,
    lead: &mut Option<FlightLead<CallResult>>,
    hub: &Hub,
    services: &dyn CallServices,
    shared: &SharedResults<CallResult>,
    (args, approved): (&Arc<Arguments>, &mut Option<Approved>),
) -> Readied {
    loop {
        match plan.next(hub, services.servers(), now()) {
            PlanStep::Identify(work) => plan.identified(aside::in_place(|| work.key())),
            PlanStep::LookUp(request) => plan.looked_up(services.look_up(&request).await),
            PlanStep::AwaitTurn => {
                let (woken, turn) = oneshot::channel();
                plan.on_turn(move || _ = woken.send(()));
                match plan.time_left(now()) {
                    None => drop(turn.await),
                    Some(left) => drop(tokio::time::timeout(left, turn).await),
                }
            }
            PlanStep::Recall(request) => {
                let (answer, answered) = oneshot::channel();
                request.ask(move |memory| drop(answer.send(memory)));
                let memory = answered.await.unwrap_or_else(|_| Err("it is closed".to_owned()));
                plan.recalled(memory);
            }
            PlanStep::Replay(kept) => return Readied::Over(Box::new(CallResult::replayed(&kept))),
            PlanStep::Approve(request) => match ask(plan, services, request, args).await {
                Ok(answers) => *approved = Some(answers),
                Err(error) => return Readied::Over(Box::new(CallResult::refused(error))),
            },
            PlanStep::Share(shareable) => match share(plan, shared, &shareable).await {
                Ok(result) => return Readied::Over(Box::new(result)),
                Err(leads) => {
                    *lead = Some(leads);
                    plan.not_shared();
                }
            },
            PlanStep::Run(planned) => return Readied::Run(planned),
            PlanStep::Refuse(error) => return Readied::Over(Box::new(CallResult::refused(error))),
        }
    }
}

/// What was asked about each candidate: its arguments, and the answer.
type Approved = Vec<(Arc<Candidate>, Result<Arc<Arguments>, HubError>)>;

/// Asks about each form of the arguments that a candidate takes, within the deadline of the call.
async fn ask(
    plan: &mut CallPlan,
    services: &dyn CallServices,
    request: ApprovalRequest,
    args: &Arc<Arguments>,
) -> Result<Approved, HubError> {
    let mut forms: Vec<(Arc<Arguments>, Result<(), String>)> = Vec::new();
    let mut approved = Vec::new();
    for candidate in &request.candidates {
        let fitting = match fitted(candidate, args) {
            Ok(fitting) => fitting.replacement.map_or_else(|| args.clone(), Arc::new),
            Err(error) => {
                approved.push((candidate.clone(), Err(error)));
                continue;
            }
        };
        let known = forms.iter().position(|(form, _)| form.as_value() == fitting.as_value());
        let at = match known {
            Some(at) => at,
            None => {
                let answer = answered(plan, services, &request, &fitting).await?;
                forms.push((fitting, answer));
                forms.len() - 1
            }
        };
        let (form, answer) = &forms[at];
        let refusal = |reason: &String| not_approved(&request.name, reason);
        approved.push((candidate.clone(), answer.as_ref().map(|()| form.clone()).map_err(refusal)));
    }
    if let (true, Some((_, Err(error)))) = (forms.is_empty(), approved.first()) {
        return Err(error.clone());
    }
    if forms.is_empty() {
        forms.push((args.clone(), answered(plan, services, &request, args).await?));
    }
    let refusal = forms.iter().map(|(_, answer)| answer.clone().err()).collect::<Option<Vec<_>>>();
    plan.approval_answered(match refusal.and_then(|reasons| reasons.into_iter().next()) {
        Some(reason) => Verdict::Refused(reason),
        None => Verdict::Approved,
    });
    Ok(approved)
}

fn fitted(candidate: &Candidate, args: &Arguments) -> Result<Fitting<Arguments>, HubError> {
    let options = CheckOptions { aside: &|work| aside::in_place(work), ..CheckOptions::here(true) };
    candidate.tool.check(args, &options)
}

async fn answered(
    plan: &CallPlan,
    services: &dyn CallServices,
    request: &ApprovalRequest,
    args: &Arguments,
) -> Result<Result<(), String>, HubError> {
    let approvers = plan.request().permissions.as_ref().map(|one| one.approvers.clone()).unwrap_or_default();
    let mut round = ApprovalRound::default();
    loop {
        let number = match round.next(&approvers) {
            NextApprover::Function(number) => number,
            NextApprover::Nobody(Verdict::Approved) => return Ok(Ok(())),
            NextApprover::Nobody(Verdict::Refused(reason)) => return Ok(Err(reason)),
            // Questions are kept by the driver of the caller's loop only.
            NextApprover::Store => return Ok(Err("no approval can be asked for here".to_owned())),
        };
        let asked = services.approve(number, request, args);
        let answer = match plan.time_left(now()) {
            None => asked.await,
            Some(left) => match tokio::time::timeout(left, asked).await {
                Ok(answer) => answer,
                Err(_) => return Err(plan.deadline_passed(Outcome::NotSent)),
            },
        };
        if let Err(Verdict::Refused(reason)) = round.answered(answer) {
            return Ok(Err(reason));
        }
    }
}

/// What each candidate of a run gets; one that was not asked about must not start.
fn for_run(approved: &Approved, planned: &PlannedRun) -> Vec<Result<Arc<Arguments>, HubError>> {
    let of = |now: &Arc<Candidate>| {
        let asked = approved.iter().find(|(asked, _)| is_same_tool(asked, now));
        asked.map_or_else(|| Err(changed_meanwhile(&planned.what)), |(_, answer)| answer.clone())
    };
    planned.candidates.iter().map(of).collect()
}

/// The result of another call, or the lead.
async fn share(
    plan: &CallPlan,
    shared: &SharedResults<CallResult>,
    shareable: &Shareable,
) -> Result<CallResult, FlightLead<CallResult>> {
    loop {
        let (landed, flight) = oneshot::channel();
        let notify = move |result| drop(landed.send(result));
        let followed = match shared.consult(shareable, now(), Arc::new(()), notify) {
            Consulted::Hit(result) => return Ok(CallResult { cached: true, ..(*result).clone() }),
            Consulted::Lead(lead) => return Err(lead),
            Consulted::Follow(followed) => followed,
        };
        let overdue = followed.overdue_at.saturating_duration_since(now());
        let left = plan.time_left(now()).unwrap_or(Duration::MAX);
        // A leader that takes as long as this call may is replaced by it.
        let own = if shareable.time.longest < overdue { shareable.time.timeouts } else { Duration::MAX };
        let landed = match tokio::time::timeout(left.min(own).min(overdue), flight).await {
            Ok(result) => result.ok().flatten(),
            Err(_) if left <= own.min(overdue) => {
                return Ok(CallResult::refused(plan.deadline_passed(Outcome::Unknown)));
            }
            Err(_) if own < overdue => {
                return Ok(CallResult::refused(plan.followed_too_long(&shareable.time)));
            }
            Err(_) => {
                shared.give_up(&followed);
                None
            }
        };
        // Without a result the leader was cancelled or given up, or had less time: consult again, and perhaps lead.
        if let Some(result) = landed {
            return Ok((*result).clone());
        }
    }
}

async fn synthesize(plan: &CallPlan, services: &dyn CallServices, result: &mut CallResult, args: &Arguments) {
    if result.answers.is_empty() {
        return;
    }
    let Some(time) = plan.may_synthesize(now()) else { return };
    let answers: Vec<_> =
        result.answers.iter().map(|(label, value)| (label.clone(), answer_text(value))).collect();
    let Ok(prompt) = synthesis_prompt(&question(args.as_value()), answers, result.answer_kind) else {
        return;
    };
    let Some(asked) = services.ask_model(&prompt) else { return };
    if let Ok(Ok(answer)) = tokio::time::timeout(time, asked).await
        && !answer.trim().is_empty()
    {
        result.outcome = Ok(ToolOutput::new(answer.trim()));
        result.synthesized = true;
    }
}

fn cancelled(plan: &CallPlan) -> HubError {
    let name = clip(plan.request().target.name()).into_owned();
    HubError::new(ErrorKind::Cancelled, format!("The call of '{name}' was cancelled."))
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
