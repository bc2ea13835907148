//! Tells a watcher what becomes of the attempts while they run.
//!
//! The state machine is not asked to report: on each turn the driver reports what has changed since the last one.
//! A call without listeners pays nothing for it.

use super::Execution;
use super::state::State;
use crate::prelude::*;
use crate::runtime::user_code;
use pyo3::IntoPyObjectExt;
use smallvec::SmallVec;
use toolhub::execute::Fate;
use toolhub::registry::Candidate;

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
            user_code::apply(self.watcher.bind(py), report)
        });
        user_code::only_interrupts(heard, self.watcher.bind(py))
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
