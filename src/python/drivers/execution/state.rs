//! What an execution knows, behind one lock, and how its attempts end.

use super::Execution;
use super::direct::InPlaceCoroutine;
use super::recording::recorded_late;
use crate::drivers::awaiting::is_being_cancelled;
use crate::prelude::*;
use crate::runtime::Lease;
use crate::runtime::bridge::CoreJob;
use crate::runtime::loop_bridge::{DeadlineKey, LoopBridge, MailAddress};
use crate::runtime::pool::{AbandonedResources, SubmittedCall};
use crate::values::arguments::argument_checks::PreparedArguments;
use crate::values::arguments::callable::{CallableKind, meaning_of, python_tool, raised};
use crate::values::arguments::given::SlotArguments;
use crate::values::json::LargeJson;
use crate::values::results::blocks::Blocks;
use crate::values::value;
use smallvec::SmallVec;
use tokio_util::sync::CancellationToken;
use toolhub::cassette::{Recording, recording_of};
use toolhub::error::{Result, clip};
use toolhub::execute::{Answer, Fate, reported};
use toolhub::hub::PlannedRun;
use toolhub::limit::Permits;
use toolhub::message::Message;
use toolhub::model::{Meaning, NothingMeans, ReportedFailure, Unchecked};
use toolhub::registry::Candidate;
use toolhub::system::kill_point;
use toolhub::tool::BoxFuture;

/// Held by a call that has to end; the receiver sees when the last one is dropped.
pub type EndSignal = tokio::sync::mpsc::Sender<std::convert::Infallible>;

/// An attempt that is to be started.
pub struct AttemptStart {
    pub slot: usize,
    pub candidate: Arc<Candidate>,
    /// No other one runs beside it: it may run inside the caller's task.
    pub alone: bool,
}

impl AttemptStart {
    pub fn new(plan: &PlannedRun, slot: usize) -> Self {
        let candidate = plan.candidates[slot].clone();
        AttemptStart { slot, candidate, alone: plan.run.is_sequential() }
    }
}

/// With the arguments that it takes.
pub type ReadyAttempt = (AttemptStart, PreparedArguments);

/// Where an attempt is.
#[derive(Default)]
pub enum AttemptState {
    #[default]
    Nothing,
    /// Waiting for a free place, or for its row in the ledger; it goes on with these arguments.
    Waiting(Box<AttemptEntrance>, PreparedArguments),
    /// Stepped inside the caller's task.
    InPlace,
    /// An asyncio task of its own.
    Task(Py<PyAny>),
    /// A sync function in the pool.
    Thread(Box<SubmittedCall>),
    /// What such a function gave is a coroutine, which waits to be awaited in the caller's context.
    Coroutine(Py<PyAny>),
    /// A tool in Rust.
    Native { cancel: CancellationToken, job: Arc<CoreJob>, _address: MailAddress },
}

/// What an attempt passes before its tool is called. Dropped, it leaves the queue.
pub struct AttemptEntrance {
    pub passing: BoxFuture<'static, Result<Permits>>,
    /// Held if it needs a runtime.
    pub lease: Option<Lease>,
    /// Where it is woken.
    pub address: Option<MailAddress>,
}

impl AttemptState {
    /// Ends what is over as soon as nobody waits for it. A function on a thread goes on with its leftover.
    pub fn give_up(self, py: Python<'_>, leftover: impl FnOnce() -> AbandonedResources) {
        match self {
            AttemptState::Thread(call) => call.abandon(py, leftover()),
            AttemptState::Coroutine(coroutine) => value::discard(coroutine.bind(py)),
            _ => {}
        }
    }
}

/// One candidate's attempt and what came of it.
#[derive(Default)]
pub struct Attempt {
    pub state: AttemptState,
    pub permits: Option<Permits>,
    /// What it returned: a success, or a failure that it reported itself.
    pub value: Option<Py<PyAny>>,
    /// The value is a mapping with `success`, whose keys are kept.
    pub is_own_result: bool,
    pub error: Option<Box<HubError>>,
    /// Sentences about what was not wrong enough to be refused.
    pub warnings: Vec<Message>,
    /// Rules of the schema that were not checked.
    pub unchecked: Vec<Unchecked>,
    pub exception: Option<Box<PyErr>>,
    /// What its watcher was told last.
    pub told: Option<Fate>,
    /// The content of an MCP server's answer.
    pub blocks: Option<Box<Blocks>>,
}

/// What a call that was given up keeps until it ends: the slot of its tool's own limit. The limits of its source and of the
/// hub are for all tools, so its slots there are given back.
pub fn leftover(permits: Option<Permits>, candidate: &Candidate) -> AbandonedResources {
    let mut permits = permits.unwrap_or_default();
    permits.keep_only(candidate.gate.as_ref());
    AbandonedResources { permits, counted: Some(candidate.stats.count_abandoned()), held: None }
}

