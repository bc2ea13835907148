//! Python objects that are imported or made at first use and kept, safe to fork at any moment.
//!
//! `PyOnceLock` (and with it `pyo3::intern!`) releases the GIL while it holds its lock. If another thread forks at that
//! moment, the child inherits a lock that no thread will release, and its first reader blocks forever. Here the value is
//! made first and stored afterwards, as one pointer: the child of a fork finds either nothing or a complete value, with or
//! without a GIL. Two threads may make the same value; the first one stored is kept.

use crate::prelude::*;
use pyo3::{PyClass, ffi};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A value that is stored once.
pub struct ForkSafeOnce<T: Send + Sync + 'static>(AtomicPtr<T>);

impl<T: Send + Sync + 'static> ForkSafeOnce<T> {
    pub const fn new() -> Self {
        ForkSafeOnce(AtomicPtr::new(null_mut()))
    }

    #[inline]
    fn get(&self) -> Option<&T> {
        // SAFETY: null, or a value that is neither changed nor dropped before this; it was complete before it was stored.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    fn keep_first(&self, value: T) -> &T {
        let made = Box::into_raw(Box::new(value));
        match self.0.compare_exchange(null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: just stored, and neither changed nor dropped before this.
            Ok(_) => unsafe { &*made },
            Err(first) => {
                // SAFETY: ours alone, because it was not stored.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: as in `get`; only a complete value is stored, never null.
                unsafe { &*first }
            }
        }
    }

    pub fn get_or_try_init(&self, _py: Python<'_>, make: impl FnOnce() -> PyResult<T>) -> PyResult<&T> {
        match self.get() {
            Some(value) => Ok(value),
            None => make().map(|value| self.keep_first(value)),
        }
    }
}

impl<T: Send + Sync + 'static> Drop for ForkSafeOnce<T> {
    fn drop(&mut self) {
        let value = *self.0.get_mut();
        if !value.is_null() {
            // SAFETY: made by `Box::into_raw`, and nothing refers to it any more.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

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
        let make = || self.string.keep_first(PyString::intern(py, self.text).unbind());
        self.string.get().unwrap_or_else(make).bind(py)
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
        let import = || Ok(py.import(self.module)?.getattr(self.name)?.unbind());
        self.object.get_or_try_init(py, import).map(|object| object.bind(py))
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
            unsafe { Bound::from_owned_ptr_or_err(py, made) }.map(Bound::unbind)
        };
        self.object.get_or_try_init(py, make).map(|variable| variable.bind(py))
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
