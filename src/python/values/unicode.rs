//! A Python string, or its start, as Rust's text, read straight from where Python keeps it.
//!
//! Python has an encoder for the same, but it works on whole strings and keeps what it made.

use crate::prelude::*;
use crate::runtime::interpreter::released;
use pyo3::ffi;
use pyo3::types::PyStringData;
use std::borrow::Cow;

/// The first `chars` characters, or all. Lone surrogates, which no valid text has, become replacement characters.
pub fn start_of(text: &Bound<'_, PyString>, chars: usize) -> PyResult<String> {
    // SAFETY: the string lives as long as its data is read; strings do not change, and CPython is what we build for.
    let start = match unsafe { text.data()? } {
        PyStringData::Ucs1(bytes) => PyStringData::Ucs1(&bytes[..chars.min(bytes.len())]),
        PyStringData::Ucs2(units) => PyStringData::Ucs2(&units[..chars.min(units.len())]),
        PyStringData::Ucs4(units) => PyStringData::Ucs4(&units[..chars.min(units.len())]),
    };
    Ok(released(text.py(), text.len()?.min(chars), || decoded(start, LOSSY)).unwrap_or_default())
}

/// All of it: borrowed where Python keeps it in that form, made otherwise.
pub fn all_of<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    // SAFETY: as above.
    let data = unsafe { text.data()? };
    if let PyStringData::Ucs1(bytes) = data
        && is_ascii(text, bytes)
    {
        // SAFETY: ASCII is UTF-8.
        return Ok(Cow::Borrowed(unsafe { std::str::from_utf8_unchecked(bytes) }));
    }
    Ok(Cow::Owned(released(text.py(), text.len()?, || decoded(data, LOSSY)).unwrap_or_default()))
}

/// Whether it is valid text: it has no lone surrogates.
pub fn is_valid(text: &Bound<'_, PyString>) -> bool {
    // SAFETY: as above.
    let data = unsafe { text.data() };
    released(text.py(), text.len().unwrap_or_default(), || match data {
        Ok(PyStringData::Ucs1(_)) => true,
        Ok(PyStringData::Ucs2(units)) => units.iter().all(|unit| !matches!(unit, 0xd800..0xe000)),
        Ok(PyStringData::Ucs4(units)) => units.iter().all(|unit| !matches!(unit, 0xd800..0xe000)),
        Err(_) => false,
    })
}

/// What stands for a lone surrogate where the text may be another.
const LOSSY: Option<char> = Some(char::REPLACEMENT_CHARACTER);

/// With `lone` in the place of lone surrogates; `None` if it has some and nothing stands for them.
fn decoded(data: PyStringData<'_>, lone: Option<char>) -> Option<String> {
    // Room for most texts: that of a longer one grows.
    let mut text = String::with_capacity(data.as_bytes().len());
    let mut push = |unit: u32| char::from_u32(unit).or(lone).map(|letter| text.push(letter));
    match data {
        PyStringData::Ucs1(bytes) => match std::str::from_utf8(bytes) {
            Ok(ascii) if ascii.is_ascii() => text.push_str(ascii),
            _ => text.extend(bytes.iter().copied().map(char::from)),
        },
        PyStringData::Ucs2(units) => units.iter().try_for_each(|unit| push(u32::from(*unit)))?,
        PyStringData::Ucs4(units) => units.iter().try_for_each(|unit| push(*unit))?,
    }
    Some(text)
}

/// True for a string of ASCII, which Python knows of each string.
#[cfg(not(Py_3_14))]
fn is_ascii(text: &Bound<'_, PyString>, _bytes: &[u8]) -> bool {
    // SAFETY: the string is alive, and its data were read: it is ready.
    unsafe { pyo3::ffi::PyUnicode_IS_ASCII(text.as_ptr()) != 0 }
}

/// True for a string of ASCII. From 3.14 on, PyO3 cannot ask Python.
#[cfg(Py_3_14)]
fn is_ascii(text: &Bound<'_, PyString>, bytes: &[u8]) -> bool {
    released(text.py(), bytes.len(), || bytes.is_ascii())
}

/// A longer text is converted without the GIL.
const LONG: usize = 64 * 1024;

/// A copy of its own; `None` if it has lone surrogates.
pub fn owned(text: &Bound<'_, PyString>) -> Option<String> {
    if text.len().ok()? <= LONG {
        return text.to_str().ok().map(str::to_owned);
    }
    // SAFETY: as above. Strings do not change, and the reference keeps this one alive.
    let data = unsafe { text.data().ok()? };
    text.py().detach(|| decoded(data, None))
}

/// A text as a Python string. The characters of a long one are written without the GIL.
pub fn string<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    if text.len() <= LONG {
        return Ok(PyString::new(py, text));
    }
    let (count, largest) = py.detach(|| {
        if text.is_ascii() {
            return (text.len(), '\u{7f}');
        }
        text.chars().fold((0, '\u{80}'), |(count, largest), letter| (count + 1, largest.max(letter)))
    });
    // SAFETY: the new string has room for `count` characters as wide as the largest one. No other code can see it before
    // it is returned, so its characters may be written without the GIL.
    unsafe {
        let object = ffi::PyUnicode_New(count as ffi::Py_ssize_t, u32::from(largest));
        let string = Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked::<PyString>();
        let place = ffi::PyUnicode_DATA(object) as usize;
        py.detach(|| match u32::from(largest) {
            0..0x80 => std::ptr::copy_nonoverlapping(text.as_ptr(), place as *mut u8, count),
            0x80..0x100 => write_units(text, place as *mut u8, |letter| letter as u8),
            0x100..0x1_0000 => write_units(text, place as *mut u16, |letter| letter as u16),
            _ => write_units(text, place as *mut u32, u32::from),
        });
        Ok(string)
    }
}

/// Writes the characters one after another.
///
/// # Safety
/// There must be room for all of them.
unsafe fn write_units<T>(text: &str, place: *mut T, unit: impl Fn(char) -> T) {
    for (at, letter) in text.chars().enumerate() {
        // SAFETY: the caller has made room.
        unsafe { place.add(at).write(unit(letter)) };
    }
}