/// Kept small, because it is moved: what is big or rare is in a box. At the end it is taken, and this one is left.
#[derive(Default)]
pub struct State {
    /// `None` when the call is over.
    pub plan: Option<Box<PlannedRun>>,
    /// It was stepped.
    pub is_begun: bool,
    pub args: Option<Py<PyAny>>,
    /// What was approved, for each candidate, in place of `args`. Shared with the plan, so not shown to the garbage collector.
    pub approved: Option<Box<SlotArguments>>,
    pub attempts: SmallVec<[Attempt; 2]>,
    pub direct: Option<InPlaceCoroutine>,
    pub timer: Option<DeadlineKey>,
    pub waiter: Option<Py<PyAny>>,
    pub port: Option<Py<LoopBridge>>,
    /// The caller was cancelled or interrupted, and gets this in the end; the attempts are given their grace.
    pub reraise: Option<Box<PyErr>>,
    /// When the last answer came, if that ended it.
    pub ended_at: Option<Instant>,
    /// Dropped at the end, for which the closing of the hub waits.
    pub closing: Option<EndSignal>,
}

impl State {
    pub fn new(plan: Box<PlannedRun>, args: Py<PyAny>) -> Self {
        let attempts = plan.candidates.iter().map(|_| Attempt::default()).collect();
        State { plan: Some(plan), args: Some(args), attempts, ..State::default() }
    }

    /// An attempt has ended: the policy learns of it. Its slots of the limits and what it was about to do, which may hold objects
    /// of the user's, are given back, to be dropped without the lock.
    pub fn end_attempt<T>(
        &mut self,
        slot: usize,
        told: impl FnOnce(&mut PlannedRun, &mut Attempt) -> T,
    ) -> Option<(T, (Option<Permits>, AttemptState))> {
        let (attempt, plan) = (self.attempts.get_mut(slot)?, self.plan.as_mut()?);
        let held = (attempt.permits.take(), std::mem::take(&mut attempt.state));
        Some((told(plan, attempt), held))
    }

    /// Whether the caller has something to do but wait.
    pub fn has_work(&self) -> bool {
        self.plan.as_ref().is_none_or(|plan| plan.run.has_work())
    }

    /// A plain function gave a coroutine. It is given back when the policy does not wait for it any more.
    pub fn hold_coroutine(&mut self, slot: usize, coroutine: Py<PyAny>) -> Option<Py<PyAny>> {
        if !self.plan.as_mut().is_some_and(|plan| plan.run.resume(slot)) {
            return Some(coroutine);
        }
        self.attempts[slot].state = AttemptState::Coroutine(coroutine);
        None
    }

    pub fn cancel_run(&mut self, now: Instant) {
        if let Some(plan) = self.plan.as_mut() {
            plan.run.cancel(now);
        }
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.args)?;
        visit.call(&self.waiter)?;
        visit.call(&self.port)?;
        if let Some(direct) = &self.direct {
            direct.traverse(visit)?;
        }
        for attempt in &self.attempts {
            visit.call(&attempt.value)?;
            let prepared = match &attempt.state {
                AttemptState::Task(object) | AttemptState::Coroutine(object) => {
                    visit.call(object)?;
                    continue;
                }
                AttemptState::Waiting(_, prepared) => prepared,
                _ => continue,
            };
            match prepared {
                PreparedArguments::Keywords(kwargs) => visit.call(kwargs)?,
                PreparedArguments::Value(value) => visit.call(value)?,
                PreparedArguments::Native(_) => {}
            }
        }
        Ok(())
    }
}

impl Execution {
    /// The tool gave a value: a success, or one of the ways in which a value says that it failed.
    pub fn returned(&self, py: Python<'_>, slot: usize, value: Py<PyAny>) {
        kill_point();
        let meaning = meaning_of(value.bind(py), || self.nothing_means(slot));
        let is_own = matches!(meaning, Meaning::OwnResult | Meaning::Failure(ReportedFailure::Own(_)));
        let value = match is_own.then(|| value::read_own(value.bind(py))).transpose() {
            Ok(own) => own.map_or(value, Bound::unbind),
            Err(error) => return self.raised(py, slot, error),
        };
        match meaning {
            Meaning::Failure(failure) => {
                if is_own && let Some(attempt) = self.state.lock().attempts.get_mut(slot) {
                    attempt.value = Some(value);
                }
                self.fail(slot, reported(&self.tool_name(slot), &failure));
            }
            meaning => {
                let (now, mut state) = (Instant::now(), self.state.lock());
                let ended = state.end_attempt(slot, |plan, attempt| {
                    if !plan.run.succeeded(slot, now) {
                        return (false, plan.recordings.remove(&slot));
                    }
                    attempt.value = Some(value.clone_ref(py));
                    attempt.is_own_result = meaning == Meaning::OwnResult;
                    (plan.run.is_finished(), None)
                });
                // It outlived the execution, so its outcome is ignored.
                let Some(((ends_all, too_late), held)) = ended else { return };
                state.ended_at = ends_all.then_some(now).or(state.ended_at);
                drop(state);
                drop(held);
                if let Some(recording) = too_late {
                    recording.end_late(recorded_late(value.bind(py)));
                }
            }
        }
    }

