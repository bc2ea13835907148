//! The span of a served call as the current one of OpenTelemetry, while its Python tool runs.

use super::imported::Imported;
use super::once::intern;
use pyo3::prelude::*;
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicUsize, Ordering};
use toolhub::telemetry::{TRACE_PARENT, TRACE_STATE};

/// The hubs that are traced: without one, nothing of OpenTelemetry is imported.
static TRACED: AtomicUsize = AtomicUsize::new(0);

pub fn queue_opened() {
    TRACED.fetch_add(1, Ordering::Relaxed);
}

pub fn queue_closed() {
    TRACED.fetch_sub(1, Ordering::Relaxed);
}

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
