//! The cancellations of a caller's task that a tool is stepped in.
//!
//! For such a tool `asyncio.current_task()` is the caller's task: its `uncancel()` would take back the caller's cancellation,
//! and its `cancel()` would cancel the caller. So while a cancellation is handled, `uncancel` of the task goes through a
//! guard: a context manager that takes back a cancellation of its own (`asyncio.timeout`, a scope of anyio) may, the tool may
//! not. A cancellation that was asked for inside a step of the tool is the tool's own.

use crate::awaiting::cancellations;
use crate::imported::Imported;
use crate::once::intern;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The same on every system.
const SIGINT: i32 = 2;
/// A context manager may call `uncancel` in a function of its own.
const FRAMES: usize = 3;

/// Stands in for `uncancel` of a task.
#[pyclass(frozen, module = "toolhub._core")]
struct GuardedUncancel {
    task: Py<PyAny>,
}

#[pymethods]
impl GuardedUncancel {
    fn __call__(&self, py: Python<'_>) -> PyResult<usize> {
        let task = self.task.bind(py);
        if is_leaving_context(py)? {
            return uncancel(task);
        }
        Ok(cancellations(task)?.saturating_sub(1))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.task)
    }
}

/// Takes back one cancellation, whatever guards the task; the number that is left.
pub fn uncancel(task: &Bound<'_, PyAny>) -> PyResult<usize> {
    let method = task.get_type().getattr(intern!(task.py(), "uncancel"))?;
    method.call1((task,))?.extract()
}

/// Guards a task; false if it is guarded already, or its class does not allow it.
pub fn guard(task: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = task.py();
    let name = intern!(py, "uncancel");
    if task.getattr(name)?.is_instance_of::<GuardedUncancel>() {
        return Ok(false);
    }
    let guarded = Bound::new(py, GuardedUncancel { task: task.clone().unbind() })?;
    Ok(task.setattr(name, guarded).is_ok())
}

pub fn unguard(task: &Bound<'_, PyAny>) -> PyResult<()> {
    task.delattr(intern!(task.py(), "uncancel"))
}

/// Whether a cancellation of the task is still to be delivered.
pub fn is_pending(task: &Bound<'_, PyAny>) -> PyResult<bool> {
    let must = task.getattr_opt(intern!(task.py(), "_must_cancel"))?;
    must.map_or(Ok(false), |must| must.is_truthy())
}

/// Whether Ctrl-C has cancelled the main task of `asyncio.run`: its handler may run in the middle of any step.
pub fn is_interrupted(py: Python<'_>) -> PyResult<bool> {
    static HANDLER: Imported = Imported::new("signal", "getsignal");
    let handler = HANDLER.get(py)?.call1((SIGINT,))?;
    let Some(method) = handler.getattr_opt(intern!(py, "func"))? else { return Ok(false) };
    let Some(runner) = method.getattr_opt(intern!(py, "__self__"))? else { return Ok(false) };
    let count = runner.getattr_opt(intern!(py, "_interrupt_count"))?;
    count.map_or(Ok(false), |count| count.is_truthy())
}

/// Whether Python is leaving a `with` block right now.
fn is_leaving_context(py: Python<'_>) -> PyResult<bool> {
    static FRAME: Imported = Imported::new("sys", "_getframe");
    let mut frame = FRAME.get(py)?.call0()?;
    for _ in 0..FRAMES {
        if frame.is_none() {
            break;
        }
        let function = frame.getattr(intern!(py, "f_code"))?.getattr(intern!(py, "co_name"))?;
        if matches!(function.cast::<PyString>()?.to_cow()?.as_ref(), "__exit__" | "__aexit__") {
            return Ok(true);
        }
        frame = frame.getattr(intern!(py, "f_back"))?;
    }
    Ok(false)
}
