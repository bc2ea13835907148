//! Values that are made once for each process, safe to fork at any moment.
//!
//! `PyOnceLock` (and with it `pyo3::intern!`) releases the GIL while it holds its lock. If another thread forks at that
//! moment, the child inherits a lock that no thread will release, and its first reader blocks forever. Here the value is
//! made first and stored afterwards, in one step under the GIL. A fork needs the GIL, so the child finds either nothing
//! or a complete value. Two threads may make the same value; the first one stored is kept.

use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::OnceLock;

pub struct ForkSafeOnce<T>(OnceLock<T>);

impl<T> ForkSafeOnce<T> {
    pub const fn new() -> Self {
        ForkSafeOnce(OnceLock::new())
    }

    pub fn get_or_try_init(&self, _py: Python<'_>, make: impl FnOnce() -> PyResult<T>) -> PyResult<&T> {
        if let Some(value) = self.0.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.0.get_or_init(|| value))
    }
}

/// The value behind [`intern!`].
pub struct Interned {
    text: &'static str,
    string: OnceLock<Py<PyString>>,
}

impl Interned {
    pub const fn new(text: &'static str) -> Self {
        Interned { text, string: OnceLock::new() }
    }

    #[inline]
    pub fn get<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        let string = self.string.get().unwrap_or_else(|| {
            let string = PyString::intern(py, self.text).unbind();
            self.string.get_or_init(|| string)
        });
        string.bind(py)
    }
}

/// A Python string that is made at first use and kept: `pyo3::intern!`, safe to fork.
macro_rules! intern {
    ($py:expr, $text:expr) => {{
        static INTERNED: $crate::bindings::once::Interned = $crate::bindings::once::Interned::new($text);
        INTERNED.get($py)
    }};
}
pub(crate) use intern;
