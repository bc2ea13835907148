//! What a value that a Python tool returned means.

use super::awaiting::is_coroutine;
use super::imported::Imported;
use super::once::intern;
use crate::model::{ReturnedValue, reported_failure};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use std::borrow::Cow;

/// Why a returned value is a failure, if it is: the rule of the core, or a forgotten `await`.
pub fn failure(value: &Bound<'_, PyAny>) -> Option<Cow<'static, str>> {
    if is_coroutine(value) {
        discard(value);
        return Some("it returned a coroutine instead of a value; await it inside".into());
    }
    if is_plain(value) { None } else { reported_failure(value).map(Cow::Owned) }
}

impl ReturnedValue for Bound<'_, PyAny> {
    fn is_nothing(&self) -> bool {
        self.is_none()
    }

    fn is_false(&self) -> bool {
        self.cast::<PyBool>().is_ok_and(|truth| !truth.is_true())
    }

    fn entry(&self, key: &'static str) -> Option<Self> {
        let py = self.py();
        let key = match key {
            "success" => intern!(py, "success"),
            key => &PyString::new(py, key),
        };
        match self.cast::<PyDict>() {
            Ok(dict) => dict.get_item(key).ok().flatten(),
            Err(_) => self.cast::<PyMapping>().ok()?.get_item(key).ok(),
        }
    }

    fn shown(&self) -> Option<String> {
        self.str().ok().map(|text| text.to_string_lossy().into_owned())
    }
}

/// Drops a value that is not wanted. Closing a coroutine keeps Python from warning that it was never awaited.
pub fn discard(value: &Bound<'_, PyAny>) {
    if is_coroutine(value) {
        let _ = value.call_method0(intern!(value.py(), "close"));
    }
}

/// Plain values are not mappings. Asking Python's `Mapping` about each of them would cost more than the call itself.
fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyList>()
        || value.is_exact_instance_of::<PyTuple>()
}

/// A value as text, for merging: what a reader would want to see.
pub fn readable(value: &Bound<'_, PyAny>) -> PyResult<String> {
    static READABLE: Imported = Imported::new("toolhub._plain", "readable");
    Ok(READABLE.get(value.py())?.call1((value,))?.str()?.to_string_lossy().into_owned())
}
