//! Spans and sessions on their way to the OpenTelemetry of Python. No caller waits for them, and no thread of tokio for the GIL.
//!
//! The spans of calls are objects of Python (`toolhub._call_span`), those of requests come from the core. All go through one
//! queue, which one thread empties every now and then, so that the SDK runs for many of them in a row.

use crate::classes::hub::PyHub;
use crate::prelude::*;
use crate::runtime::process;
use serde_json::Map;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;
use toolhub::telemetry::{
    SpanAttribute, SpanAttributes, SpanRecord, TRACE_PARENT, TRACE_STATE, TelemetryRecord,
};

/// Beyond this the oldest records are dropped, and counted.
const MOST_RECORDS: usize = 10_000;
/// Beyond this a call exports its span itself. So calls are never faster than the exporter for long, and none of theirs is
/// dropped; a request has no thread of Python on which it could do the same.
const MOST_CALLS: usize = MOST_RECORDS / 2;

/// What waits to be exported.
enum WaitingRecord {
    /// A request or a session.
    OfCore(TelemetryRecord),
    /// The span of a call, an object of Python.
    OfCall(Py<PyAny>),
}

#[derive(Default)]
struct WaitingRecords {
    records: VecDeque<WaitingRecord>,
    dropped: usize,
    is_closed: bool,
}

/// Locked as [`crate::classes::upstream::callbacks::Callbacks`] are.
#[derive(Default)]
struct RecordQueue {
    waiting: Mutex<WaitingRecords>,
    arrived: Condvar,
}

impl RecordQueue {
    fn lock(&self) -> MutexGuard<'_, WaitingRecords> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the queue has taken it: a closed one takes nothing, and one that is half full no call.
    fn push(&self, record: WaitingRecord) -> bool {
        let mut waiting = self.lock();
        let is_call = matches!(record, WaitingRecord::OfCall(_));
        if waiting.is_closed || is_call && waiting.records.len() >= MOST_CALLS {
            return false;
        }
        let oldest = if waiting.records.len() == MOST_RECORDS { waiting.records.pop_front() } else { None };
        waiting.dropped += usize::from(oldest.is_some());
        waiting.records.push_back(record);
        drop(waiting);
        self.arrived.notify_one();
        // Only now: an object of Python may run code when it goes.
        drop(oldest);
        true
    }

    fn wait(&self) -> bool {
        let mut waiting = self.lock();
        while waiting.records.is_empty() && !waiting.is_closed {
            waiting = self.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        !waiting.is_closed
    }
}

/// Spans, sessions, spans of calls, how many were dropped.
type TakenRecords<'py> = (Vec<Bound<'py, PyTuple>>, Vec<Bound<'py, PyTuple>>, Vec<Py<PyAny>>, usize);

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
        hub.get().core().telemetry.set_sink(Some(Box::new(move |record| {
            sink.push(WaitingRecord::OfCore(record));
        })));
        TRACED.fetch_add(1, Ordering::Relaxed);
        Ok(TelemetryQueue { queue, hub: hub.clone().unbind() })
    }

    /// Waits for records, without the GIL; False when there will be no more.
    fn wait(&self, py: Python<'_>) -> bool {
        let queue = self.queue.clone();
        process::detached(py, move || queue.wait())
    }

    /// The span of a call that is over; False if the queue is closed, or has so much that the call has to export it itself.
    fn add_call(&self, span: Py<PyAny>) -> bool {
        self.queue.push(WaitingRecord::OfCall(span))
    }

    /// How many records wait.
    fn __len__(&self) -> usize {
        self.queue.lock().records.len()
    }

    /// The oldest spans, sessions and spans of calls, `most` in all, and how many were dropped since the last time.
    fn take<'py>(&self, py: Python<'py>, most: usize) -> PyResult<TakenRecords<'py>> {
        let (records, dropped) = {
            let mut waiting = self.queue.lock();
            let most = most.min(waiting.records.len());
            let records: Vec<_> = waiting.records.drain(..most).collect();
            (records, std::mem::take(&mut waiting.dropped))
        };
        let (mut spans, mut sessions, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for record in records {
            match record {
                WaitingRecord::OfCall(span) => calls.push(span),
                WaitingRecord::OfCore(TelemetryRecord::Session(session)) => {
                    let measured = as_dict(py, &session.attributes, SpanAttribute::is_in_metrics)?;
                    let session = (session.side.name(), session.duration.as_secs_f64(), measured);
                    sessions.push(session.into_pyobject(py)?);
                }
                WaitingRecord::OfCore(TelemetryRecord::Span(span)) => spans.push(span_tuple(py, *span)?),
            }
        }
        Ok((spans, sessions, calls, dropped))
    }

    /// Turns telemetry off. What waits can still be taken.
    fn close(&self) {
        if std::mem::replace(&mut self.queue.lock().is_closed, true) {
            return;
        }
        TRACED.fetch_sub(1, Ordering::Relaxed);
        self.hub.get().core().telemetry.set_sink(None);
        self.queue.arrived.notify_all();
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.hub)
    }
}

/// The arguments of `_export` in `toolhub/otel.py`, in their order.
fn span_tuple(py: Python<'_>, span: SpanRecord) -> PyResult<Bound<'_, PyTuple>> {
    let begun = span.begun.duration_since(UNIX_EPOCH).unwrap_or_default();
    // Enough until the year 2554.
    let nanoseconds = |time: Duration| time.as_nanos() as u64;
    (
        span.side.name(),
        span.name,
        span.context.trace,
        span.context.span,
        span.parent.context.map(|parent| parent.span),
        span.context.flags,
        span.parent.state,
        nanoseconds(begun),
        nanoseconds(begun + span.duration),
        as_dict(py, &span.attributes, |_| true)?,
        as_dict(py, &span.attributes, SpanAttribute::is_in_metrics)?,
        span.is_error,
    )
        .into_pyobject(py)
}

/// The attributes that are wanted.
fn as_dict<'py>(
    py: Python<'py>,
    attributes: &SpanAttributes,
    is_wanted: impl Fn(SpanAttribute) -> bool,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (attribute, value) in attributes.iter().filter(|(attribute, _)| is_wanted(*attribute)) {
        dict.set_item(PyString::intern(py, attribute.name()), json::to_python(py, value)?)?;
    }
    Ok(dict)
}

/// The names of all attributes, and whether metrics have them too.
#[pyfunction]
pub fn telemetry_attributes() -> Vec<(&'static str, bool)> {
    SpanAttribute::ALL.iter().map(|attribute| (attribute.name(), attribute.is_in_metrics())).collect()
}

/// The hubs that are traced: without one, nothing of OpenTelemetry is imported.
static TRACED: AtomicUsize = AtomicUsize::new(0);

/// Makes the span that a request brings the current one of everything that runs in `context`.
pub fn enter_span(context: &Bound<'_, PyAny>, meta: &Map<String, Value>) -> PyResult<()> {
    static ATTACH: Imported = Imported::new("toolhub.otel", "attach");
    if TRACED.load(Ordering::Relaxed) == 0 {
        return Ok(());
    }
    let text = |key| meta.get(key).and_then(Value::as_str);
    let Some(parent) = text(TRACE_PARENT) else { return Ok(()) };
    let py = context.py();
    let given = (ATTACH.get(py)?, parent, text(TRACE_STATE), text("baggage"));
    context.call_method1(intern!(py, "run"), given).map(drop)
}
