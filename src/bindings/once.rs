//! Values that are made once for each process, and that a fork cannot leave half made.
//!
//! `PyOnceLock` (and with it `pyo3::intern!`) lets go of the GIL while it already holds its lock. If another thread
//! forks at that moment, nobody in the child ever ends what was begun, and the first one there who asks waits for ever.
//! Here the value is made first and stored after, in one step under the GIL; who forks holds the GIL, so the child finds
//! either nothing or a whole value. Two threads may make the same value, and the first one stored is kept.

use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::OnceLock;

pub struct Once<T>(OnceLock<T>);

impl<T> Once<T> {
    pub const fn new() -> Self {
        Once(OnceLock::new())
    }

    pub fn get_or_try_init(&self, _py: Python<'_>, make: impl FnOnce() -> PyResult<T>) -> PyResult<&T> {
        if let Some(value) = self.0.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.0.get_or_init(|| value))
    }
}

/// What stands behind [`intern!`].
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
