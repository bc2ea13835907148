//! Python values in the form that a check has given their JSON. What did not change stays the object that it is.

use crate::values::json;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
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

/// The JSON with an integer for each float of a size that has no fractions.
pub fn with_whole_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.as_str().contains(['.', 'e', 'E']) => {
            let float = number.as_f64().filter(|float| float.is_finite() && float.abs() >= LARGE_FLOAT);
            let whole = float.and_then(|float| format!("{float:.0}").parse().ok());
            Value::Number(whole.unwrap_or_else(|| number.clone()))
        }
        Value::Array(items) => items.iter().map(with_whole_numbers).collect(),
        Value::Object(map) => {
            map.iter().map(|(name, item)| (name.clone(), with_whole_numbers(item))).collect()
        }
        other => other.clone(),
    }
}

fn is_sequence(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>()
}
