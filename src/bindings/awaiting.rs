//! Stepping Python awaitables from Rust, and being one.

use pyo3::exceptions::{PyBaseException, PyRuntimeError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use pyo3::{PyClass, ffi, intern};

/// What one step of an awaitable gives: something for the event loop, or the end.
pub enum Step {
    Yield(Py<PyAny>),
    Return(Py<PyAny>),
}

/// Sends `None` into an awaitable's iterator.
pub fn send(awaitable: &Bound<'_, PyAny>) -> PyResult<Step> {
    let py = awaitable.py();
    let mut out = std::ptr::null_mut();
    // SAFETY: both pointers are valid, the GIL is held, `out` is a new reference unless the result is an error.
    unsafe {
        match ffi::PyIter_Send(awaitable.as_ptr(), ffi::Py_None(), &mut out) {
            ffi::PySendResult::PYGEN_NEXT => Ok(Step::Yield(Bound::from_owned_ptr(py, out).unbind())),
            ffi::PySendResult::PYGEN_RETURN => Ok(Step::Return(Bound::from_owned_ptr(py, out).unbind())),
            ffi::PySendResult::PYGEN_ERROR => Err(PyErr::fetch(py)),
        }
    }
}

/// Throws into an awaitable's iterator. A plain iterator without `throw` cannot catch: it just ends.
pub fn throw(awaitable: &Bound<'_, PyAny>, error: PyErr) -> PyResult<Step> {
    let py = awaitable.py();
    let Ok(method) = awaitable.getattr(intern!(py, "throw")) else { return Err(error) };
    match method.call1((error.into_value(py),)) {
        Ok(value) => Ok(Step::Yield(value.unbind())),
        Err(end) if end.is_instance_of::<PyStopIteration>(py) => {
            Ok(Step::Return(end.value(py).getattr(intern!(py, "value"))?.unbind()))
        }
        Err(error) => Err(error),
    }
}

/// The iterator that `await` would drive, or `None` when the value is not awaitable.
pub fn iterator_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    // SAFETY: a type check on a live object.
    if unsafe { ffi::PyCoro_CheckExact(value.as_ptr()) } != 0 {
        return Ok(Some(value.clone()));
    }
    match value.getattr_opt(intern!(py, "__await__"))? {
        Some(method) => method.call0().map(Some),
        None => Ok(None),
    }
}

pub fn is_cancelled_error(py: Python<'_>, error: &PyErr) -> bool {
    static CANCELLED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CANCELLED
        .import(py, "asyncio", "CancelledError")
        .is_ok_and(|cancelled| error.is_instance(py, cancelled.as_any()))
}

/// The arguments of a `throw` method in both of its forms.
pub fn thrown(typ: &Bound<'_, PyAny>, value: Option<&Bound<'_, PyAny>>) -> PyErr {
    let given = value.filter(|value| !value.is_none());
    match given {
        Some(value) if value.is_instance_of::<PyBaseException>() => PyErr::from_value(value.clone()),
        Some(value) => typ.call1((value,)).map_or_else(|error| error, PyErr::from_value),
        None if typ.is_instance_of::<PyBaseException>() => PyErr::from_value(typ.clone()),
        None => typ.call0().map_or_else(|error| error, PyErr::from_value),
    }
}

/// A step as the iterator protocol wants it.
pub fn as_iteration(step: PyResult<Step>) -> PyResult<Py<PyAny>> {
    match step? {
        Step::Yield(value) => Ok(value),
        Step::Return(value) => Err(PyStopIteration::new_err((value,))),
    }
}

/// Something of ours that `await` or an asyncio.Task drives.
pub trait Awaited: PyClass {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step>;
}

/// Fills the `am_send` slot, the one that `await` really uses: no StopIteration is made for a result. The `__next__`
/// that PyO3 makes stays in place for tracing and for `send`.
pub fn install_am_send<T: Awaited>(py: Python<'_>) {
    let class = py.get_type::<T>().as_type_ptr();
    // SAFETY: the class was made by PyO3 with an `__await__` slot, so `tp_as_async` is there; the GIL is held.
    unsafe {
        if let Some(slots) = (*class).tp_as_async.as_mut() {
            slots.am_send = Some(am_send::<T>);
            ffi::PyType_Modified(class);
        }
    }
}

unsafe extern "C" fn am_send<T: Awaited>(
    slf: *mut ffi::PyObject,
    _value: *mut ffi::PyObject,
    result: *mut *mut ffi::PyObject,
) -> ffi::PySendResult {
    let stepped = std::panic::catch_unwind(|| {
        Python::attach(|py| {
            // SAFETY: the interpreter calls this slot with an instance of the class that it was installed for.
            let this = unsafe { Bound::from_borrowed_ptr(py, slf).cast_into_unchecked::<T>() };
            T::step(&this)
        })
    });
    let stepped = stepped.unwrap_or_else(|_| Err(PyRuntimeError::new_err("toolhub broke down (a panic in its core)")));
    // SAFETY: `result` is where the interpreter wants the value.
    match stepped {
        Ok(Step::Yield(value)) => unsafe {
            *result = value.into_ptr();
            ffi::PySendResult::PYGEN_NEXT
        },
        Ok(Step::Return(value)) => unsafe {
            *result = value.into_ptr();
            ffi::PySendResult::PYGEN_RETURN
        },
        Err(error) => Python::attach(|py| {
            unsafe { *result = std::ptr::null_mut() };
            error.restore(py);
            ffi::PySendResult::PYGEN_ERROR
        }),
    }
}
