//! What an execution knows, behind one lock, and what a watcher is told of it while the attempts run.
//!
//! The state machine is not asked to report: on each turn the driver reports what has changed since the last one.
//! A call without listeners pays nothing for it.

use super::Execution;
use super::direct::InPlaceCoroutine;
use crate::prelude::*;
use crate::runtime::bridge::CoreJob;
use crate::runtime::interpreter;
use crate::runtime::loop_bridge::{DeadlineKey, LoopBridge, LoopMailbox};
use crate::runtime::pool::{Leftover, Reply};
use crate::values::arguments::argument_checks::PreparedArguments;
use crate::values::arguments::given::SlotArguments;
use crate::values::results::blocks::Blocks;
use crate::values::value;
use pyo3::IntoPyObjectExt;
use smallvec::SmallVec;
use tokio_util::sync::CancellationToken;
use toolhub::execute::Fate;
use toolhub::hub::PlannedRun;
use toolhub::limit::{PassageWait, Permits};
use toolhub::message::Message;
use toolhub::model::Unchecked;
use toolhub::registry::Candidate;
use toolhub::tape::Taping;

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
    /// Waiting for a free place, or for its row in the ledger.
    Waiting { way: Option<PassageWait>, key: u64, prepared: PreparedArguments },
    /// It may go on with these arguments.
    Ready(PreparedArguments),
    /// Stepped inside the caller's task.
    InPlace,
    /// An asyncio task of its own.
    Task(Py<PyAny>),
    /// A sync function in the pool.
    Thread(Box<Reply>),
    /// What such a function gave is a coroutine, which waits to be awaited in the caller's context.
    Coroutine(Py<PyAny>),
    /// A tool in Rust.
    Native { cancel: CancellationToken, job: Arc<CoreJob>, key: u64 },
}

