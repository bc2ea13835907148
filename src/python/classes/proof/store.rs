//! The store of a hub, for Python. Everything that touches the file runs without the GIL.

use crate::classes::hub::PyHub;
use crate::runtime::process;
use parking_lot::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use toolhub::store::{Store as Core, fork, ledger};

#[pyclass(frozen, module = "toolhub._core", name = "Store")]
pub struct PyStore {
    /// `None` if the file cannot be used: then everything stays in memory.
    core: Option<Arc<Core>>,
    /// Warnings for the user.
    notices: Mutex<Vec<String>>,
    generation: u64,
}

#[pymethods]
impl PyStore {
    /// Opens the file and gives its content to the hub; `room` bytes of it are for results.
    #[new]
    fn new(py: Python<'_>, hub: &Bound<'_, PyHub>, path: PathBuf, room: u64) -> Self {
        let hub = hub.get().shared_core();
        let (core, notices) = py.detach(|| {
            let (store, notices) = Core::open(&path, room);
            match &store {
                Some(store) => hub.keep_in(store.clone()),
                None => hub.go_without_store(&path),
            }
            (store, notices)
        });
        PyStore { core, notices: Mutex::new(notices), generation: process::generation() }
    }

    /// The problems since the last call.
    fn notices(&self) -> Vec<String> {
        let mut notices = std::mem::take(&mut *self.notices.lock());
        notices.extend(self.of_this_process().into_iter().flat_map(|core| core.notices()));
        notices
    }

    /// Writes everything now. False if that failed or took longer than `seconds`, or if there is no file.
    fn flush(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        if self.generation != process::generation() {
            return Err(PyRuntimeError::new_err("this hub was made before a fork; make a new ToolHub here"));
        }
        let patience = Duration::from_secs_f64(seconds);
        Ok(self.core.as_ref().is_some_and(|core| py.detach(|| core.flush(patience))))
    }

    /// Writes everything and closes the file.
    fn close(&self, py: Python<'_>, seconds: f64) -> bool {
        let patience = Duration::from_secs_f64(seconds);
        self.of_this_process().is_none_or(|core| py.detach(|| core.close(patience)))
    }
}

impl PyStore {
    /// `None` in a forked child, which has no writer thread.
    fn of_this_process(&self) -> Option<&Arc<Core>> {
        self.core.as_ref().filter(|_| self.generation == process::generation())
    }
}

/// In a forked child: the stores stay with the parent.
pub fn forget_stores() {
    ledger::close_in_child();
    fork::after_in_child();
}

/// Before a fork: closes all store files, and opens none until the fork is over.
#[pyfunction]
pub fn before_fork(py: Python<'_>) {
    // Usually no store is being written, and the GIL can be kept.
    if !fork::before() {
        py.detach(fork::before_writers_end);
    }
}

#[pyfunction]
pub fn after_fork_in_parent() {
    fork::after_in_parent();
}
