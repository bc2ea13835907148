//! Python values in the form that a check has given their JSON. What did not change stays the object that it is.

use crate::runtime::fork_safe_once::intern;
use crate::runtime::gil::Entries;
use crate::values::json;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList, PyTuple};
use serde_json::Value;

/// From here on every float is a whole number.
const LARGE_FLOAT: f64 = 9_007_199_254_740_992.0;

/// The Python value for `after`, given that of `before`. Containers with a change inside are new, because two arguments may
/// share one.
pub fn patched<'py>(value: &Bound<'py, PyAny>, before: &Value, after: &Value) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    match (before, after) {
        _ if before == after => Ok(value.clone()),
        (Value::Object(before), Value::Object(after)) if value.is_instance_of::<PyDict>() => {
            let dict = value.cast::<PyDict>()?.copy()?;
            for name in before.keys().filter(|name| !after.contains_key(*name)) {
                dict.del_item(name)?;
            }
            for (name, new) in after {
                let item = match (before.get(name), dict.get_item(name)?) {
                    (Some(old), Some(item)) => patched(&item, old, new)?,
                    _ => json::to_python(py, new)?,
                };
                dict.set_item(name, item)?;
            }
            Ok(dict.into_any())
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() && is_sequence(value) => {
            let list = PyList::empty(py);
            for ((item, old), new) in value.try_iter()?.zip(before).zip(after) {
                list.append(patched(&item?, old, new)?)?;
            }
            Ok(list.into_any())
        }
        _ => json::to_python(py, after),
    }
}

/// A copy in which floats of a size that has no fractions are integers; `None` when there are none.
pub fn with_whole_numbers<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let py = value.py();
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        let is_large = number.value().abs() >= LARGE_FLOAT && number.value().is_finite();
        return is_large.then(|| number.call_method0(intern!(py, "__int__")).ok()).flatten();
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        let copy = dict.copy().ok()?;
        let mut changed = false;
        for entry in Entries::of(dict) {
            let (key, item) = entry.ok()?;
            if let Some(whole) = with_whole_numbers(&item) {
                copy.set_item(key, whole).ok()?;
                changed = true;
            }
        }
        return changed.then(|| copy.into_any());
    }
    if !is_sequence(value) {
        return None;
    }
    let (list, mut changed) = (PyList::empty(py), false);
    for item in value.try_iter().ok()? {
        let item = item.ok()?;
        let whole = with_whole_numbers(&item);
        changed |= whole.is_some();
        list.append(whole.unwrap_or(item)).ok()?;
    }
    changed.then(|| list.into_any())
}

fn is_sequence(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>()
}
