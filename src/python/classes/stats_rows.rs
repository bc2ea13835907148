//! Statistics of calls, in the shapes that Python shows: a row for each candidate.

use crate::runtime::call_scope;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;
use std::time::{Instant, UNIX_EPOCH};
use toolhub::hub::{CallerRecord, Hub};
use toolhub::registry::{Candidate, NameEntry, Snapshot};
use toolhub::stats::{CandidateStats, StatsView};

/// Whose calls are counted.
pub enum CountedCalls {
    OfEveryone,
    /// Those of one caller of a served hub, if it has made any.
    OfCaller(Option<Arc<CallerRecord>>),
}

/// Stands for all callers in the option of the same name.
const EVERYONE: &str = "*";

impl CountedCalls {
    /// Those of the named caller; without a name, of the caller of the served call that this code is a part of, or of everyone.
    pub fn of(py: Python<'_>, hub: &Hub, caller: Option<&str>) -> PyResult<Self> {
        let own = match caller {
            Some(_) => None,
            None => call_scope::principal(py)?.filter(|principal| !principal.is_anonymous()),
        };
        let id = caller.or(own.as_ref().map(|principal| &*principal.id));
        Ok(match id.filter(|id| *id != EVERYONE) {
            Some(id) => CountedCalls::OfCaller(hub.caller(id)),
            None => CountedCalls::OfEveryone,
        })
    }

    fn view(&self, candidate: &Candidate, now: Instant) -> StatsView {
        match self {
            CountedCalls::OfEveryone => candidate.stats.view(now),
            CountedCalls::OfCaller(Some(caller)) => caller.stats_of(candidate).view(now),
            CountedCalls::OfCaller(None) => CandidateStats::default().view(now),
        }
    }
}

/// What the calls of a candidate have shown so far.
pub fn row_of<'py>(
    py: Python<'py>,
    candidate: &Candidate,
    counted: &CountedCalls,
    now: Instant,
) -> PyResult<Bound<'py, PyDict>> {
    let view = counted.view(candidate, now);
    let failures = PyDict::new(py);
    for (kind, count) in &view.failures {
        failures.set_item(kind.name(), count)?;
    }
    let row = PyDict::new(py);
    row.set_item("tool", &*candidate.spec().name)?;
    row.set_item("source", candidate.source.name())?;
    row.set_item("server", candidate.server.as_deref())?;
    row.set_item("variant", candidate.variant)?;
    row.set_item("calls", view.calls)?;
    row.set_item("successes", view.successes)?;
    row.set_item("failures", failures)?;
    // Calls of no tool reach 2^53.
    row.set_item("success_rate", (view.calls > 0).then(|| view.successes as f64 / view.calls as f64))?;
    row.set_item("success_ewma", view.success_rate)?;
    row.set_item("latency_ewma_ms", view.latency_ewma_ms)?;
    row.set_item("latency_p50_ms", view.latency_p50_ms)?;
    row.set_item("latency_p95_ms", view.latency_p95_ms)?;
    let last = view.last_success.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    row.set_item("last_success", last.map(|since| since.as_secs_f64()))?;
    row.set_item("breaker", view.breaker.name())?;
    row.set_item("abandoned", view.abandoned)?;
    Ok(row)
}

/// The names whose statistics are asked for, in the order of the list. A candidate counts once, by the name that it gave.
fn asked(snapshot: &Snapshot, name: Option<&str>) -> Vec<Arc<NameEntry>> {
    if let Some(name) = name {
        return snapshot.find(name).into_iter().collect();
    }
    let mut all: Vec<_> = snapshot.families().map(|(_, entry)| entry.clone()).collect();
    all.sort_by_key(|entry| entry.position());
    all
}

/// The rows of each tool name, or of one.
pub fn by_tool<'py>(
    py: Python<'py>,
    snapshot: &Snapshot,
    name: Option<&str>,
    counted: &CountedCalls,
) -> PyResult<Bound<'py, PyDict>> {
    let (grouped, now) = (PyDict::new(py), Instant::now());
    for entry in asked(snapshot, name) {
        let rows = PyList::empty(py);
        for candidate in &entry.candidates {
            rows.append(row_of(py, candidate, counted, now)?)?;
        }
        grouped.set_item(&*entry.name, rows)?;
    }
    Ok(grouped)
}
