//! The object that a caller awaits: what it was called with, and its state behind one lock.

use super::arguments::SlotArguments;
use super::state::State;
use super::watch::Watch;
use crate::classes::hub::PyHub;
use crate::drivers::awaiting::Awaitable;
use crate::runtime::loop_bridge::{self, LoopBridge};
use crate::values::arguments::argument_checks::Checks;
use parking_lot::Mutex;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use toolhub::hub::PlannedRun;
use toolhub::principal::Principal;

#[pyclass(frozen, extends = Awaitable, module = "toolhub._core")]
pub struct Execution {
    pub(super) hub: Py<PyHub>,
    pub(super) checks: Checks,
    pub(super) extras: Option<Box<Extras>>,
    pub(super) state: Mutex<State>,
}

/// What few callers pass in addition to the arguments.
pub struct Extras {
    /// Called with each progress report of a tool on a server.
    pub progress: Option<Py<PyAny>>,
    /// Passed on to the server.
    pub meta: serde_json::Map<String, serde_json::Value>,
    /// Called with the events of attempts.
    pub watch: Option<Watch>,
    /// Values of the caller for the tools that have parameters of these names.
    pub passed_on: Option<Py<PyDict>>,
    /// The caller of the served call that this one is made in.
    pub principal: Option<Arc<Principal>>,
}

impl Extras {
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.progress)?;
        visit.call(&self.passed_on)?;
        visit.call(self.watch.as_ref().map(|watch| &watch.watcher))
    }
}

impl Execution {
    pub fn new(
        hub: Py<PyHub>,
        plan: Box<PlannedRun>,
        args: Py<PyAny>,
        checks: Checks,
        extras: Option<Box<Extras>>,
    ) -> Self {
        Execution { hub, checks, extras, state: Mutex::new(State::new(plan, args)) }
    }

    /// Each candidate gets these arguments, which were approved.
    pub fn with_arguments(self, approved: SlotArguments) -> Self {
        self.state.lock().approved = Some(Box::new(approved));
        self
    }

    /// The bridge of the loop that this execution runs on, opened at first need.
    pub(super) fn port<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, LoopBridge>> {
        let py = slf.py();
        if let Some(port) = &slf.get().state.lock().port {
            return Ok(port.clone_ref(py).into_bound(py));
        }
        let port = loop_bridge::current(py)?;
        slf.get().state.lock().port = Some(port.clone().unbind());
        Ok(port)
    }
}
