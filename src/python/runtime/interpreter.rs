//! Dealing with the interpreter: objects of Python that are kept, calls of user code that may run for long, and letting other
//! threads have the GIL.
//!
//! `PyOnceLock` (and with it `pyo3::intern!`) releases the GIL while it holds its lock. If another thread forks at that
//! moment, the child inherits a lock that no thread will release, and its first reader blocks forever. Here the value is
//! made first and stored afterwards, as one pointer: the child of a fork finds either nothing or a complete value, with or
//! without a GIL. Two threads may make the same value; the first one stored is kept.
//!
//! CPython up to 3.13 ends daemon threads at exit by unwinding their stack, from wherever they ask for the GIL. Unwinding
//! through Rust frames that do not expect it aborts the process. Each call of tools, validators, listeners and callbacks has a
//! guard in its way: the unwinding stops there, and with it the thread, until the process is gone.

use crate::prelude::*;
use crate::runtime::process;
use once_cell::race::OnceBox;
use pyo3::exceptions::{PyKeyboardInterrupt, PySystemExit};
use pyo3::sync::critical_section::with_critical_section;
use pyo3::{PyClass, ffi};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

/// A value that is stored once.
pub type ForkSafeOnce<T> = OnceBox<T>;

/// The value behind [`intern!`].
pub struct Interned {
    text: &'static str,
    string: ForkSafeOnce<Py<PyString>>,
}

impl Interned {
    pub const fn new(text: &'static str) -> Self {
        Interned { text, string: ForkSafeOnce::new() }
    }

    #[inline]
    pub fn get<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        self.string.get_or_init(|| Box::new(PyString::intern(py, self.text).unbind())).bind(py)
    }
}

/// A Python string that is made at first use and kept: `pyo3::intern!`, safe to fork.
macro_rules! intern {
    ($py:expr, $text:expr) => {{
        static INTERNED: $crate::runtime::interpreter::Interned =
            $crate::runtime::interpreter::Interned::new($text);
        INTERNED.get($py)
    }};
}
pub(crate) use intern;

/// An attribute of a module.
///
/// An import runs Python code and may let other threads run; two of them may import the same thing, which gives the same
/// object.
pub struct Imported {
    module: &'static str,
    name: &'static str,
    object: ForkSafeOnce<Py<PyAny>>,
}

impl Imported {
    pub const fn new(module: &'static str, name: &'static str) -> Self {
        Imported { module, name, object: ForkSafeOnce::new() }
    }

    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let import = || Ok(Box::new(py.import(self.module)?.getattr(self.name)?.unbind()));
        self.object.get_or_try_init(import).map(|object| object.bind(py))
    }
}

/// A copy of the current context.
pub fn current_context(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the GIL is held; the call gives a new reference or an error.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyContext_CopyCurrent()) }
}

/// A context variable of ours.
pub struct ContextVariable {
    name: &'static CStr,
    object: ForkSafeOnce<Py<PyAny>>,
}

impl ContextVariable {
    pub const fn new(name: &'static CStr) -> Self {
        ContextVariable { name, object: ForkSafeOnce::new() }
    }

    pub fn object<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let make = || {
            // SAFETY: a name that ends with a zero byte, no default; the GIL is held. A new reference or an error.
            let made = unsafe { ffi::PyContextVar_New(self.name.as_ptr(), null_mut()) };
            // SAFETY: see above.
            unsafe { Bound::from_owned_ptr_or_err(py, made) }.map(|made| Box::new(made.unbind()))
        };
        self.object.get_or_try_init(make).map(|variable| variable.bind(py))
    }

    /// Its value here, if it has one of this class.
    pub fn get<'py, T: PyClass>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, T>>> {
        let mut value = null_mut();
        // SAFETY: a context variable, no default, a place for the value; the GIL is held.
        if unsafe { ffi::PyContextVar_Get(self.object(py)?.as_ptr(), null_mut(), &mut value) } < 0 {
            return Err(PyErr::fetch(py));
        }
        // SAFETY: a new reference, or null when the variable has no value.
        let value = unsafe { Bound::from_owned_ptr_or_opt(py, value) };
        Ok(value.and_then(|value| value.cast_into().ok()))
    }

    /// Gives it a value in a context that belongs to one call.
    pub fn enter<T: PyClass>(&self, context: &Bound<'_, PyAny>, value: Py<T>) -> PyResult<()> {
        let py = context.py();
        let set = self.object(py)?.getattr(intern!(py, "set"))?;
        context.call_method1(intern!(py, "run"), (set, value)).map(drop)
    }
}

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

