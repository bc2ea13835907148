//! Letting other threads have the GIL while a long text is read or written, and reading what they may change meanwhile.

use crate::prelude::*;
use pyo3::ffi;
use pyo3::sync::critical_section::with_critical_section;
use std::sync::atomic::{AtomicU64, Ordering};

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
        let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the dict is alive, and nobody changes it here: the GIL is held, or the dict's lock where there is no GIL.
        // Any position is allowed, and both references become owned before other code can run.
        with_critical_section(self.dict, || unsafe {
            let found =
                ffi::PyDict_Next(self.dict.as_ptr(), &raw mut self.position, &raw mut key, &raw mut value);
            (found != 0).then(|| Ok((Bound::from_borrowed_ptr(py, key), Bound::from_borrowed_ptr(py, value))))
        })
    }
}
