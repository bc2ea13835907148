//! The callable that hears what becomes of the attempts.

use crate::user_code;
use parking_lot::Mutex;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Duration;
use toolhub::error::HubError;
use toolhub::execute::Fate;

/// Called as `watcher(what, attempt, tool, source, server, seconds, kind, message)`.
pub struct Watch {
    pub watcher: Py<PyAny>,
    pub(super) seen: Mutex<SmallVec<[Fate; 4]>>,
}

pub(super) struct Change {
    pub(super) what: &'static str,
    pub(super) slot: usize,
    pub(super) tool: Arc<str>,
    pub(super) source: &'static str,
    pub(super) server: Option<Arc<str>>,
    pub(super) took: Option<Duration>,
    pub(super) error: Option<HubError>,
}

impl Watch {
    pub fn new(watcher: Py<PyAny>) -> Self {
        Watch { watcher, seen: Mutex::default() }
    }

    pub(super) fn tell(&self, py: Python<'_>, change: Change) -> PyResult<()> {
        let Change { what, slot, tool, source, server, took, error } = change;
        let (kind, message) = error.map(|error| (error.kind.name(), error.message.to_string())).unzip();
        let seconds = took.map(|took| took.as_secs_f64());
        let report = (what, slot, &*tool, source, server.as_deref(), seconds, kind, message);
        user_code::only_interrupts(user_code::apply(self.watcher.bind(py), report), self.watcher.bind(py))
    }
}
