//! Arguments in a form that is equal for equal arguments.

use crate::bindings::slices::{Entries, Slices, released};
use crate::bindings::unicode::write_quoted;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use std::fmt::Write;

/// Deeper values are not compared.
const MAX_DEPTH: usize = 100;

/// The value as text, with sorted keys. `None` for a value that is not plain JSON: a tuple must not equal a list, nor the
/// key `1` the key `"1"`.
pub fn canonical(value: &Bound<'_, PyAny>) -> Option<String> {
    let mut text = String::new();
    write_value(value, &mut text, 0, &mut Slices::new())?;
    Some(text)
}

fn write_value(value: &Bound<'_, PyAny>, text: &mut String, depth: usize, slices: &mut Slices) -> Option<()> {
    slices.step(value.py());
    if depth > MAX_DEPTH {
        return None;
    }
    if value.is_none() {
        text.push_str("null");
    } else if let Ok(value) = value.cast_exact::<PyString>() {
        write_quoted(value, text)?;
    } else if let Ok(value) = value.cast_exact::<PyBool>() {
        text.push_str(if value.is_true() { "true" } else { "false" });
    } else if value.is_exact_instance_of::<PyInt>() || value.is_exact_instance_of::<PyFloat>() {
        text.push_str(value.repr().ok()?.to_str().ok()?);
    } else if let Ok(items) = value.cast_exact::<PyList>() {
        text.push('[');
        for item in items {
            write_value(&item, text, depth + 1, slices)?;
            text.push(',');
        }
        text.push(']');
    } else {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for entry in Entries::of(value.cast_exact::<PyDict>().ok()?) {
            slices.step(value.py());
            let (key, value) = entry.ok()?;
            names.push(key.cast_exact::<PyString>().ok()?.to_str().ok()?.to_owned());
            values.push(value);
        }
        let sorted = released(value.py(), names.len(), || {
            let mut order: Vec<usize> = (0..names.len()).collect();
            order.sort_by(|a, b| names[*a].cmp(&names[*b]));
            order
        });
        text.push('{');
        for at in sorted {
            write!(text, "{:?}:", names[at]).ok()?;
            write_value(&values[at], text, depth + 1, slices)?;
            text.push(',');
        }
        text.push('}');
    }
    Some(())
}