    pub fn raised(&self, py: Python<'_>, slot: usize, error: PyErr) {
        let failure = raised(py, CallableKind::Tool, &self.tool_name(slot), &error);
        if let Some(attempt) = self.state.lock().attempts.get_mut(slot) {
            attempt.exception = Some(Box::new(error));
        }
        self.fail(slot, failure);
    }

    pub(super) fn answered(&self, py: Python<'_>, slot: usize, answer: Answer) {
        let mut output = match answer {
            Err(mut error) => {
                if let Some(blocks) =
                    error.answer.take().and_then(|sent| Blocks::of(Arc::unwrap_or_clone(sent)))
                {
                    self.put_blocks(slot, blocks);
                }
                return self.fail(slot, error);
            }
            Ok(output) => output,
        };
        let answer = LargeJson(std::mem::take(&mut output.value));
        let value = json::to_python(py, &answer);
        drop(answer);
        if let Some(blocks) = Blocks::of(output) {
            self.put_blocks(slot, blocks);
        }
        match value {
            Ok(value) => self.returned(py, slot, value.unbind()),
            Err(error) => self.raised(py, slot, error),
        }
    }

    fn put_blocks(&self, slot: usize, blocks: Blocks) {
        let mut blocks = Some(Box::new(blocks));
        if let Some(attempt) = self.state.lock().attempts.get_mut(slot) {
            std::mem::swap(&mut attempt.blocks, &mut blocks);
        }
        // Those of an earlier attempt are dropped here, without the lock.
    }

    pub(super) fn fail(&self, slot: usize, error: HubError) {
        let ended = self.state.lock().end_attempt(slot, |plan, attempt| {
            let counted = plan.failed(slot, error, Instant::now());
            attempt.error = counted.map(Box::new).or(attempt.error.take());
        });
        drop(ended);
    }

    /// A listener or a tool was interrupted: everything is stopped, and nothing else starts. Then the caller is interrupted.
    /// Gives the error back if the call is over.
    pub fn interrupt(&self, interrupt: PyErr) -> PyResult<()> {
        let mut state = self.state.lock();
        if state.plan.is_none() {
            return Err(interrupt);
        }
        state.reraise = Some(Box::new(interrupt));
        state.cancel_run(Instant::now());
        Ok(())
    }

    /// A stopped attempt has ended.
    pub fn mark_stopped(&self, slot: usize) {
        let ended = self.state.lock().end_attempt(slot, |plan, _| plan.run.stopped(slot));
        drop(ended);
    }

    /// A task of ours was cancelled from outside, not by us.
    pub fn child_cancelled(&self, py: Python<'_>, slot: usize, error: &PyErr) {
        let task = match self.state.lock().attempts.get(slot).map(|attempt| &attempt.state) {
            Some(AttemptState::Task(task)) => Some(task.clone_ref(py)),
            _ => None,
        };
        let is_cancelled = || task.as_ref().is_some_and(|task| is_being_cancelled(task.bind(py)));
        match self.with_plan(|plan| plan.run.fate(slot)) {
            // The tool raised it itself.
            Some(Fate::Running) if !is_cancelled() => self.raised(py, slot, error.clone_ref(py)),
            Some(Fate::Running) => {
                let text = message!("Tool '{}' was cancelled from outside.", clip(&self.tool_name(slot)));
                self.fail(slot, HubError::new(ErrorKind::Cancelled, text));
            }
            _ => self.mark_stopped(slot),
        }
    }

    /// What it means when this attempt returns None.
    fn nothing_means(&self, slot: usize) -> NothingMeans {
        let means =
            |plan: &mut PlannedRun| python_tool(&plan.candidates[slot]).map(|tool| tool.nothing_means);
        self.with_plan(means).flatten().unwrap_or(NothingMeans::Success)
    }

    pub(super) fn tool_name(&self, slot: usize) -> Arc<str> {
        self.with_plan(|plan| plan.candidates[slot].spec().name.clone()).unwrap_or_else(|| Arc::from("?"))
    }
}

/// How long a replayed call took when it was recorded; `None` if it was not replayed.
pub fn replayed_time(plan: &PlannedRun) -> Option<Duration> {
    if !plan.is_replayed {
        return None;
    }
    let recordings: Vec<&Recording> =
        plan.candidates.iter().filter_map(|candidate| recording_of(candidate)).collect();
    let first = recordings.iter().map(|one| one.at).fold(f64::INFINITY, f64::min);
    let last = recordings.iter().map(|one| one.at + one.ms).fold(0.0, f64::max);
    Duration::try_from_secs_f64((last - first).max(0.0) / 1e3).ok()
}
