//! Drives a run on tokio.

use super::run::Action;
use crate::hub::{Hub, PlannedRun, RunReport, kept_result};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use parking_lot::Mutex;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolhub_registry::Candidate;
use toolhub_registry::identity::CallContent;
use toolhub_text::invisible::error_line;
use toolhub_text::message;
use toolhub_types::blocking;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::limit::{Gate, Permits};
use toolhub_types::model::{Arguments, CheckOptions, Meaning, ReportedFailure, ToolOutput};
use toolhub_types::tool::{AttemptWatch, CallContext, CallContextExtras};
use toolhub_types::workers::PoolRefusal;

pub type Answer = Result<ToolOutput>;

impl Hub {
    /// Runs chosen candidates on tokio, and records what was learnt.
    pub async fn run_planned(
        &self,
        mut plan: PlannedRun,
        args: Arc<Arguments>,
        extras: &CallContextExtras,
        cancel: &CancellationToken,
    ) -> RunReport {
        let count = plan.candidates.len();
        let mut driven = TokioRun {
            hub: self,
            plan: &mut plan,
            args,
            extras,
            answers: (0..count).map(|_| None).collect(),
            tokens: (0..count).map(|_| None).collect(),
            attempts: FuturesUnordered::new(),
        };
        driven.drive(cancel).await;
        let answers = std::mem::take(&mut driven.answers);
        drop(driven);
        plan.write_recordings(|plan, slot| plan.answer_of(slot, &answers));
        let rows = plan.end(now(), |slot| answers[slot].as_ref()?.as_ref().err());
        let merged = plan.merged_winners(&answers);
        let result = plan.conclude(&answers, &merged);
        if let Some(rows) = rows {
            rows.write(result.is_ok(), || Some(kept_result(&result)));
        }
        RunReport { plan, answers, merged, result }
    }
}

/// Several attempts are a task each, so that the work of one does not delay the others. A single attempt runs in the task
/// of its call: handing it to another thread and back costs more than a small call.
struct TokioRun<'a> {
    hub: &'a Hub,
    plan: &'a mut PlannedRun,
    args: Arc<Arguments>,
    extras: &'a CallContextExtras,
    /// Of each candidate; `None` for those without one.
    answers: Vec<Option<Answer>>,
    /// Dropping a guard fires its token. A call that is dropped thereby cancels its tools: they may have work elsewhere
    /// that only their token reaches.
    tokens: Vec<Option<DropGuard>>,
    /// Dropping them aborts what outlived its grace.
    attempts: FuturesUnordered<BoxFuture<'static, (usize, Answer)>>,
}

