//! A whole text of Python that is read where Python keeps it, and what was found in it as a text of Python.

use super::gil::released;
use super::unicode::{all_of, string};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::borrow::Cow;
use toolhub::parse::{FoundText, WholeText};

/// All of it, to be kept while it is read: where Python keeps it if it is ASCII, a copy otherwise.
pub fn lent(text: &Bound<'_, PyString>) -> PyResult<WholeText> {
    match all_of(text)? {
        Cow::Borrowed(ascii) => {
            let (start, length) = (ascii.as_ptr() as usize, ascii.len());
            Ok(WholeText::ascii(LentString { start, length, _string: text.clone().unbind() }))
        }
        Cow::Owned(made) => Ok(WholeText::new(made)),
    }
}

/// A string of ASCII that is read where Python keeps it.
struct LentString {
    start: usize,
    length: usize,
    /// Keeps it alive.
    _string: Py<PyString>,
}

impl AsRef<str> for LentString {
    fn as_ref(&self) -> &str {
        // SAFETY: these are the characters of the string, which are ASCII. It does not change, and lives as long as this does.
        unsafe {
            std::str::from_utf8_unchecked(std::slice::from_raw_parts(self.start as *const u8, self.length))
        }
    }
}

/// The text around calls as a Python string.
pub fn joined<'py>(py: Python<'py>, found: &FoundText) -> PyResult<Bound<'py, PyString>> {
    let length = || found.around().map(str::len).sum::<usize>();
    if !found.is_ascii() {
        return string(py, &released(py, length(), || found.around().collect::<String>()));
    }
    let length = length();
    // SAFETY: the new string has room for all pieces, whose bytes are its characters. No other code can see it before it is
    // returned. The empty string is a shared object, but then there is nothing to write.
    unsafe {
        let object = ffi::PyUnicode_New(length as ffi::Py_ssize_t, 0x7f);
        let string = Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked::<PyString>();
        let mut place = ffi::PyUnicode_DATA(object) as usize;
        released(py, length, || {
            prepare(place, length);
            for piece in found.around() {
                std::ptr::copy_nonoverlapping(piece.as_ptr(), place as *mut u8, piece.len());
                place += piece.len();
            }
        });
        Ok(string)
    }
}

/// Asks for the pages of new memory at once: the first write to each of them would be a fault, and these take most of the time
/// that a long text costs.
#[cfg(target_os = "linux")]
fn prepare(start: usize, length: usize) {
    const PAGE: usize = 4 * 1024;
    /// The system call costs as much as a few faults.
    const SHORT: usize = 16 * PAGE;
    let from = start.next_multiple_of(PAGE);
    let to = (start + length) / PAGE * PAGE;
    if length > SHORT {
        // SAFETY: all of these pages are in memory that is about to be written. A kernel that does not know the advice, or has
        // larger pages, refuses it, and they come one by one.
        unsafe { libc::madvise(from as *mut libc::c_void, to - from, libc::MADV_POPULATE_WRITE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn prepare(_start: usize, _length: usize) {}
