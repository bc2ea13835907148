//! Drives a [`Run`] on tokio.

use super::run::{Action, Run};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use parking_lot::Mutex;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolhub_registry::Candidate;
use toolhub_registry::identity::CandidateDefinition;
use toolhub_store::tape::{MissedCall, OpenCall, Taping};
use toolhub_text::invisible::error_line;
use toolhub_text::message;
use toolhub_types::aside;
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip};
use toolhub_types::limit::{self, Gate, Passage, Permits};
use toolhub_types::model::{Arguments, CheckOptions, Meaning, ReportedFailure, ToolOutput};
use toolhub_types::stats::CandidateStats;
use toolhub_types::tool::{AttemptWatch, CallContext, CallContextExtras, Freshness, OnProgress};
use toolhub_types::workers::PoolRefusal;

/// A candidate and the gates it has to pass.
#[derive(Clone)]
pub struct Job {
    pub candidate: Arc<Candidate>,
    pub gates: Vec<Arc<Gate>>,
    /// See [`CallContext::freshness`].
    pub freshness: Freshness,
    /// What has to be done before anything is sent.
    pub before: Option<BeforeSend>,
    pub tape: JobTape,
}

/// Done after the limits were passed, before the tool starts; if it fails, the tool does not.
pub type BeforeSend = Arc<dyn Fn() -> BoxFuture<'static, Result<(), HubError>> + Send + Sync>;

pub type Answer = Result<ToolOutput, HubError>;

/// Runs to the end and returns each candidate's answer; `None` for those without one.
pub async fn drive(
    run: &mut Run,
    jobs: &[Job],
    args: Arc<Arguments>,
    extras: &CallContextExtras,
    cancel: &CancellationToken,
) -> Vec<Option<Answer>> {
    let mut driven = TokioRun {
        run,
        jobs,
        args,
        extras,
        answers: jobs.iter().map(|_| None).collect(),
        tokens: jobs.iter().map(|_| None).collect(),
        begun: Begun::default(),
        attempts: FuturesUnordered::new(),
    };
    let mut cancelled = false;
    loop {
        if !cancelled && cancel.is_cancelled() {
            cancelled = true;
            driven.run.cancel(now());
        }
        loop {
            match driven.run.next_action() {
                Action::Stop(slot) => driven.tokens[slot] = None,
                Action::Start(slot) => driven.start(slot),
                // Attempts pass the limits inside their tasks, so there is nothing to continue here.
                Action::Resume(_) => {}
                Action::Wait => break,
                Action::Finish => {
                    driven.begun.0.clear();
                    return driven.answers;
                }
            }
        }
        let wake_at = driven.run.wake_at().map(tokio::time::Instant::from_std);
        tokio::select! {
            biased;
            () = cancel.cancelled(), if !cancelled => {}
            Some((slot, answer)) = driven.attempts.next() => driven.ended(slot, answer),
            () = sleep_until(wake_at) => driven.run.tick(now()),
        }
    }
}

/// Several attempts are a task each, so that the work of one does not delay the others. A single attempt runs in the task
/// of its call: handing it to another thread and back costs more than a small call.
struct TokioRun<'a> {
    run: &'a mut Run,
    jobs: &'a [Job],
    args: Arc<Arguments>,
    extras: &'a CallContextExtras,
    answers: Vec<Option<Answer>>,
    /// Dropping a guard fires its token. A call that is dropped thereby cancels its tools: they may have work elsewhere
    /// that only their token reaches.
    tokens: Vec<Option<DropGuard>>,
    begun: Begun,
    /// Dropping them aborts what outlived its grace.
    attempts: FuturesUnordered<BoxFuture<'static, (usize, Answer)>>,
}

impl TokioRun<'_> {
    fn ended(&mut self, slot: usize, answer: Answer) {
        self.tokens[slot].take().map(DropGuard::disarm);
        let counts = match &answer {
            Ok(_) => self.run.succeeded(slot, now()),
            Err(error) => self.run.failed(slot, error.nothing_happened, now()),
        };
        // An answer that comes too late does not count.
        if counts {
            let was_sent = !self.run.never_sent(slot);
            self.answers[slot] = Some(answer.map_err(|error| error.of_attempt(was_sent)));
        }
    }

    fn start(&mut self, slot: usize) {
        let Job { candidate, freshness, .. } = &self.jobs[slot];
        let options = CheckOptions { coerce: true, aside: &|work| aside::in_place(work) };
        let fitting = match candidate.tool.check(&self.args, &options) {
            Ok(fitting) => fitting,
            Err(refusal) => {
                self.answers[slot] = Some(Err(refusal));
                return self.run.rejected(slot, now());
            }
        };
        if self.run.refuse_late_start(slot, now()) {
            return;
        }
        let args = fitting.replacement.map_or_else(|| self.args.clone(), Arc::new);
        self.begun.begin(&candidate.stats, now());
        let deadline = self.run.expires(slot).unwrap_or_else(now);
        let token = CancellationToken::new();
        self.tokens[slot] = Some(token.clone().drop_guard());
        let mut context = CallContext::new(deadline, token);
        context.extras = self.extras.clone();
        context.freshness = *freshness;
        context.sent = self.run.share_flag(slot);
        let latest_start = self.run.latest_start(slot).unwrap_or(deadline);
        let attempt = attempt(self.jobs[slot].clone(), args, (context, latest_start));
        let attempt = AssertUnwindSafe(attempt).catch_unwind();
        let attempt = attempt.map(move |answer| (slot, answer.unwrap_or_else(|_| Err(panicked()))));
        self.attempts.push(match self.jobs.len() {
            1 => attempt.boxed(),
            _ => {
                in_a_task(attempt).map(move |ended| ended.unwrap_or_else(|| (slot, Err(panicked())))).boxed()
            }
        });
    }
}

