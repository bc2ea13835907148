//! The callable that hears what becomes of the attempts.

use crate::{json, user_code};
use parking_lot::Mutex;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use serde_json::Value;
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
    /// Of a retry, in place of a message.
    pub(super) news: Option<Value>,
}

impl Watch {
    pub fn new(watcher: Py<PyAny>) -> Self {
        Watch { watcher, seen: Mutex::default() }
    }

    pub(super) fn tell(&self, py: Python<'_>, change: Change) -> PyResult<()> {
        let Change { what, slot, tool, source, server, took, error, news } = change;
        let (kind, message) = error.map(|error| (error.kind.name(), error.message.to_string())).unzip();
        let seconds = took.map(|took| took.as_secs_f64());
        let heard = match news {
            Some(news) => json::to_python(py, &news),
            None => message.into_bound_py_any(py),
        };
        let heard = heard.and_then(|message| {
            let report = (what, slot, &*tool, source, server.as_deref(), seconds, kind, message);
            user_code::apply(self.watcher.bind(py), report)
        });
        user_code::only_interrupts(heard, self.watcher.bind(py))
    }
}
