//! A Python string, or its start, as Rust's text, read straight from where Python keeps it.
//!
//! Python has an encoder for the same, but it works on whole strings and keeps what it made; for Chinese it is also several
//! times slower than what is here.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyStringData};
use std::borrow::Cow;

/// So many characters are looked at together.
const BLOCK: usize = 16;

/// The first `chars` characters, or all. Lone surrogates, which no valid text has, become replacement characters.
pub fn start_of(text: &Bound<'_, PyString>, chars: usize) -> PyResult<String> {
    // SAFETY: the string lives as long as its data is read; strings do not change, and CPython is what we build for.
    let data = unsafe { text.data()? };
    Ok(match data {
        PyStringData::Ucs1(bytes) => narrow(&bytes[..chars.min(bytes.len())]),
        PyStringData::Ucs2(units) => wide(&units[..chars.min(units.len())]),
        PyStringData::Ucs4(units) => units.iter().take(chars).map(|unit| valid(*unit)).collect(),
    })
}

/// All of it: borrowed where Python keeps it in that form, made otherwise.
pub fn all_of<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    // SAFETY: as above.
    match unsafe { text.data()? } {
        // SAFETY: ASCII is UTF-8.
        PyStringData::Ucs1(bytes) if bytes.is_ascii() => {
            Ok(Cow::Borrowed(unsafe { std::str::from_utf8_unchecked(bytes) }))
        }
        _ => start_of(text, usize::MAX).map(Cow::Owned),
    }
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
            let (places, _) = bytes[at..at + BLOCK * 3].as_chunks_mut::<3>();
            places.iter_mut().zip(block).for_each(|(place, unit)| *place = three(*unit));
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
