//! A Python string, or its start, as Rust's text, read straight from where Python keeps it.
//!
//! Python has an encoder for the same, but it works on whole strings and keeps what it made; for Chinese it is also several
//! times slower than what is here.

use crate::runtime::gil::released;
use crate::values::errors::class_of;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyStringData};
use std::borrow::Cow;
use std::fmt::Write;

/// The number of characters that are read together.
const BLOCK: usize = 16;

/// An argument that has to be text, or an error that names it.
pub fn as_text<'a, 'py>(what: &str, value: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyString>> {
    value
        .cast::<PyString>()
        .map_err(|_| PyTypeError::new_err(format!("{what} must be text, got {}", class_of(value))))
}

/// The first `chars` characters, or all. Lone surrogates, which no valid text has, become replacement characters.
pub fn start_of(text: &Bound<'_, PyString>, chars: usize) -> PyResult<String> {
    // SAFETY: the string lives as long as its data is read; strings do not change, and CPython is what we build for.
    let start = match unsafe { text.data()? } {
        PyStringData::Ucs1(bytes) => PyStringData::Ucs1(&bytes[..chars.min(bytes.len())]),
        PyStringData::Ucs2(units) => PyStringData::Ucs2(&units[..chars.min(units.len())]),
        PyStringData::Ucs4(units) => PyStringData::Ucs4(&units[..chars.min(units.len())]),
    };
    Ok(released(text.py(), text.len()?.min(chars), || decoded(start)))
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
    Ok(Cow::Owned(released(text.py(), text.len()?, || decoded(data))))
}

fn decoded(data: PyStringData<'_>) -> String {
    match data {
        PyStringData::Ucs1(bytes) => narrow(bytes),
        PyStringData::Ucs2(units) => wide(units),
        PyStringData::Ucs4(units) => units.iter().map(|unit| valid(*unit)).collect(),
    }
}

/// `None` if it has lone surrogates.
fn decoded_exactly(data: PyStringData<'_>) -> Option<String> {
    let is_valid = match data {
        PyStringData::Ucs1(_) => true,
        PyStringData::Ucs2(units) => !units.iter().any(|unit| (0xd800..=0xdfff).contains(unit)),
        PyStringData::Ucs4(units) => units.iter().all(|unit| char::from_u32(*unit).is_some()),
    };
    is_valid.then(|| decoded(data))
}

/// True for a string of ASCII, which Python knows of each string.
#[cfg(not(Py_3_14))]
fn is_ascii(text: &Bound<'_, PyString>, _bytes: &[u8]) -> bool {
    // SAFETY: the string is alive, and its data were read: it is ready.
    unsafe { ffi::PyUnicode_IS_ASCII(text.as_ptr()) != 0 }
}

/// True for a string of ASCII. From 3.14 on, PyO3 cannot ask Python.
#[cfg(Py_3_14)]
fn is_ascii(text: &Bound<'_, PyString>, bytes: &[u8]) -> bool {
    released(text.py(), bytes.len(), || bytes.is_ascii())
}

/// Writes a text as JSON does, in quotes; `None` if it has lone surrogates.
pub fn write_quoted(text: &Bound<'_, PyString>, out: &mut String) -> Option<()> {
    // SAFETY: as above.
    let data = unsafe { text.data().ok()? };
    released(text.py(), text.len().ok()?, || {
        out.push('"');
        match data {
            PyStringData::Ucs1(bytes) if bytes.is_ascii() => {
                // SAFETY: ASCII is UTF-8.
                write_escaped(unsafe { std::str::from_utf8_unchecked(bytes) }, out);
            }
            data => write_escaped(&decoded_exactly(data)?, out),
        }
        out.push('"');
        Some(())
    })
}

/// Writes a text with the escapes of JSON: of quotes, backslashes and all control characters.
fn write_escaped(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let mut written = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let (escape, len) = match byte {
            b'"' => ("\\\"", 1),
            b'\\' => ("\\\\", 1),
            b'\n' => ("\\n", 1),
            b'\r' => ("\\r", 1),
            b'\t' => ("\\t", 1),
            0x08 => ("\\b", 1),
            0x0c => ("\\f", 1),
            0..0x20 | 0x7f => ("", 1),
            // U+0080 to U+009F
            0xc2 if bytes.get(at + 1).is_some_and(|next| *next < 0xa0) => ("", 2),
            _ => continue,
        };
        out.push_str(&text[written..at]);
        if escape.is_empty() {
            // The last byte is the code, below U+00A0. Writing to a String cannot fail.
            let _ = write!(out, "\\u{:04x}", bytes[at + len - 1]);
        } else {
            out.push_str(escape);
        }
        written = at + len;
    }
    out.push_str(&text[written..]);
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
    text.py().detach(|| decoded_exactly(data))
}

