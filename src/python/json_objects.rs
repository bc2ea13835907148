//! Python objects from JSON text that the core has checked, without a value in between.
//!
//! A message with many calls has the same names in each of them. They are the same object here, so a dict needs neither a new
//! string nor its hash.

use super::json;
use super::json_to_python;
use super::unicode;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString};
use std::borrow::Cow;
use toolhub::parse::plain_length;
use toolhub::stack;

/// The number of names that are kept; a power of two.
const KEPT: usize = 64;
/// Longer names are not kept.
const LONGEST: usize = 64;

/// Makes the objects of one message.
pub struct JsonObjects<'py> {
    py: Python<'py>,
    names: [Option<(Box<str>, Bound<'py, PyString>)>; KEPT],
}

impl<'py> JsonObjects<'py> {
    pub fn new(py: Python<'py>) -> Self {
        Self { py, names: [const { None }; KEPT] }
    }

    pub fn py(&self) -> Python<'py> {
        self.py
    }

    /// A name as a string, the same one as before if it is still kept.
    pub fn name(&mut self, text: &str) -> Bound<'py, PyString> {
        let (Some(first), Some(last)) = (text.as_bytes().first(), text.as_bytes().last()) else {
            return unicode::short(self.py, text);
        };
        if text.len() > LONGEST {
            return unicode::short(self.py, text);
        }
        let place = text.len().wrapping_mul(31) ^ usize::from(*first) ^ usize::from(*last).wrapping_mul(7);
        let kept = &mut self.names[place % KEPT];
        match kept {
            Some((name, string)) if **name == *text => string.clone(),
            _ => kept.insert((text.into(), unicode::short(self.py, text))).1.clone(),
        }
    }

    /// The object; `None` for a text that is not JSON or nests too deeply for the stack.
    pub fn object(&mut self, json: &str) -> Option<Bound<'py, PyAny>> {
        JsonCursor { objects: self, text: json, at: 0 }.value()
    }
}

struct JsonCursor<'a, 'py> {
    objects: &'a mut JsonObjects<'py>,
    text: &'a str,
    at: usize,
}

impl<'a, 'py> JsonCursor<'a, 'py> {
    fn value(&mut self) -> Option<Bound<'py, PyAny>> {
        let py = self.objects.py;
        match self.peek()? {
            b'"' => self.string().map(|text| unicode::short(py, &text).into_any()),
            b'{' => self.members(),
            b'[' => self.items(),
            b't' => self.word("true", PyBool::new(py, true).to_owned().into_any()),
            b'f' => self.word("false", PyBool::new(py, false).to_owned().into_any()),
            b'n' => self.word("null", py.None().into_bound(py)),
            _ => self.number(),
        }
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.text.as_bytes().get(self.at)? {
                b' ' | b'\n' | b'\t' | b'\r' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    fn members(&mut self) -> Option<Bound<'py, PyAny>> {
        let dict = PyDict::new(self.objects.py);
        self.list(b'}', |cursor| {
            let name = (cursor.peek()? == b'"').then(|| cursor.string())??;
            let name = cursor.objects.name(&name);
            (cursor.peek()? == b':').then(|| cursor.at += 1)?;
            dict.set_item(name, cursor.value()?).ok()
        })?;
        Some(dict.into_any())
    }

    fn items(&mut self) -> Option<Bound<'py, PyAny>> {
        let list = PyList::empty(self.objects.py);
        self.list(b']', |cursor| list.append(cursor.value()?).ok())?;
        Some(list.into_any())
    }

    /// Reads members that commas separate, from the opening bracket to the closing one.
    fn list(&mut self, close: u8, mut member: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if stack::remaining() < json_to_python::LEVEL {
            return None;
        }
        self.at += 1;
        if self.peek()? == close {
            self.at += 1;
            return Some(());
        }
        loop {
            member(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                byte if byte == close => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// The string whose opening quote is here.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at;
        let rest = self.text.get(start + 1..)?;
        let length = plain_length(rest.as_bytes())?;
        if rest.as_bytes()[length] == b'"' {
            self.at = start + length + 2;
            return Some(Cow::Borrowed(&rest[..length]));
        }
        self.escaped(start, start + 1 + length).map(Cow::Owned)
    }

    /// The string from its quote at `start`, whose first escape is at `at`.
    fn escaped(&mut self, start: usize, mut at: usize) -> Option<String> {
        loop {
            match self.text.as_bytes()[at] {
                b'"' => break,
                b'\\' => at += 2,
                _ => return None,
            }
            at += plain_length(self.text.as_bytes().get(at..)?)?;
        }
        self.at = at + 1;
        serde_json::from_str(self.text.get(start..=at)?).ok()
    }

    fn word(&mut self, word: &str, object: Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        self.text.get(self.at..)?.starts_with(word).then(|| {
            self.at += word.len();
            object
        })
    }

    fn number(&mut self) -> Option<Bound<'py, PyAny>> {
        let rest = self.text.get(self.at..)?;
        let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
        let end = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        self.at += end;
        json::number(self.objects.py, &rest[..end]).ok().filter(|_| end > 0)
    }
}
