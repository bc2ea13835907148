//! JSON that servers and models choose the size of: what takes long with it is done without the GIL.

use pyo3::prelude::*;
use serde_json::Value;
use std::ops::Deref;

/// JSON with fewer values is dropped at once: releasing the GIL would take longer.
const FEW: usize = 1_000;

/// JSON that is dropped without the GIL when it is large.
pub struct LargeJson(Value);

impl From<Value> for LargeJson {
    fn from(value: Value) -> Self {
        LargeJson(value)
    }
}

impl Deref for LargeJson {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl Drop for LargeJson {
    fn drop(&mut self) {
        if is_large(&self.0) {
            let value = std::mem::take(&mut self.0);
            Python::attach(|py| py.detach(|| drop(value)));
        }
    }
}

/// Does work on JSON, without the GIL if the JSON is large.
pub fn without_gil_if<T: Send>(py: Python<'_>, is_large: bool, work: impl FnOnce() -> T + Send) -> T {
    if is_large { py.detach(work) } else { work() }
}

/// Whether work on this JSON takes longer than releasing the GIL.
pub fn is_large(value: &Value) -> bool {
    has_many_values(value, &mut 0)
}

fn has_many_values(value: &Value, counted: &mut usize) -> bool {
    *counted += 1;
    let mut count = |inner: &Value| has_many_values(inner, counted);
    match value {
        Value::Array(items) => items.len() >= FEW || items.iter().any(&mut count),
        Value::Object(map) => map.len() >= FEW || map.values().any(&mut count),
        _ => *counted >= FEW,
    }
}
