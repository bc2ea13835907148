//! The slots that calls inside a tool may borrow, as a context variable: it goes wherever the context of the tool goes, into
//! its tasks, its threads and its blocking calls.

use super::once::ForkSafeOnce;
use crate::limit::Lender;
use pyo3::ffi;
use pyo3::prelude::*;
use std::sync::Arc;

/// The value of the context variable.
#[pyclass(frozen, module = "toolhub._core")]
pub struct HeldSlots(Arc<Lender>);

/// The slots of one tool that runs; `None` for a tool without limits.
pub type LentSlots = Option<Py<HeldSlots>>;

fn variable(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static VARIABLE: ForkSafeOnce<Py<PyAny>> = ForkSafeOnce::new();
    let make = || {
        // SAFETY: a name that ends with a zero byte, no default; the GIL is held. A new reference or an error.
        let made = unsafe { ffi::PyContextVar_New(c"toolhub_slots".as_ptr(), std::ptr::null_mut()) };
        // SAFETY: see above.
        unsafe { Bound::from_owned_ptr_or_err(py, made) }.map(Bound::unbind)
    };
    VARIABLE.get_or_try_init(py, make).map(|variable| variable.bind(py))
}

/// What the tool around this call lends.
pub fn current(py: Python<'_>) -> PyResult<Option<Arc<Lender>>> {
    let mut value = std::ptr::null_mut();
    // SAFETY: a context variable, no default, a place for the value; the GIL is held.
    if unsafe { ffi::PyContextVar_Get(variable(py)?.as_ptr(), std::ptr::null_mut(), &mut value) } < 0 {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: a new reference, or null when the variable has no value.
    let value = unsafe { Bound::from_owned_ptr_or_opt(py, value) };
    Ok(value.and_then(|value| value.cast::<HeldSlots>().ok().map(|held| held.get().0.clone())))
}

/// Makes the value of the context variable.
pub fn hold(py: Python<'_>, lender: Arc<Lender>) -> PyResult<Py<HeldSlots>> {
    Py::new(py, HeldSlots(lender))
}

/// Does something while the context variable has this value.
pub fn within<T>(py: Python<'_>, held: &LentSlots, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let Some(held) = held else { return work() };
    let variable = variable(py)?;
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