/// A text as a Python string. The characters of a long one are written without the GIL.
pub fn string<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    if text.len() <= LONG {
        return Ok(short(py, text));
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

/// A short text as a Python string. Most are ASCII, which Python would look for in three steps.
pub fn short<'py>(py: Python<'py>, text: &str) -> Bound<'py, PyString> {
    if !text.is_ascii() {
        return PyString::new(py, text);
    }
    // SAFETY: the new string has room for the bytes, which are its characters, and no other code can see it yet. Without
    // memory there is none, which PyO3 knows how to say.
    unsafe {
        let object = ffi::PyUnicode_New(text.len() as ffi::Py_ssize_t, 0x7f);
        let Some(string) = Bound::from_owned_ptr_or_opt(py, object) else { return PyString::new(py, text) };
        if !text.is_empty() {
            // The empty string is a shared object.
            std::ptr::copy_nonoverlapping(text.as_ptr(), ffi::PyUnicode_DATA(object).cast(), text.len());
        }
        string.cast_into_unchecked()
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

/// The characters as Python keeps them. Two strings are equal if these are: Python uses the narrowest form for each.
pub fn raw<'a>(text: &'a Bound<'_, PyString>) -> PyResult<&'a [u8]> {
    // SAFETY: as above.
    Ok(match unsafe { text.data()? } {
        PyStringData::Ucs1(bytes) => bytes,
        // SAFETY: any bytes are valid, and their number is that of the units.
        PyStringData::Ucs2(units) => unsafe {
            std::slice::from_raw_parts(units.as_ptr().cast(), size_of_val(units))
        },
        // SAFETY: as above.
        PyStringData::Ucs4(units) => unsafe {
            std::slice::from_raw_parts(units.as_ptr().cast(), size_of_val(units))
        },
    })
}

fn valid(unit: u32) -> char {
    char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn narrow(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(ascii) if ascii.is_ascii() => ascii.to_owned(),
        _ => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Text of two bytes a character. Most of it is in scripts that take three bytes in UTF-8: whole blocks of these are written
/// without a look at each.
fn wide(units: &[u16]) -> String {
    let mut bytes = vec![0; units.len() * 3];
    let mut at = 0;
    let (blocks, rest) = units.as_chunks::<BLOCK>();
    for block in blocks {
        if block.iter().fold(true, |all, unit| all & takes_three(*unit)) {
            let (slots, _) = bytes[at..at + BLOCK * 3].as_chunks_mut::<3>();
            slots.iter_mut().zip(block).for_each(|(place, unit)| *place = three(*unit));
            at += BLOCK * 3;
        } else {
            at = one_by_one(block, &mut bytes, at);
        }
    }
    at = one_by_one(rest, &mut bytes, at);
    bytes.truncate(at);
    // SAFETY: only whole encodings of valid characters were written.
    unsafe { String::from_utf8_unchecked(bytes) }
}

fn one_by_one(units: &[u16], bytes: &mut [u8], mut at: usize) -> usize {
    for unit in units {
        at += valid(u32::from(*unit)).encode_utf8(&mut bytes[at..at + 3]).len();
    }
    at
}

fn takes_three(unit: u16) -> bool {
    (unit >= 0x800) & !(0xd800..=0xdfff).contains(&unit)
}

fn three(unit: u16) -> [u8; 3] {
    [0xe0 | (unit >> 12) as u8, 0x80 | ((unit >> 6) & 0x3f) as u8, 0x80 | (unit & 0x3f) as u8]
}
