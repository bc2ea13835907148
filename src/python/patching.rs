//! Python values in the form that a check has given their JSON. What did not change stays the object that it is.

use super::gil::Entries;
use super::json;
use super::once::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList, PyTuple};
use serde_json::Value;

/// From here on every float is a whole number.
const LARGE_FLOAT: f64 = 9_007_199_254_740_992.0;

/// What differs between two JSON values.
enum ValuePatch<'a> {
    Nothing,
    /// Nothing of it is the same.
    Whole,
    /// Names that are gone, and those with a new value.
    Members(Vec<&'a str>, Vec<(&'a str, ValuePatch<'a>)>),
    Items(Vec<ValuePatch<'a>>),
}

impl<'a> ValuePatch<'a> {
    fn between(before: &'a Value, after: &'a Value) -> Self {
        match (before, after) {
            (Value::Object(before), Value::Object(after)) => {
                let gone: Vec<&str> =
                    before.keys().filter(|name| !after.contains_key(*name)).map(String::as_str).collect();
                let changes = after.iter().filter_map(|(name, new)| {
                    let change =
                        before.get(name).map_or(ValuePatch::Whole, |old| ValuePatch::between(old, new));
                    (!matches!(change, ValuePatch::Nothing)).then_some((name.as_str(), change))
                });
                let changes: Vec<_> = changes.collect();
                if gone.is_empty() && changes.is_empty() {
                    ValuePatch::Nothing
                } else {
                    ValuePatch::Members(gone, changes)
                }
            }
            (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
                let items: Vec<_> =
                    before.iter().zip(after).map(|(old, new)| ValuePatch::between(old, new)).collect();
                if items.iter().all(|item| matches!(item, ValuePatch::Nothing)) {
                    ValuePatch::Nothing
                } else {
                    ValuePatch::Items(items)
                }
            }
            _ if before == after => ValuePatch::Nothing,
            _ => ValuePatch::Whole,
        }
    }
}

/// The Python value for `after`, given that of `before`. Containers with a change inside are new, because two arguments may
/// share one.
pub fn patched<'py>(value: &Bound<'py, PyAny>, before: &Value, after: &Value) -> PyResult<Bound<'py, PyAny>> {
    apply(value, &ValuePatch::between(before, after), after)
}

fn apply<'py>(
    value: &Bound<'py, PyAny>,
    change: &ValuePatch<'_>,
    after: &Value,
) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    match change {
        ValuePatch::Nothing => Ok(value.clone()),
        ValuePatch::Members(gone, changes) if value.is_instance_of::<PyDict>() => {
            let dict = value.cast::<PyDict>()?.copy()?;
            for name in gone {
                dict.del_item(name)?;
            }
            for (name, change) in changes {
                let new = match dict.get_item(name)? {
                    Some(item) => apply(&item, change, &after[*name])?,
                    None => json::to_python(py, &after[*name])?,
                };
                dict.set_item(name, new)?;
            }
            Ok(dict.into_any())
        }
        ValuePatch::Items(changes) if is_sequence(value) => {
            let list = PyList::empty(py);
            for ((item, change), after) in
                value.try_iter()?.zip(changes).zip(after.as_array().into_iter().flatten())
            {
                list.append(apply(&item?, change, after)?)?;
            }
            Ok(list.into_any())
        }
        ValuePatch::Whole | ValuePatch::Members(..) | ValuePatch::Items(_) => json::to_python(py, after),
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
