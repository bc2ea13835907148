//! What a call from Python sends, as JSON: by this it is recognised.

use crate::runtime::gil::Entries;
use crate::values::json::{self, NotJson};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde_json::Value;
use toolhub::identity::CallContent;

/// Deeper values are not compared.
const MAX_DEPTH: usize = 100;

/// The error says which part is not JSON.
pub fn content(
    args: &Bound<'_, PyAny>,
    meta: Option<&Py<PyAny>>,
    passed_on: Option<&Py<PyDict>>,
) -> Result<CallContent, NotJson> {
    converted(args, meta, passed_on, json::from_arguments)
}

/// The same, with a text for each part that is not JSON.
pub fn with_texts(
    args: &Bound<'_, PyAny>,
    meta: Option<&Py<PyAny>>,
    passed_on: Option<&Py<PyDict>>,
) -> CallContent {
    let converted = converted(args, meta, passed_on, |value| Ok(json::with_texts(value)));
    converted.unwrap_or_default()
}

fn converted(
    args: &Bound<'_, PyAny>,
    meta: Option<&Py<PyAny>>,
    passed_on: Option<&Py<PyDict>>,
    convert: impl Fn(&Bound<'_, PyAny>) -> Result<Value, NotJson>,
) -> Result<CallContent, NotJson> {
    let py = args.py();
    let passed_on = passed_on.map(|given| convert(given.bind(py))).transpose()?.unwrap_or_default();
    let meta = match meta.map(|meta| convert(meta.bind(py))).transpose()? {
        Some(Value::Object(meta)) => meta,
        _ => serde_json::Map::new(),
    };
    Ok(CallContent { arguments: convert(args)?, meta, passed_on })
}

/// Whether a value is JSON as it stands. Only such a value shares a result: a tool can tell a tuple from a list, and an object
/// from what it is converted to.
pub fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    check_plain(value, 0).is_some()
}

fn check_plain(value: &Bound<'_, PyAny>, depth: usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    let is_leaf = value.is_none()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>();
    if is_leaf {
        return Some(());
    }
    if let Ok(items) = value.cast_exact::<PyList>() {
        return items.iter().try_for_each(|item| check_plain(&item, depth + 1));
    }
    for entry in Entries::of(value.cast_exact::<PyDict>().ok()?) {
        let (key, member) = entry.ok()?;
        key.cast_exact::<PyString>().ok()?;
        check_plain(&member, depth + 1)?;
    }
    Some(())
}
