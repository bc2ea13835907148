//! What calls inside a tool know of the calls around them, as a context variable: it goes wherever the context of the tool
//! goes, into its tasks, its threads and its blocking calls.

use crate::runtime::kept::ContextVariable;
use pyo3::ffi;
use pyo3::prelude::*;
use std::sync::{Arc, Weak};
use toolhub::limit::Lender;
use toolhub::tape::OuterCall;

/// Lives as long as a function runs on a thread of a pool.
pub type RunningMark = Arc<()>;

/// The calls around a call.
#[derive(Clone, Default)]
pub struct CallsAround {
    /// The slots that it may borrow.
    pub lender: Option<Arc<Lender>>,
    /// The nearest one that is being recorded.
    pub outer: Option<OuterCall>,
    /// The functions that each have a thread of a pool. A task may outlive the function that started it, so some may have
    /// ended.
    on_threads: Arc<[Weak<()>]>,
}

impl CallsAround {
    /// The same, with other slots to borrow.
    pub fn lending(&self, lender: Option<Arc<Lender>>) -> Self {
        CallsAround { lender, ..self.clone() }
    }

    /// The same, inside a call that is recorded.
    pub fn recorded_in(self, outer: Option<OuterCall>) -> Self {
        CallsAround { outer: outer.or(self.outer), ..self }
    }

    /// For calls inside a function that runs on a thread.
    pub fn within_function(&self, mark: &RunningMark) -> Self {
        let own = std::iter::once(Arc::downgrade(mark));
        let on_threads = self.running().cloned().chain(own).collect();
        CallsAround { on_threads, ..self.clone() }
    }

    /// The number of functions that wait on their threads for this call.
    pub fn threads(&self) -> usize {
        self.running().count()
    }

    fn running(&self) -> impl Iterator<Item = &Weak<()>> {
        self.on_threads.iter().filter(|mark| mark.strong_count() > 0)
    }
}

/// The value of the context variable.
#[pyclass(frozen, module = "toolhub._core")]
pub struct HeldSlots(CallsAround);

/// The value for calls inside one tool that runs; `None` if it is the same as around that tool.
pub type LentSlots = Option<Py<HeldSlots>>;

static AROUND: ContextVariable = ContextVariable::new(c"toolhub_slots");

/// The calls around the current one.
pub fn current(py: Python<'_>) -> PyResult<CallsAround> {
    let held = AROUND.get::<HeldSlots>(py)?;
    Ok(held.map(|held| held.get().0.clone()).unwrap_or_default())
}

/// Makes the value of the context variable.
pub fn hold(py: Python<'_>, around: CallsAround) -> PyResult<Py<HeldSlots>> {
    Py::new(py, HeldSlots(around))
}

/// Gives the context variable this value in a context that belongs to one call.
pub fn enter(context: &Bound<'_, PyAny>, held: Py<HeldSlots>) -> PyResult<()> {
    AROUND.enter(context, held)
}

/// Does something while the context variable has this value.
pub fn within<T>(py: Python<'_>, held: &LentSlots, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let Some(held) = held else { return work() };
    let variable = AROUND.object(py)?;
    // SAFETY: a context variable and a live value; the GIL is held. A new reference or an error.
    let token =
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyContextVar_Set(variable.as_ptr(), held.as_ptr()))? };
    let done = work();
    // SAFETY: the token is of this variable and this context, and is used once; the GIL is held.
    if unsafe { ffi::PyContextVar_Reset(variable.as_ptr(), token.as_ptr()) } < 0 {
        PyErr::fetch(py).write_unraisable(py, Some(variable));
    }
    done
}
