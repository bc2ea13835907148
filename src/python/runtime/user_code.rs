//! Calls into code of the user that may run for long: tools, validators, listeners, callbacks.
//!
//! CPython up to 3.13 ends daemon threads at exit by unwinding their stack, from wherever they ask for the GIL. Unwinding
//! through Rust frames that do not expect it aborts the process. Each call here has a guard in its way: the unwinding
//! stops there, and with it the thread, until the process is gone.

use crate::prelude::*;
use crate::runtime::process;
use pyo3::exceptions::{PyKeyboardInterrupt, PySystemExit};
use pyo3::ffi;
use std::ptr::null_mut;

/// Stops the thread for good when an unwinding drops it.
struct ParkOnForcedUnwind;

impl Drop for ParkOnForcedUnwind {
    fn drop(&mut self) {
        process::park();
    }
}

/// Runs a call of the C API that is declared as one that may unwind.
fn guarded<T>(call: impl FnOnce() -> T) -> T {
    let guard = ParkOnForcedUnwind;
    let result = call();
    std::mem::forget(guard);
    result
}

type IterSend = unsafe extern "C-unwind" fn(
    *mut ffi::PyObject,
    *mut ffi::PyObject,
    *mut *mut ffi::PyObject,
) -> ffi::PySendResult;
type Vectorcall = unsafe extern "C-unwind" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    usize,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// Sends `None` into an iterator; the result in `out` is a new reference unless it is an error.
pub fn send(iterator: &Bound<'_, PyAny>, out: &mut *mut ffi::PyObject) -> ffi::PySendResult {
    // SAFETY: "C-unwind" is "C" for a function that may unwind.
    let send: IterSend = unsafe { std::mem::transmute(ffi::PyIter_Send as *const ()) };
    // SAFETY: all pointers are valid and the GIL is held.
    guarded(|| unsafe { send(iterator.as_ptr(), ffi::Py_None(), out) })
}

/// Calls one of the functions of the C API that have the form of `PyObject_Vectorcall`.
///
/// # Safety
/// The function has that form and takes these objects, which are alive.
unsafe fn vectorcall<'py>(
    py: Python<'py>,
    function: *const (),
    called: *mut ffi::PyObject,
    args: &[*mut ffi::PyObject],
    keywords: *mut ffi::PyObject,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: "C-unwind" is "C" for a function that may unwind. The GIL is held; the call gives a new reference or an error.
    unsafe {
        let call: Vectorcall = std::mem::transmute(function);
        Bound::from_owned_ptr_or_err(py, guarded(|| call(called, args.as_ptr(), args.len(), keywords)))
    }
}

/// Calls a method.
pub fn call_method<'py, const N: usize>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
    args: [&Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyAny>> {
    let all: Vec<_> = std::iter::once(object.as_ptr()).chain(args.iter().map(|arg| arg.as_ptr())).collect();
    let called = ffi::PyObject_VectorcallMethod as *const ();
    // SAFETY: the name of a method, its object and its arguments.
    unsafe { vectorcall(object.py(), called, name.as_ptr(), &all, null_mut()) }
}

/// Calls with positional arguments.
pub fn call<'py, const N: usize>(
    callable: &Bound<'py, PyAny>,
    args: [&Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyAny>> {
    positional(callable, &args.map(|arg| arg.as_ptr()))
}

/// Calls with a tuple of positional arguments.
pub fn apply<'py>(
    callable: &Bound<'py, PyAny>,
    args: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Bound<'py, PyAny>> {
    let args = args.into_pyobject(callable.py())?;
    positional(callable, &args.iter_borrowed().map(|arg| arg.as_ptr()).collect::<Vec<_>>())
}

fn positional<'py>(callable: &Bound<'py, PyAny>, args: &[*mut ffi::PyObject]) -> PyResult<Bound<'py, PyAny>> {
    let called = ffi::PyObject_Vectorcall as *const ();
    // SAFETY: a callable and its arguments.
    unsafe { vectorcall(callable.py(), called, callable.as_ptr(), args, null_mut()) }
}

/// Calls with keyword arguments only.
pub fn call_with_keywords<'py>(
    callable: &Bound<'py, PyAny>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let called = ffi::PyObject_VectorcallDict as *const ();
    // SAFETY: a callable and its keywords.
    unsafe { vectorcall(callable.py(), called, callable.as_ptr(), &[], keywords.as_ptr()) }
}

/// A listener must not break a call, so its exceptions are only shown. `KeyboardInterrupt` and `SystemExit` are for the
/// program and are passed on.
pub fn only_interrupts<T>(heard: PyResult<T>, listener: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = listener.py();
    match heard {
        Err(error)
            if error.is_instance_of::<PyKeyboardInterrupt>(py)
                || error.is_instance_of::<PySystemExit>(py) =>
        {
            Err(error)
        }
        Err(error) => {
            error.write_unraisable(py, Some(listener));
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}
