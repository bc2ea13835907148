//! A Python value as JSON text, as `readable` in `toolhub/_plain.py` writes it.
//!
//! `json.dumps` holds the GIL from the beginning to the end. Here a long text is written without it.

use crate::runtime::gil::Entries;
use crate::runtime::lazy_import::Imported;
use crate::values::unicode;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::fmt::Write;

/// Deeper values are left to Python, which has to find out whether they are cyclic.
const MAX_DEPTH: usize = 60;

/// The text; `None` for a value that Python has to write: with subclasses of the plain types, names of other types, text that
/// is not valid Unicode, or nested deeply.
pub fn json_text(value: &Bound<'_, PyAny>) -> Option<String> {
    let mut writer = JsonWriter { text: String::new() };
    writer.value(value, 0)?;
    Some(writer.text)
}

struct JsonWriter {
    text: String,
}

impl JsonWriter {
    fn value(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        if let Ok(text) = value.cast_exact::<PyString>() {
            return unicode::write_quoted(text, &mut self.text);
        }
        if let Ok(dict) = value.cast_exact::<PyDict>() {
            return self.mapping(dict, depth);
        }
        if let Ok(list) = value.cast_exact::<PyList>() {
            return self.items(list.iter(), depth);
        }
        if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            return self.items(tuple.iter(), depth);
        }
        if self.plain(value)? {
            return Some(());
        }
        let is_subclass = value.is_instance_of::<PyString>()
            || value.is_instance_of::<PyInt>()
            || value.is_instance_of::<PyFloat>()
            || value.is_instance_of::<PyDict>()
            || value.is_instance_of::<PyList>()
            || value.is_instance_of::<PyTuple>();
        if is_subclass {
            return None;
        }
        static SHOWN: Imported = Imported::new("toolhub._plain", "_shown");
        let shown = SHOWN.get(value.py()).and_then(|shown| shown.call1((value,))).ok()?;
        unicode::write_quoted(shown.cast_exact::<PyString>().ok()?, &mut self.text)
    }

    /// A number, a truth value or null. False for anything else, `None` for a number that Python has to write.
    fn plain(&mut self, value: &Bound<'_, PyAny>) -> Option<bool> {
        if value.is_none() {
            self.text.push_str("null");
        } else if let Ok(flag) = value.cast_exact::<PyBool>() {
            self.text.push_str(if flag.is_true() { "true" } else { "false" });
        } else if value.is_exact_instance_of::<PyInt>() {
            match value.extract::<i64>() {
                Ok(number) => write!(self.text, "{number}").ok()?,
                Err(_) => self.text.push_str(value.repr().ok()?.to_str().ok()?),
            }
        } else if let Ok(float) = value.cast_exact::<PyFloat>() {
            match float.value() {
                number if number.is_nan() => self.text.push_str("NaN"),
                f64::INFINITY => self.text.push_str("Infinity"),
                f64::NEG_INFINITY => self.text.push_str("-Infinity"),
                _ => self.text.push_str(value.repr().ok()?.to_str().ok()?),
            }
        } else {
            return Some(false);
        }
        Some(true)
    }

    fn mapping(&mut self, dict: &Bound<'_, PyDict>, depth: usize) -> Option<()> {
        self.text.push('{');
        for (at, entry) in Entries::of(dict).enumerate() {
            let (key, value) = entry.ok()?;
            if at > 0 {
                self.text.push_str(", ");
            }
            if let Ok(name) = key.cast_exact::<PyString>() {
                unicode::write_quoted(name, &mut self.text)?;
            } else {
                self.text.push('"');
                if !self.plain(&key)? {
                    return None;
                }
                self.text.push('"');
            }
            self.text.push_str(": ");
            self.value(&value, depth + 1)?;
        }
        self.text.push('}');
        Some(())
    }

    fn items<'py>(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>, depth: usize) -> Option<()> {
        self.text.push('[');
        for (at, item) in items.enumerate() {
            if at > 0 {
                self.text.push_str(", ");
            }
            self.value(&item, depth + 1)?;
        }
        self.text.push(']');
        Some(())
    }
}
