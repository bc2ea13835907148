//! Work on large Python values in slices, so that other threads get the GIL in between.
//!
//! Between two slices other threads may change a container that is being read. Lists are read by index and end where they
//! end. Dicts are read with [`Entries`], which notices when one has changed.

use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Work on fewer characters than this is done before the GIL could be taken again.
const SHORT: usize = 4_000;
/// The most values in a slice: usually well below a millisecond of work.
const SLICE: u32 = 4_000;
/// The most time in a slice. Some values cost more than others, and so does every value on a slow machine.
const SLICE_TIME: Duration = Duration::from_micros(500);
/// The clock is read after this many values, so small calls never read it.
const BLOCK: u32 = 250;
/// A thread that waits for the GIL must wake up before this one takes it again.
const PAUSE: Duration = Duration::from_micros(20);

static PAUSES: AtomicU64 = AtomicU64::new(0);

/// The number of times that the GIL was released for a long text or between two slices, in this process.
#[pyfunction]
pub fn gil_pauses() -> u64 {
    PAUSES.load(Ordering::Relaxed)
}

/// Does work on a text of this size, without the GIL unless it is short.
pub fn released<T: Send>(py: Python<'_>, size: usize, work: impl FnOnce() -> T + Send) -> T {
    if size <= SHORT {
        return work();
    }
    PAUSES.fetch_add(1, Ordering::Relaxed);
    py.detach(work)
}

/// Counts the values of one piece of work.
pub struct Slices {
    /// Values until the clock is read.
    left: u32,
    /// Blocks until the slice is full.
    blocks: u32,
    /// When the slice began; known from its first block on.
    since: Option<Instant>,
}

impl Slices {
    pub fn new() -> Self {
        Slices { left: BLOCK, blocks: SLICE / BLOCK, since: None }
    }

    /// Counts a value. Lets other threads run when the slice is full.
    #[inline]
    pub fn step(&mut self, py: Python<'_>) {
        self.step_by(py, 1);
    }

    /// Counts several values at once.
    #[inline]
    pub fn step_by(&mut self, py: Python<'_>, values: u32) {
        if values < self.left {
            self.left -= values;
        } else {
            self.end_block(py, values);
        }
    }

    #[cold]
    fn end_block(&mut self, py: Python<'_>, values: u32) {
        let ended = 1 + (values - self.left) / BLOCK;
        self.left = BLOCK - (values - self.left) % BLOCK;
        if ended >= self.blocks || self.since.is_some_and(|since| since.elapsed() >= SLICE_TIME) {
            PAUSES.fetch_add(1, Ordering::Relaxed);
            py.detach(|| std::thread::sleep(PAUSE));
            (self.blocks, self.since) = (SLICE / BLOCK, Some(Instant::now()));
        } else {
            self.blocks -= ended;
            self.since.get_or_insert_with(Instant::now);
        }
    }
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
