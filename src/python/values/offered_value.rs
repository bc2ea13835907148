//! What a function of a resource or a prompt returned, as JSON. Bytes are base64 there: `{"blob": …}` where they stand alone, a
//! text where they are a member, such as the `data` of an image.

use crate::runtime::fork_safe_once::intern;
use crate::runtime::gil::released;
use crate::values::json;
use crate::values::value;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyString, PyTuple};
use serde_json::{Map, Value, json};

/// Values that are nested more deeply have no bytes that count.
const MOST_LEVELS: usize = 16;

pub fn read(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    at_level(value, 0)
}

fn at_level(value: &Bound<'_, PyAny>, level: usize) -> PyResult<Value> {
    if let Some(data) = base64_of(value) {
        return Ok(json!({"blob": data}));
    }
    if level < MOST_LEVELS {
        if let Ok(dict) = value.cast::<PyDict>() {
            return members(dict, level);
        }
        if let Ok(list) = value.cast::<PyList>() {
            return list.iter().map(|item| at_level(&item, level + 1)).collect();
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            return tuple.iter().map(|item| at_level(&item, level + 1)).collect();
        }
        if let Some(dumped) = dumped_model(value)? {
            return at_level(&dumped, level + 1);
        }
    }
    json::from_python(value).or_else(|_| value::readable(value).map(Value::String))
}

fn members(dict: &Bound<'_, PyDict>, level: usize) -> PyResult<Value> {
    let mut map = Map::with_capacity(dict.len());
    for (key, value) in dict.copy()? {
        let Ok(key) = key.cast_into::<PyString>() else {
            // Not JSON, so it is shown as text.
            return value::readable(dict.as_any()).map(Value::String);
        };
        let value = match base64_of(&value) {
            Some(data) => Value::String(data),
            None => at_level(&value, level + 1)?,
        };
        map.insert(key.to_string_lossy().into_owned(), value);
    }
    Ok(Value::Object(map))
}

fn base64_of(value: &Bound<'_, PyAny>) -> Option<String> {
    let encoded = |bytes: &[u8]| released(value.py(), bytes.len(), || BASE64_STANDARD.encode(bytes));
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Some(encoded(bytes.as_bytes()));
    }
    Some(encoded(&value.cast::<PyByteArray>().ok()?.to_vec()))
}

/// A pydantic model with the names of the protocol: the types of the MCP SDK have aliases.
fn dumped_model<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    let kind = value.get_type();
    if !kind.hasattr(intern!(py, "model_dump"))? || !kind.hasattr(intern!(py, "model_fields"))? {
        return Ok(None);
    }
    let options = PyDict::new(py);
    options.set_item(intern!(py, "by_alias"), true)?;
    options.set_item(intern!(py, "exclude_none"), true)?;
    options.set_item(intern!(py, "mode"), "json")?;
    value.call_method(intern!(py, "model_dump"), (), Some(&options)).map(Some)
}