impl TokioRun<'_> {
    async fn drive(&mut self, cancel: &CancellationToken) {
        let mut cancelled = false;
        loop {
            if !cancelled && cancel.is_cancelled() {
                cancelled = true;
                self.plan.run.cancel(now());
            }
            loop {
                match self.plan.run.next_action() {
                    Action::Stop(slot) => self.tokens[slot] = None,
                    Action::Start(slot) => self.start(slot),
                    // Attempts pass the limits inside their tasks, so there is nothing to continue here.
                    Action::Resume(_) => {}
                    Action::Wait => break,
                    Action::Finish => return,
                }
            }
            let wake_at = self.plan.run.wake_at();
            let sleep = tokio::time::sleep_until(wake_at.unwrap_or_else(now).into());
            tokio::select! {
                biased;
                () = cancel.cancelled(), if !cancelled => {}
                Some((slot, answer)) = self.attempts.next() => self.ended(slot, answer),
                () = sleep, if wake_at.is_some() => self.plan.run.tick(now()),
            }
        }
    }

    fn ended(&mut self, slot: usize, answer: Answer) {
        self.tokens[slot].take().map(DropGuard::disarm);
        // An answer that comes too late does not count.
        let counted = match answer {
            Ok(output) if self.plan.run.succeeded(slot, now()) => Some(Ok(output)),
            Ok(output) => {
                if let Some(recording) = self.plan.recordings.remove(&slot) {
                    recording.end_late(output);
                }
                None
            }
            Err(error) => self.plan.failed(slot, error, now()).map(Err),
        };
        self.answers[slot] = counted.or(self.answers[slot].take());
    }

    fn start(&mut self, slot: usize) {
        let candidate = self.plan.candidates[slot].clone();
        let options = CheckOptions { coerce: true, offload: &|work| blocking::block_in_place(work) };
        let fitting = match candidate.tool.check(&self.args, &options) {
            Ok(fitting) => fitting,
            Err(refusal) => {
                self.answers[slot] = Some(Err(refusal));
                return self.plan.run.rejected(slot, now());
            }
        };
        let run = &mut self.plan.run;
        if run.refuse_late(Some(slot), now()) {
            return;
        }
        candidate.stats.begin(now());
        let deadline = run.expires(slot).unwrap_or_else(now);
        let token = CancellationToken::new();
        self.tokens[slot] = Some(token.clone().drop_guard());
        let mut context = CallContext::new(deadline, token);
        context.extras = self.extras.clone();
        context.freshness = self.plan.freshness;
        context.sent = run.share_flag(slot);
        let is_limited = !self.hub.is_unlimited(&candidate);
        let latest_start = run.latest_start(slot).filter(|_| is_limited).unwrap_or(deadline);
        // What a candidate makes of the arguments follows from its definition.
        let content = || CallContent::of(self.args.as_value(), &self.extras.meta);
        let content = self.plan.wants_content(slot).then(content);
        let admission = self.plan.admit(self.hub, slot, content, (None, None));
        let recording = self.plan.recordings.get(&slot);
        context.on_cassette = recording.map(|one| Arc::new(one.as_outer()) as _);
        context.extras.progress = self.plan.heard(slot, context.extras.progress.take());
        let args = fitting.replacement.map_or_else(|| self.args.clone(), Arc::new);
        let attempt = answer(candidate, args, context, latest_start, admission);
        let attempt = AssertUnwindSafe(attempt).catch_unwind();
        let attempt = attempt.map(move |answer| (slot, answer.unwrap_or_else(|_| Err(panicked()))));
        self.attempts.push(match self.answers.len() {
            1 => attempt.boxed(),
            _ => {
                in_a_task(attempt).map(move |ended| ended.unwrap_or_else(|| (slot, Err(panicked())))).boxed()
            }
        });
    }
}

impl Drop for TokioRun<'_> {
    /// Dropped half-way, nothing of the run is sent any more, and its rows say what was sent until then. Half-open probes
    /// are released.
    fn drop(&mut self) {
        if self.plan.run.is_finished() {
            return;
        }
        self.tokens.clear();
        self.attempts.clear();
        self.plan.run.close(now());
        self.plan.write_recordings(|plan, slot| plan.answer_of(slot, &self.answers));
        let tried = (0..self.answers.len()).filter(|slot| self.plan.run.was_tried(*slot));
        tried.for_each(|slot| self.plan.candidates[slot].stats.abandon());
        if let Some(rows) = self.plan.ended_rows(|_| None) {
            rows.write(false, || None);
        }
    }
}

/// Dropping the future aborts the task.
async fn in_a_task<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Option<T> {
    let mut task = JoinSet::new();
    task.spawn(work);
    task.join_next().await?.ok()
}

/// Calls a candidate whose arguments fit, once it is admitted. Only one that had to wait at a limit may be too late.
async fn answer(
    candidate: Arc<Candidate>,
    args: Arc<Arguments>,
    mut context: CallContext,
    latest_start: Instant,
    admission: impl Future<Output = Result<Permits>>,
) -> Answer {
    let admitted = async {
        let permits = admission.await?;
        match &context.extras.before_acting {
            Some(acts) if !candidate.spec().effects.are_harmless() => acts(&candidate.label()).await?,
            _ => {}
        }
        Ok(permits)
    };
    let admitted = context.cancel.run_until_cancelled(admitted).await;
    let permits = admitted.unwrap_or_else(|| Err(gave_up()))?;
    if now() >= latest_start {
        drop(permits);
        context.cancel.cancelled().await;
        return Err(gave_up());
    }
    if !candidate.tool.marks_sent() && !context.sent.may_begin() {
        return Err(gave_up());
    }
    let permits = Arc::new(Mutex::new(permits));
    let weak = Arc::downgrade(&permits);
    context.permits = Some(weak);
    let _held = AttemptPermits { permits, own: candidate.gate.clone() };
    let watched = WatchedAttempt::begin(&candidate, &context);
    let answer = candidate.tool.call(&args, &context).await;
    let answer = answer.and_then(|output| match output.meaning() {
        Meaning::Failure(failure) => Err(reported(&candidate.spec().name, &failure)),
        Meaning::Value | Meaning::OwnResult => Ok(output),
    });
    watched.end(&answer, &context);
    answer
}

