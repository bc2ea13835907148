//! A call on tokio, without Python: what the gateway makes.

use super::drive::{CallServices, WithoutRun, drive};
use super::{
    CallPlan, CallRequest, LookUpRequest, PlanStep, ServerSet, Unreachable, answer_kind, question,
    synthesis_prompt,
};
use crate::execute::now;
use crate::hub::{Hub, PlannedRun, RunReport, answer_text, call_cancelled, kept_result};
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;
use toolhub_registry::identity::CallContent;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::kind::ToolKind;
use toolhub_types::model::{Arguments, ToolOutput};
use toolhub_types::tool::{BoxFuture, CallContextExtras};

/// Where the tools of a call come from, and who makes one answer of several.
pub trait CallSources: Send + Sync {
    /// The MCP servers, if there are any.
    fn servers(&self) -> Option<&dyn ServerSet>;

    /// Asks servers for their tools; returns those that could not be asked.
    fn look_up<'a>(&'a self, request: &'a LookUpRequest) -> BoxFuture<'a, Unreachable>;

    /// Asks a model; `None` when there is none.
    fn ask_model<'a>(&'a self, _prompt: &'a str) -> Option<BoxFuture<'a, Result<String>>> {
        None
    }
}

/// What a call came to.
#[derive(Clone, Debug)]
pub struct CallResult {
    pub outcome: Result<ToolOutput>,
    /// The label of the provider that answered; of the last one that was tried when none did.
    pub provider: Option<String>,
    /// Every answer with the label of its provider, when several were merged.
    pub answers: Vec<(String, Value)>,
    /// What merged answers are about.
    answer_kind: ToolKind,
    /// A model made one answer of several.
    pub synthesized: bool,
}

impl CallResult {
    fn of(RunReport { plan, mut answers, merged, result }: RunReport) -> Self {
        let (answer_kind, mut winners) = (answer_kind(&plan), plan.run.winners());
        let (first, second) = (winners.next(), winners.next());
        let answered = || answers.iter().rposition(Option::is_some);
        // One that was cancelled has no answer that counts.
        let begun = || (0..answers.len()).rev().find(|slot| plan.run.was_tried(*slot));
        let slot = first.or_else(answered).or_else(begun);
        let provider = slot.map(|slot| plan.candidates[slot].label());
        // The whole answer of the one candidate that succeeded, or the merged text.
        let outcome = match (first, second, result) {
            (Some(only), None, Ok(value)) => {
                answers[only].take().unwrap_or_else(|| Ok(ToolOutput::new(value)))
            }
            (_, _, result) => result.map(ToolOutput::new),
        };
        let labelled = |(slot, value): (usize, Value)| (plan.candidates[slot].label(), value);
        let answers = if merged.len() < 2 { Vec::new() } else { merged.into_iter().map(labelled).collect() };
        CallResult { outcome, provider, answers, answer_kind, synthesized: false }
    }

    /// A call that is given up while its tool runs on.
    pub fn given_up(tool: &str, provider: Option<String>) -> Self {
        let text = message!("Tool '{}' was cancelled, and has not ended.", clip(tool));
        let error = HubError::new(ErrorKind::Cancelled, text).with_outcome(Outcome::Unknown);
        CallResult { provider, ..CallResult::refused(error) }
    }

    /// Nothing was called.
    pub fn refused(error: HubError) -> Self {
        CallResult::without_run(Err(error))
    }

    fn without_run(outcome: Result<ToolOutput>) -> Self {
        let (answers, answer_kind) = (Vec::new(), ToolKind::Other);
        CallResult { outcome, provider: None, answers, answer_kind, synthesized: false }
    }
}

/// Makes one call, from request to result. `extras` reach every tool that runs. Never fails: what goes wrong is in the result.
pub async fn call(
    hub: &Hub,
    sources: &dyn CallSources,
    mut request: CallRequest,
    args: Arc<Arguments>,
    extras: &CallContextExtras,
    cancel: &CancellationToken,
) -> CallResult {
    if hub.cassette().is_some() && request.content.is_none() {
        request.content = Some(Ok(CallContent::of(args.as_value(), &extras.meta)));
    }
    let services = TokioCall { hub, sources, args, extras, cancel, runs: AtomicBool::new(false) };
    until_cancelled(&mut CallPlan::new(request, now()), &services, &services).await
}

/// Before its run a cancelled call is dropped; then the run ends it, and gives its tools their grace.
pub async fn until_cancelled<S: CallServices<Result = CallResult>>(
    plan: &mut CallPlan,
    services: &S,
    call: &TokioCall<'_>,
) -> CallResult {
    let name = plan.request().target.name().clone();
    let cancelled = async {
        call.cancel.cancelled().await;
        if call.runs.load(Ordering::Relaxed) {
            std::future::pending().await
        }
    };
    tokio::select! {
        biased;
        result = drive(plan, services) => result,
        () = cancelled => {
            CallResult::refused(call_cancelled(&name))
        }
    }
}

/// One call as its driver sees it.
pub struct TokioCall<'a> {
    pub hub: &'a Hub,
    pub sources: &'a dyn CallSources,
    pub args: Arc<Arguments>,
    pub extras: &'a CallContextExtras,
    pub cancel: &'a CancellationToken,
    /// Its candidates run, or did.
    pub runs: AtomicBool,
}

impl CallServices for TokioCall<'_> {
    type Result = CallResult;
    /// Nobody approves calls here.
    type Arguments = Infallible;

    fn hub(&self) -> &Hub {
        self.hub
    }

    fn next_step(&self, plan: &mut CallPlan) -> PlanStep {
        plan.next(self.hub, self.sources.servers(), now())
    }

    async fn wait<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        future.await
    }

    async fn look_up(&self, request: LookUpRequest) -> Unreachable {
        self.sources.look_up(&request).await
    }

    async fn run(&self, planned: Box<PlannedRun>, _: Option<Vec<Result<Arc<Infallible>>>>) -> CallResult {
        self.runs.store(true, Ordering::Relaxed);
        CallResult::of(self.hub.run_planned(*planned, self.args.clone(), self.extras, self.cancel).await)
    }

    async fn without_run(&self, _: &CallPlan, ended: WithoutRun) -> CallResult {
        CallResult::without_run(ended.outcome.map(ToolOutput::new))
    }

    fn failure(&self, result: &CallResult) -> Option<(ErrorKind, Outcome)> {
        result.outcome.as_ref().err().map(|error| (error.kind, error.outcome))
    }

    fn kept(&self, result: &CallResult) -> Value {
        kept_result(&result.outcome.clone().map(|output| output.value))
    }

    async fn synthesize(&self, plan: &CallPlan, mut result: CallResult) -> CallResult {
        if result.answers.is_empty() {
            return result;
        }
        let Ok(time) = plan.may_synthesize(now()) else { return result };
        let answers: Vec<_> =
            result.answers.iter().map(|(label, value)| (label.clone(), answer_text(value))).collect();
        let prompt = synthesis_prompt(&question(self.args.as_value()), answers, result.answer_kind);
        let Ok(prompt) = prompt else { return result };
        let Some(asked) = self.sources.ask_model(&prompt) else { return result };
        if let Ok(Ok(answer)) = tokio::time::timeout(time, asked).await
            && !answer.trim().is_empty()
        {
            result.outcome = Ok(ToolOutput::new(answer.trim()));
            result.synthesized = true;
        }
        result
    }
}
