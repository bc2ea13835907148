//! Spans and sessions on their way to the OpenTelemetry of Python. No caller waits for them, and no thread of tokio for the GIL.

use super::hub::PyHub;
use super::runtime;
use super::span_context;
use crate::telemetry::{AttributeValue, SpanAttribute, SpanAttributes, TelemetryRecord};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

/// Beyond this the oldest records are dropped, and counted.
const MOST_RECORDS: usize = 10_000;

#[derive(Default)]
struct WaitingRecords {
    records: VecDeque<TelemetryRecord>,
    dropped: usize,
    is_closed: bool,
}

/// Locked as [`super::callbacks::Callbacks`] are.
#[derive(Default)]
struct RecordQueue {
    waiting: Mutex<WaitingRecords>,
    arrived: Condvar,
}

impl RecordQueue {
    fn lock(&self) -> MutexGuard<'_, WaitingRecords> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, record: TelemetryRecord) {
        let mut waiting = self.lock();
        if waiting.records.len() == MOST_RECORDS {
            waiting.records.pop_front();
            waiting.dropped += 1;
        }
        waiting.records.push_back(record);
        drop(waiting);
        self.arrived.notify_one();
    }

    fn wait(&self) -> bool {
        let mut waiting = self.lock();
        while waiting.records.is_empty() && !waiting.is_closed {
            waiting = self.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        !waiting.is_closed
    }
}

/// Side, name, trace, span, parent span, flags, state, begin and end in nanoseconds since 1970, attributes, whether it failed.
type SpanTuple<'py> =
    (&'static str, String, u128, u64, Option<u64>, u8, Option<String>, u64, u64, Bound<'py, PyDict>, bool);
/// Side, seconds, attributes.
type SessionTuple<'py> = (&'static str, f64, Bound<'py, PyDict>);

/// The spans and sessions of a hub that are over. Making one turns telemetry on, closing it turns it off.
#[pyclass(frozen, module = "toolhub._core")]
pub struct TelemetryQueue {
    queue: Arc<RecordQueue>,
    hub: Py<PyHub>,
}

#[pymethods]
impl TelemetryQueue {
    #[new]
    fn new(hub: &Bound<'_, PyHub>) -> PyResult<Self> {
        hub.get().check_process()?;
        let queue = Arc::new(RecordQueue::default());
        let sink = queue.clone();
        hub.get().core().telemetry.set_sink(Some(Box::new(move |record| sink.push(record))));
        span_context::queue_opened();
        Ok(TelemetryQueue { queue, hub: hub.clone().unbind() })
    }

    /// Waits for records, without the GIL; False when there will be no more.
    fn wait(&self, py: Python<'_>) -> bool {
        let queue = self.queue.clone();
        runtime::detached(py, move || queue.wait())
    }

    /// All spans and sessions that wait, and how many records were dropped since the last time.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<(Vec<SpanTuple<'py>>, Vec<SessionTuple<'py>>, usize)> {
        let (records, dropped) = {
            let mut waiting = self.queue.lock();
            (std::mem::take(&mut waiting.records), std::mem::take(&mut waiting.dropped))
        };
        let (mut spans, mut sessions) = (Vec::new(), Vec::new());
        for record in records {
            match record {
                TelemetryRecord::Session(session) => {
                    let attributes = as_dict(py, session.attributes)?;
                    sessions.push((session.side.name(), session.duration.as_secs_f64(), attributes));
                }
                TelemetryRecord::Span(span) => {
                    let begun = span.begun.duration_since(UNIX_EPOCH).unwrap_or_default();
                    // Enough until the year 2554.
                    let nanoseconds = |time: std::time::Duration| time.as_nanos() as u64;
                    spans.push((
                        span.side.name(),
                        span.name,
                        span.context.trace,
                        span.context.span,
                        span.parent.context.map(|parent| parent.span),
                        span.context.flags,
                        span.parent.state,
                        nanoseconds(begun),
                        nanoseconds(begun + span.duration),
                        as_dict(py, span.attributes)?,
                        span.is_error,
                    ));
                }
            }
        }
        Ok((spans, sessions, dropped))
    }

    /// Turns telemetry off. What waits can still be taken.
    fn close(&self) {
        if std::mem::replace(&mut self.queue.lock().is_closed, true) {
            return;
        }
        span_context::queue_closed();
        self.hub.get().core().telemetry.set_sink(None);
        self.queue.arrived.notify_all();
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.hub)
    }
}

fn as_dict(py: Python<'_>, attributes: SpanAttributes) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (attribute, value) in attributes {
        match value {
            AttributeValue::Text(text) => dict.set_item(attribute.name(), text)?,
            AttributeValue::Number(number) => dict.set_item(attribute.name(), number)?,
        }
    }
    Ok(dict)
}

/// The names of all attributes, and whether metrics have them too.
#[pyfunction]
pub fn telemetry_attributes() -> Vec<(&'static str, bool)> {
    SpanAttribute::ALL.iter().map(|attribute| (attribute.name(), attribute.is_in_metrics())).collect()
}