impl AttemptState {
    /// Ends what is over as soon as nobody waits for it. A function on a thread goes on with its leftover.
    pub fn give_up(self, py: Python<'_>, port: Option<&LoopBridge>, leftover: impl FnOnce() -> Leftover) {
        let forget = |key| drop(port.map(|port| port.forget_mail(key)));
        match self {
            AttemptState::Thread(reply) => {
                forget(reply.key);
                reply.abandon(py, leftover());
            }
            // Out of the queue.
            AttemptState::Waiting { way, key, .. } => {
                forget(key);
                drop(way);
            }
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
    /// It is being recorded.
    pub taping: Option<Box<Taping>>,
    /// The content of an MCP server's answer.
    pub blocks: Option<Box<Blocks>>,
}

/// What a call that was given up keeps until it ends: the slot of its tool's own limit. The limits of its source and of the
/// hub are for all tools, so its slots there are given back.
pub fn leftover(permits: Option<Permits>, candidate: &Candidate) -> Leftover {
    let mut permits = permits.unwrap_or_default();
    permits.keep_only(candidate.gate.as_ref());
    Leftover { permits, counted: Some(candidate.stats.count_abandoned()), held: None }
}

/// Kept small, because it is moved: what is big or rare is in a box. At the end it is taken, and this one is left.
#[derive(Default)]
pub struct State {
    /// `None` when the call is over.
    pub plan: Option<Box<PlannedRun>>,
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

    /// Lets an attempt that waited go on. One that was stopped meanwhile gives its slots back.
    pub fn go_on(&mut self, slot: usize, permits: Option<Permits>) -> Option<Permits> {
        let Some(plan) = &mut self.plan else { return permits };
        let latest = plan.run.latest_start(slot).filter(|_| permits.is_some());
        if latest.is_some_and(|at| at <= Instant::now()) || !plan.run.resume(slot) {
            return permits;
        }
        let attempt = &mut self.attempts[slot];
        attempt.permits = permits.or(attempt.permits.take());
        attempt.state = match std::mem::take(&mut attempt.state) {
            AttemptState::Waiting { prepared, .. } => AttemptState::Ready(prepared),
            other => other,
        };
        None
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
                AttemptState::Waiting { prepared, .. } | AttemptState::Ready(prepared) => prepared,
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

/// Where mail for an attempt is sent: the loop's mailbox and the attempt's key.
pub type Address = (Arc<LoopMailbox>, u64);

/// Called as `watcher(what, attempt, tool, source, server, seconds, kind, message)`.
pub struct Watch {
    pub watcher: Py<PyAny>,
    seen: Mutex<SmallVec<[Fate; 4]>>,
}

/// What is told of an attempt.
struct Change {
    what: &'static str,
    slot: usize,
    candidate: Arc<Candidate>,
    seconds: Option<f64>,
    error: Option<HubError>,
    /// Of a retry, in place of a message.
    news: Option<Value>,
}

impl Watch {
    pub fn new(watcher: Py<PyAny>) -> Self {
        Watch { watcher, seen: Mutex::default() }
    }

    fn tell(&self, py: Python<'_>, change: Change) -> PyResult<()> {
        let Change { what, slot, candidate, seconds, error, news } = change;
        let (kind, message) = error.map(|error| (error.kind.name(), error.message.to_string())).unzip();
        let heard = match news {
            Some(news) => json::to_python(py, &news),
            None => message.into_bound_py_any(py),
        };
        let heard = heard.and_then(|message| {
            let (tool, source) = (&*candidate.spec().name, candidate.source.name());
            let report = (what, slot, tool, source, candidate.server.as_deref(), seconds, kind, message);
            interpreter::apply(self.watcher.bind(py), report)
        });
        interpreter::only_interrupts(heard, self.watcher.bind(py))
    }

    /// What has changed since the last time.
    fn changes(&self, state: &State) -> SmallVec<[Change; 4]> {
        let Some(plan) = &state.plan else { return SmallVec::new() };
        let mut seen = self.seen.lock();
        seen.resize(state.attempts.len(), Fate::NotTried);
        let mut changes = SmallVec::new();
        for (slot, seen) in seen.iter_mut().enumerate() {
            let fate = plan.run.fate(slot);
            if std::mem::replace(seen, fate) == fate {
                continue;
            }
            let what = match fate {
                Fate::NotTried | Fate::Running | Fate::Succeeded => continue,
                Fate::Rejected | Fate::Failed | Fate::TimedOut => "failed",
                Fate::Stopped => "cancelled",
            };
            let error = state.attempts[slot].error.as_deref().cloned().or_else(|| plan.silent_error(slot));
            let seconds = plan.run.duration(slot, Instant::now()).map(|took| took.as_secs_f64());
            let candidate = plan.candidates[slot].clone();
            changes.push(Change { what, slot, candidate, seconds, error, news: None });
        }
        changes
    }
}

impl Execution {
    /// Tells what has changed since the last time.
    pub(super) fn tell_changes(&self, py: Python<'_>) -> PyResult<()> {
        let Some(watch) = self.watch() else { return Ok(()) };
        let changes = watch.changes(&self.state.lock());
        changes.into_iter().try_for_each(|change| watch.tell(py, change))
    }

    /// Tells that an attempt has started, its arguments fit; or, with news of the tool, that it is tried again.
    pub(super) fn tell_start(&self, py: Python<'_>, slot: usize, news: Option<Value>) -> PyResult<()> {
        let Some(watch) = self.watch() else { return Ok(()) };
        let Some(candidate) = self.with_plan(|plan| plan.candidates[slot].clone()) else { return Ok(()) };
        let what = if news.is_some() { "retried" } else { "started" };
        watch.tell(py, Change { what, slot, candidate, seconds: None, error: None, news })
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

    pub(super) fn watch(&self) -> Option<&Watch> {
        self.extras.as_ref().and_then(|extras| extras.watch.as_ref())
    }
}