/// The slots of an attempt. When the attempt is over and its tool goes on without it, the tool keeps the slot of its own
/// limit only: those of its source and of the hub are for all tools.
struct AttemptPermits {
    permits: Arc<Mutex<Permits>>,
    own: Option<Arc<Gate>>,
}

impl Drop for AttemptPermits {
    fn drop(&mut self) {
        self.permits.lock().keep_only(self.own.as_ref());
    }
}

fn gave_up() -> HubError {
    HubError::new(ErrorKind::Cancelled, message!("Cancelled while waiting for a free slot."))
        .with_outcome(Outcome::NotSent)
}

fn panicked() -> HubError {
    HubError::new(ErrorKind::ToolError, message!("Internal error: the tool panicked."))
        .with_outcome(Outcome::Unknown)
}

/// In characters: an error text that a tool reports is cut to this length.
const MAX_REPORTED: usize = 1_000;

/// The error of a tool that reported a failure by what it returned.
pub fn reported(tool: &str, failure: &ReportedFailure) -> HubError {
    let tool = clip(tool);
    let mut message = failure.message(&tool).map(&|text| error_line(text, MAX_REPORTED));
    if message.is_empty() {
        message = ReportedFailure::Own(None).message(&tool);
    }
    HubError::new(ErrorKind::ToolError, message)
}

/// Too many calls wait for the same tool, source or hub.
pub fn overloaded(tool: &str) -> HubError {
    HubError::new(
        ErrorKind::Overloaded,
        message!(
            "Tool '{}' is overloaded: too many calls wait for a free slot; try again later.",
            clip(tool)
        ),
    )
}

/// A sync function did not return: its pool refused it, or its thread ended before the function did.
pub fn not_returned(tool: &str, refusal: Option<PoolRefusal>) -> HubError {
    let reason = match refusal {
        None => {
            let text = message!("Tool '{}' did not return: the thread of this call ended.", clip(tool));
            return HubError::new(ErrorKind::ToolError, text).with_outcome(Outcome::Unknown);
        }
        Some(PoolRefusal::Abandoned(count)) => {
            message!("{} abandoned calls of sync tools still run, some of them of this tool", count)
        }
        Some(PoolRefusal::Nested(count)) => message!("{} sync functions wait for one another", count),
        Some(PoolRefusal::Threads(count)) => {
            message!(
                "all {} threads for sync tools are taken by abandoned calls and calls that wait for other tools",
                count
            )
        }
    };
    let text = message!("Tool '{}' was not started: {}; try again later.", clip(tool), reason);
    HubError::new(ErrorKind::Overloaded, text)
}

/// The time of the runtime, which a test may pause.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// One that is dropped before its end was stopped.
struct WatchedAttempt(Option<(Arc<dyn AttemptWatch>, u64)>);

impl WatchedAttempt {
    fn begin(candidate: &Candidate, context: &CallContext) -> Self {
        let watch = context.extras.watch.clone();
        WatchedAttempt(watch.map(|watch| {
            let number = watch.began(&candidate.label());
            (watch, number)
        }))
    }

    fn end<T>(mut self, answer: &Result<T>, context: &CallContext) {
        let Some((watch, number)) = self.0.take() else { return };
        let was_stopped = context.cancel.is_cancelled();
        match answer {
            Ok(_) => watch.ended(number, "ok", was_stopped),
            Err(_) if was_stopped => watch.ended(number, STOPPED, false),
            Err(error) => watch.ended(number, error.kind.name(), false),
        }
    }
}

const STOPPED: &str = "stopped";

impl Drop for WatchedAttempt {
    fn drop(&mut self) {
        if let Some((watch, number)) = self.0.take() {
            watch.ended(number, STOPPED, false);
        }
    }
}
