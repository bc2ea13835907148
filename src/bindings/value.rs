//! What a value that a Python tool returned means.

use super::awaiting::is_coroutine;
use super::imported::Imported;
use super::once::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use std::borrow::Cow;

/// Why a returned value is a failure, if it is: nothing, a forgotten `await`, or a mapping with `success: False`.
pub fn failure(value: &Bound<'_, PyAny>) -> Option<Cow<'static, str>> {
    if value.is_none() {
        Some("it returned nothing (None)".into())
    } else if is_coroutine(value) {
        discard(value);
        Some("it returned a coroutine instead of a value; await it inside".into())
    } else {
        reported_failure(value).map(Cow::Owned)
    }
}

/// Lets go of a value that nobody wants. Closing a coroutine keeps Python from warning that it was never awaited.
pub fn discard(value: &Bound<'_, PyAny>) {
    if is_coroutine(value) {
        let _ = value.call_method0(intern!(value.py(), "close"));
    }
}

fn reported_failure(value: &Bound<'_, PyAny>) -> Option<String> {
    if is_plain(value) {
        return None;
    }
    let py = value.py();
    let success = entry(value, intern!(py, "success"))?;
    if success.cast::<PyBool>().map_or(true, |success| success.is_true()) {
        return None;
    }
    let told = entry(value, intern!(py, "error")).filter(|error| !error.is_none());
    let told = told.or_else(|| entry(value, intern!(py, "message")).filter(|message| !message.is_none()));
    Some(match told.and_then(|told| told.str().ok()) {
        Some(text) => text.to_string_lossy().chars().take(1000).collect(),
        None => "it reported success: False without an error".to_owned(),
    })
}

/// Plain values are no mappings; asking Python's `Mapping` about each of them would cost more than the call itself.
fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyList>()
        || value.is_exact_instance_of::<PyTuple>()
}

fn entry<'py>(value: &Bound<'py, PyAny>, key: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    match value.cast::<PyDict>() {
        Ok(dict) => dict.get_item(key).ok().flatten(),
        Err(_) => value.cast::<PyMapping>().ok()?.get_item(key).ok(),
    }
}

/// A value as text, for merging: what a reader would want to see.
pub fn readable(value: &Bound<'_, PyAny>) -> PyResult<String> {
    static READABLE: Imported = Imported::new("toolhub._plain", "readable");
    Ok(READABLE.get(value.py())?.call1((value,))?.str()?.to_string_lossy().into_owned())
}
