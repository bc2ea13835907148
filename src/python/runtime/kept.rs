//! Python objects that are imported or made at first use and kept, safe to fork at any moment.
//!
//! `PyOnceLock` (and with it `pyo3::intern!`) releases the GIL while it holds its lock. If another thread forks at that
//! moment, the child inherits a lock that no thread will release, and its first reader blocks forever. Here the value is
//! made first and stored afterwards, as one pointer: the child of a fork finds either nothing or a complete value, with or
//! without a GIL. Two threads may make the same value; the first one stored is kept.

use crate::prelude::*;
use once_cell::race::OnceBox;
use pyo3::{PyClass, ffi};
use std::ffi::CStr;
use std::ptr::null_mut;

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
        static INTERNED: $crate::runtime::kept::Interned = $crate::runtime::kept::Interned::new($text);
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
