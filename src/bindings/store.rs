//! The store of a hub, as Python sees it. Whatever touches the file does so without the GIL.

use super::hub::Hub;
use super::runtime;
use crate::store::{Store as Core, close_all, fork};
use parking_lot::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[pyclass(frozen, module = "toolhub._core")]
pub struct Store {
    /// `None` when the file cannot be used: then everything stays in memory.
    core: Option<Arc<Core>>,
    /// What the user is to be told.
    notices: Mutex<Vec<String>>,
    generation: u64,
}

#[pymethods]
impl Store {
    /// Opens the file, and lets the hub begin with what it knows; `room` bytes of it are for results.
    #[new]
    fn new(py: Python<'_>, hub: &Bound<'_, Hub>, path: PathBuf, room: u64) -> Self {
        let hub = hub.get().shared_core();
        let (core, notices) = py.detach(|| {
            let (store, notices) = Core::open(&path, room);
            store.iter().for_each(|store| hub.keep_in(store.clone()));
            (store, notices)
        });
        Store { core, notices: Mutex::new(notices), generation: runtime::generation() }
    }

    /// What has gone wrong since the last time somebody asked.
    fn notices(&self) -> Vec<String> {
        let mut notices = std::mem::take(&mut *self.notices.lock());
        notices.extend(self.of_this_process().into_iter().flat_map(|core| core.notices()));
        notices
    }

    /// Keeps a whole result under its handle.
    fn keep(&self, py: Python<'_>, handle: &str, text: &Bound<'_, PyString>) {
        if let Some(core) = self.of_this_process().filter(|core| core.keeps_results()) {
            // Half a character, as some tools give it, has no place in a file of text.
            let text = text.to_string_lossy().into_owned();
            py.detach(|| core.keep(handle, text));
        }
    }

    fn kept(&self, py: Python<'_>, handle: &str) -> Option<String> {
        let core = self.of_this_process()?;
        py.detach(|| core.kept(handle))
    }

    /// Writes everything now. False when that failed or took longer than so many seconds, or there is no file to write to.
    fn flush(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        if self.generation != runtime::generation() {
            return Err(PyRuntimeError::new_err("this hub was made before a fork; make a new ToolHub here"));
        }
        let patience = Duration::from_secs_f64(seconds);
        Ok(self.core.as_ref().is_some_and(|core| py.detach(|| core.flush(patience))))
    }

    /// Writes everything and lets go of the file.
    fn close(&self, py: Python<'_>, seconds: f64) -> bool {
        let patience = Duration::from_secs_f64(seconds);
        self.of_this_process().is_none_or(|core| py.detach(|| core.close(patience)))
    }
}

impl Store {
    /// In the child of a fork there is nobody who writes.
    fn of_this_process(&self) -> Option<&Arc<Core>> {
        self.core.as_ref().filter(|_| self.generation == runtime::generation())
    }
}

/// At interpreter exit: what waits is written, also that of hubs that are gone.
pub fn close_stores(patience: Duration) {
    close_all(patience);
}

/// In the child of a fork: the parent's stores are the parent's.
pub fn forget_stores() {
    fork::after_in_child();
}

/// Before a fork: no file of a store is open, and none will be opened until it is over.
#[pyfunction]
pub fn before_fork(py: Python<'_>) {
    // Most of the time nobody is writing, and the GIL need not be let go.
    if !fork::before() {
        py.detach(fork::before_writers_end);
    }
}

#[pyfunction]
pub fn after_fork_in_parent() {
    fork::after_in_parent();
}