/// Dropping the future aborts the task.
async fn in_a_task<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Option<T> {
    let mut task = JoinSet::new();
    task.spawn(work);
    task.join_next().await?.ok()
}

/// The candidates whose attempts have begun. If the call is dropped half-way, their half-open probes are released.
#[derive(Default)]
struct Begun(Vec<Arc<CandidateStats>>);

impl Begun {
    fn begin(&mut self, stats: &Arc<CandidateStats>, now: Instant) {
        stats.begin(now);
        self.0.push(stats.clone());
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.iter().for_each(|stats| stats.abandon());
    }
}

async fn attempt(
    Job { candidate, gates, before, tape, .. }: Job,
    args: Arc<Arguments>,
    (mut context, latest_start): (CallContext, Instant),
) -> Answer {
    let latest_start = if gates.is_empty() { context.deadline } else { latest_start };
    let permits = enter(&candidate, gates, &context).await?;
    let taping = tape.begin(&candidate)?;
    let acts = context.extras.before_acting.clone().filter(|_| !candidate.spec().effects.are_harmless());
    if before.is_some() || acts.is_some() {
        let all = async {
            if let Some(before) = before {
                before().await?;
            }
            match acts {
                Some(acts) => acts(&candidate.label()).await,
                None => Ok(()),
            }
        };
        let done = tokio::select! {
            biased;
            done = all => done,
            () = context.cancel.cancelled() => return Err(gave_up()),
        };
        if let Err(error) = done {
            if let Some(taping) = taping {
                taping.end(&Some(Err(error.clone())));
            }
            return Err(error);
        }
    }
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
    let answer =
        observe(taping, &candidate, &args, &context).await.and_then(|output| match output.meaning() {
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

async fn enter(
    candidate: &Candidate,
    gates: Vec<Arc<Gate>>,
    context: &CallContext,
) -> Result<Permits, HubError> {
    let (granted, grant) = oneshot::channel();
    let full = || overloaded(&candidate.spec().name);
    // Dropping this future leaves the queue.
    let _way = match limit::pass(gates, None, move |permits| drop(granted.send(permits))) {
        Passage::Through(permits) => return Ok(permits),
        Passage::Full => return Err(full()),
        Passage::Waiting(way) => way,
    };
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(gave_up()),
        granted = grant => granted.ok().flatten().ok_or_else(full),
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

async fn sleep_until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// How a tape changes a job.
#[derive(Clone)]
pub enum JobTape {
    Off,
    /// The answer of the candidate is written down.
    Record(Arc<OpenCall>, Arc<CandidateDefinition>),
    /// Calls are replayed, and nothing that was recorded fits.
    Missed(Arc<MissedCall>),
}

impl JobTape {
    /// The tool is about to be called.
    pub fn begin(&self, candidate: &Candidate) -> Result<Option<Taping>, HubError> {
        match self {
            JobTape::Off => Ok(None),
            JobTape::Record(call, definition) => Ok(Some(call.attempt(candidate, definition, None))),
            JobTape::Missed(miss) => Err(miss.count()),
        }
    }
}

/// Calls the tool, and writes down what comes of it.
async fn observe(
    taping: Option<Taping>,
    candidate: &Candidate,
    args: &Arguments,
    context: &CallContext,
) -> Result<ToolOutput, HubError> {
    let Some(taping) = taping else { return candidate.tool.call(args, context).await };
    let taping = Arc::new(taping);
    let mut context = context.clone();
    context.on_tape = Some(Arc::new(taping.as_outer()));
    context.extras.progress = context.extras.progress.map(|told| heard(told, &taping));
    let answer = candidate.tool.call(args, &context).await;
    let (was_stopped, was_sent) = (context.cancel.is_cancelled(), context.sent.was_sent());
    drop(context);
    if let Some(mut taping) = Arc::into_inner(taping) {
        if was_stopped && answer.is_ok() {
            taping.came_late();
        }
        taping.end(&Some(answer.clone().map_err(|error| error.of_attempt(was_sent))));
    }
    answer
}

/// Holds the recording weakly, so that a tool that keeps the function does not keep it open.
fn heard(told: OnProgress, taping: &Arc<Taping>) -> OnProgress {
    let taping = Arc::downgrade(taping);
    Arc::new(move |update| {
        if let Some(taping) = taping.upgrade() {
            taping.progressed(update);
        }
        told(update);
    })
}

/// One that is dropped before its end was stopped.
pub struct WatchedAttempt(Option<(Arc<dyn AttemptWatch>, u64)>);

impl WatchedAttempt {
    pub fn begin(candidate: &Candidate, context: &CallContext) -> Self {
        let watch = context.extras.watch.clone();
        WatchedAttempt(watch.map(|watch| {
            let number = watch.began(&candidate.label());
            (watch, number)
        }))
    }

    pub fn end<T>(mut self, answer: &Result<T, HubError>, context: &CallContext) {
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
