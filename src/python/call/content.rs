//! What a call from Python sends, as JSON: by this it is recognised.

use crate::gil::Entries;
use crate::json::{self, NotJson};
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
    let py = args.py();
    let passed_on = passed_on.map(|given| json::from_arguments(given.bind(py))).transpose()?;
    let meta = match meta.map(|meta| json::from_arguments(meta.bind(py))).transpose()? {
        Some(Value::Object(meta)) => meta,
        _ => serde_json::Map::new(),
    };
    Ok(CallContent { arguments: json::from_arguments(args)?, meta, passed_on: passed_on.unwrap_or_default() })
}

/// The same, with a text for each part that is not JSON.
pub fn with_texts(
    args: &Bound<'_, PyAny>,
    meta: Option<&Py<PyAny>>,
    passed_on: Option<&Py<PyDict>>,
) -> CallContent {
    let py = args.py();
    let meta = match meta.map(|meta| json::with_texts(meta.bind(py))) {
        Some(Value::Object(meta)) => meta,
        _ => serde_json::Map::new(),
    };
    let passed_on = passed_on.map(|given| json::with_texts(given.bind(py))).unwrap_or_default();
    CallContent { arguments: json::with_texts(args), meta, passed_on }
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
