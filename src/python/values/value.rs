//! What a value that a Python tool returned means.

use crate::drivers::awaiting::is_coroutine;
use crate::prelude::*;
use crate::values::unicode::start_of;
use pyo3::types::{PyMapping, PyType};
use toolhub::model::{Meaning, NothingMeans, ReportedFailure, ReturnedValue, meaning};

/// What a returned value means: the rule of the core, or a forgotten `await`. `nothing` says what None means for the tool.
pub fn meaning_of(value: &Bound<'_, PyAny>, nothing: impl FnOnce() -> NothingMeans) -> Meaning {
    let is_sequence = || value.is_exact_instance_of::<PyList>() || value.is_exact_instance_of::<PyTuple>();
    if !value.is_none() && (is_scalar(value) || is_sequence()) {
        return Meaning::Value;
    }
    if is_coroutine(value) {
        discard(value);
        return Meaning::Failure(ReportedFailure::NotAwaited);
    }
    let nothing = if value.is_none() { nothing() } else { NothingMeans::Success };
    meaning(&Returned(value.clone()), nothing)
}

/// A value that a tool returned, as the core asks about it.
pub struct Returned<'py>(pub Bound<'py, PyAny>);

impl ReturnedValue for Returned<'_> {
    fn is_nothing(&self) -> bool {
        self.0.is_none()
    }

    fn is_falsy(&self) -> bool {
        // An object that has no truth is there, so it is not falsy.
        !self.0.is_truthy().unwrap_or(true)
    }

    fn entry(&self, key: &'static str) -> Option<Self> {
        let py = self.0.py();
        let key = match key {
            "success" => intern!(py, "success"),
            key => &PyString::new(py, key),
        };
        let found = match self.0.cast::<PyDict>() {
            Ok(dict) => dict.get_item(key).ok().flatten(),
            Err(_) => as_mapping(&self.0)?.get_item(key).ok(),
        };
        found.map(Returned)
    }

    fn shown(&self) -> Option<String> {
        self.0.str().ok().map(|text| text.to_string_lossy().into_owned())
    }
}

/// Drops a value that is not wanted. Closing a coroutine keeps Python from warning that it was never awaited.
pub fn discard(value: &Bound<'_, PyAny>) {
    if is_coroutine(value) {
        let _ = value.call_method0(intern!(value.py(), "close"));
    }
}

/// A plain value that never changes. It is recognised first: asking Python's `Mapping` about each would cost more than a call.
pub fn is_scalar(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_none()
}

/// A value as text: what a reader would want to see.
pub fn readable(value: &Bound<'_, PyAny>) -> PyResult<String> {
    static READABLE: Imported = Imported::new("toolhub._plain", "readable");
    if let Ok(text) = value.cast_exact::<PyString>() {
        return start_of(text, usize::MAX);
    }
    let text = READABLE.get(value.py())?.call1((value,))?;
    start_of(text.cast::<PyString>()?, usize::MAX)
}

/// A tool's own result in a form that runs no code of the user when it is read again: the mapping is read here, once, and
/// may raise whatever it wants. A `ToolResult`, which another call gave, keeps its attributes.
pub fn read_own<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if is_tool_result(value)? {
        return Ok(value.clone());
    }
    let dict = as_dict(value)?;
    // Keys may compare themselves with ours.
    own_result(dict.as_any())?;
    Ok(dict.into_any())
}

/// Whether this is a result of ours. The class decides, because the object itself may say anything about its class.
pub fn is_tool_result(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.get_type().is(tool_result(value.py())?))
}

/// Their class.
pub fn tool_result(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASS: Imported = Imported::new("toolhub.result", "ToolResult");
    CLASS.get(py)
}

/// The result inside a tool's own result: its `result`, or the mapping without `success` and `error`.
pub fn own_result<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let rest = as_dict(value)?;
    if let Some(result) = rest.get_item(intern!(py, "result"))? {
        return Ok(result);
    }
    for key in [intern!(py, "success"), intern!(py, "error"), intern!(py, "_meta")] {
        if rest.contains(key)? {
            rest.del_item(key)?;
        }
    }
    Ok(rest.into_any())
}

/// A new dict with the entries of a mapping.
pub fn as_dict<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(value.py());
    if let Some(mapping) = as_mapping(value) {
        dict.update(mapping)?;
    }
    Ok(dict)
}

/// The object as a mapping; `None` if its class is not one. The class decides, not what the object says about itself: reading
/// `__class__` runs code of the object, which may raise anything.
pub fn as_mapping<'a, 'py>(object: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyMapping>> {
    static MAPPING: Imported = Imported::new("collections.abc", "Mapping");
    let is_mapping = object.is_instance_of::<PyDict>()
        || MAPPING.get(object.py()).is_ok_and(|mapping| {
            mapping.cast::<PyType>().is_ok_and(|mapping| {
                // An error is the object's own: a class that cannot be asked is not a mapping.
                object.get_type().is_subclass(mapping).unwrap_or(false)
            })
        });
    // SAFETY: `PyMapping` is any object; its methods ask the object and may fail.
    is_mapping.then(|| unsafe { object.cast_unchecked::<PyMapping>() })
}