/// Calls with positional arguments, and with keywords unless that is null.
///
/// # Safety
/// All of them are alive, and the keywords are a dict.
unsafe fn vectorcall<'py>(
    callable: &Bound<'py, PyAny>,
    args: &[*mut ffi::PyObject],
    keywords: *mut ffi::PyObject,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: "C-unwind" is "C" for a function that may unwind. The GIL is held; the call gives a new reference or an error.
    unsafe {
        let call: Vectorcall = std::mem::transmute(ffi::PyObject_VectorcallDict as *const ());
        let given = guarded(|| call(callable.as_ptr(), args.as_ptr(), args.len(), keywords));
        Bound::from_owned_ptr_or_err(callable.py(), given)
    }
}

/// Calls with positional arguments.
pub fn call<'py, const N: usize>(
    callable: &Bound<'py, PyAny>,
    args: [&Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: objects that are alive.
    unsafe { vectorcall(callable, &args.map(|arg| arg.as_ptr()), null_mut()) }
}

/// Calls with a tuple of positional arguments.
pub fn apply<'py>(
    callable: &Bound<'py, PyAny>,
    args: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Bound<'py, PyAny>> {
    let args = args.into_pyobject(callable.py())?;
    let all: Vec<_> = args.iter_borrowed().map(|arg| arg.as_ptr()).collect();
    // SAFETY: objects that are alive.
    unsafe { vectorcall(callable, &all, null_mut()) }
}

/// Calls with keyword arguments only.
pub fn call_with_keywords<'py>(
    callable: &Bound<'py, PyAny>,
    keywords: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: a dict that is alive.
    unsafe { vectorcall(callable, &[], keywords.as_ptr()) }
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

/// Work on fewer characters than this is done before the GIL could be taken again.
const SHORT: usize = 4_000;
static PAUSES: AtomicU64 = AtomicU64::new(0);

/// The number of times that the GIL was released for a long text or between two slices, in this process.
#[pyfunction]
pub fn gil_pauses() -> u64 {
    PAUSES.load(Ordering::Relaxed)
}

/// Does work on a text of this size, without the GIL unless it is short.
pub fn released<T: Send>(py: Python<'_>, size: usize, work: impl FnOnce() -> T + Send) -> T {
    if size <= SHORT { work() } else { pause(py, work) }
}

/// Does work without the GIL, and counts that.
pub fn pause<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    PAUSES.fetch_add(1, Ordering::Relaxed);
    py.detach(work)
}

/// The entries of a dict that other code may change between two of them. `dict.iter()` panics when that happens.
pub struct Entries<'a, 'py> {
    dict: &'a Bound<'py, PyDict>,
    position: ffi::Py_ssize_t,
    len: usize,
}

impl<'a, 'py> Entries<'a, 'py> {
    pub fn of(dict: &'a Bound<'py, PyDict>) -> Self {
        Entries { dict, position: 0, len: dict.len() }
    }
}

impl<'py> Iterator for Entries<'_, 'py> {
    type Item = PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let py = self.dict.py();
        if self.dict.len() != self.len {
            // Reported once.
            self.len = self.dict.len();
            self.position = ffi::Py_ssize_t::MAX;
            return Some(Err(PyRuntimeError::new_err("a mapping changed while it was read")));
        }
        if self.position == ffi::Py_ssize_t::MAX {
            return None;
        }
        let (mut key, mut value) = (null_mut(), null_mut());
        // SAFETY: the dict is alive, and nobody changes it here: the GIL is held, or the dict's lock where there is no GIL.
        // Any position is allowed, and both references become owned before other code can run.
        with_critical_section(self.dict, || unsafe {
            let found =
                ffi::PyDict_Next(self.dict.as_ptr(), &raw mut self.position, &raw mut key, &raw mut value);
            (found != 0).then(|| Ok((Bound::from_borrowed_ptr(py, key), Bound::from_borrowed_ptr(py, value))))
        })
    }
}
