//! Tells a watcher what becomes of the attempts while they run.
//!
//! The state machine is not asked to report: on each turn the driver reports what has changed since the last one.
//! A call without listeners pays nothing for it.

use super::Execution;
use super::state::Phase;
use super::watch::{Change, Watch};
use pyo3::prelude::*;
use serde_json::Value;
use smallvec::SmallVec;
use std::time::Instant;
use toolhub::error::HubError;
use toolhub::execute::Fate;

impl Execution {
    /// Tells what has changed since the last time.
    pub(super) fn tell_changes(&self, py: Python<'_>) -> PyResult<()> {
        let Some(watch) = self.watch() else { return Ok(()) };
        self.changes(watch).into_iter().try_for_each(|change| watch.tell(py, change))
    }

    /// Tells that an attempt has started, its arguments fit; or, with news of the tool, that it is tried again.
    pub(super) fn tell_start(&self, py: Python<'_>, slot: usize, news: Option<Value>) -> PyResult<()> {
        let Some(watch) = self.watch() else { return Ok(()) };
        let what = if news.is_some() { "retried" } else { "started" };
        let change = self.state.lock().plan.as_ref().map(|plan| self.change(plan, slot, what, None));
        change.map_or(Ok(()), |change| watch.tell(py, Change { took: None, news, ..change }))
    }

    /// A listener or a tool was interrupted: everything is stopped, and nothing else starts. Then the caller is interrupted.
    /// Gives the error back if the call is over.
    pub(super) fn interrupt(&self, interrupt: PyErr) -> PyResult<()> {
        let mut state = self.state.lock();
        if state.phase == Phase::Done {
            return Err(interrupt);
        }
        state.phase = Phase::Settling;
        state.reraise = Some(Box::new(interrupt));
        state.cancel_run(Instant::now());
        Ok(())
    }

    pub(super) fn watch(&self) -> Option<&Watch> {
        self.extras.as_ref().and_then(|extras| extras.watch.as_ref())
    }

    fn changes(&self, watch: &Watch) -> SmallVec<[Change; 4]> {
        let state = self.state.lock();
        let Some(plan) = &state.plan else { return SmallVec::new() };
        let mut seen = watch.seen.lock();
        seen.resize(state.attempts.len(), Fate::NotTried);
        let mut changes = SmallVec::new();
        for (slot, seen) in seen.iter_mut().enumerate() {
            let fate = plan.run.fate(slot);
            if fate == *seen {
                continue;
            }
            *seen = fate;
            let what = match fate {
                Fate::NotTried | Fate::Running | Fate::Succeeded => continue,
                Fate::Rejected | Fate::Failed | Fate::TimedOut => "failed",
                Fate::Stopped => "cancelled",
            };
            let error = state.attempts[slot].error.as_deref().cloned();
            changes.push(self.change(plan, slot, what, error.or_else(|| plan.silent_error(slot))));
        }
        changes
    }

    fn change(
        &self,
        plan: &toolhub::hub::PlannedRun,
        slot: usize,
        what: &'static str,
        error: Option<HubError>,
    ) -> Change {
        let candidate = &plan.candidates[slot];
        Change {
            what,
            slot,
            tool: candidate.spec().name.clone(),
            source: candidate.source.name(),
            server: candidate.server.clone(),
            took: plan.run.duration(slot, Instant::now()),
            error,
            news: None,
        }
    }
}
