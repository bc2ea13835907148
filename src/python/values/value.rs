//! What Python tools returned, and results as values: mappings, text, copies and sizes.

use crate::drivers::awaiting::is_coroutine;
use crate::drivers::execution::Attempt;
use crate::prelude::*;
use crate::runtime::interpreter::Entries;
use crate::values::arguments::given::{is_container, occurs_once};
use crate::values::results::blocks::Blocks;
use crate::values::results::result::{new_result, tool_result};
use crate::values::unicode::start_of;
use pyo3::types::{PyFrozenSet, PyMapping};
use std::collections::HashSet;

/// Drops a value that is not wanted. Closing a coroutine keeps Python from warning that it was never awaited.
pub fn discard(value: &Bound<'_, PyAny>) {
    if is_coroutine(value) {
        let _ = value.call_method0(intern!(value.py(), "close"));
    }
}

/// A value as text: what a reader would want to see.
pub fn readable(value: &Bound<'_, PyAny>) -> PyResult<String> {
    static READABLE: Imported = Imported::new("toolhub._to_plain", "readable");
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

/// The result inside a tool's own result: its `result`, or the mapping without `success` and `error`.
pub fn own_result<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let rest = as_dict(value)?;
    if let Some(result) = rest.get_item(intern!(py, "result"))? {
        return Ok(result);
    }
    for key in [intern!(py, "success"), intern!(py, "error"), intern!(py, "_meta")] {
        rest.call_method1(intern!(py, "pop"), (key, py.None()))?;
    }
    Ok(rest.into_any())
}

/// Copies the keys of a tool's own result; of a `ToolResult`, which another call gave, also the attributes.
pub fn take_over(result: &Bound<'_, PyDict>, own: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = result.py();
    result.update(as_dict(own)?.as_mapping())?;
    if is_tool_result(own)? {
        let attributes = own.getattr(intern!(py, "__dict__"))?.cast_into::<PyMapping>()?;
        result.getattr(intern!(py, "__dict__"))?.cast::<PyDict>()?.update(&attributes)?;
    }
    Ok(())
}

/// What a reader of one of several answers wants to see.
pub fn inner_value<'py>(py: Python<'py>, attempt: &Attempt) -> PyResult<Bound<'py, PyAny>> {
    match &attempt.value {
        Some(value) if attempt.is_own_result => own_result(value.bind(py)),
        Some(value) => Ok(value.bind(py).clone()),
        None => Ok(py.None().into_bound(py)),
    }
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
    // An error is the object's own: a class that cannot be asked is not a mapping.
    let is_mapping = object.is_instance_of::<PyDict>()
        || MAPPING
            .get(object.py())
            .and_then(|mapping| object.get_type().is_subclass(mapping))
            .unwrap_or(false);
    // SAFETY: `PyMapping` is any object; its methods ask the object and may fail.
    is_mapping.then(|| unsafe { object.cast_unchecked::<PyMapping>() })
}

/// A copy that its owner may change: keys, value, `_meta` and every attribute.
///
/// A value that cannot be copied is shared, and so is what never changes: an exception with its traceback, and content
/// blocks. Copies run code of the user, so no lock may be held.
pub fn copy_result<'py>(result: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    let py = result.py();
    let copy = new_result(py)?;
    let attributes = result.getattr(intern!(py, "__dict__"))?.cast_into::<PyDict>()?;
    let own = copy.getattr(intern!(py, "__dict__"))?.cast_into::<PyDict>()?;
    for (from, to) in [(result, &copy), (&attributes, &own)] {
        for entry in Entries::of(from) {
            let (key, value) = entry?;
            to.set_item(key, copy_of(&value)?)?;
        }
    }
    Ok(copy)
}

fn copy_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static DEEPCOPY: Imported = Imported::new("copy", "deepcopy");
    if value.is_instance_of::<PyBaseException>() || value.is_instance_of::<Blocks>() {
        return Ok(value.clone());
    }
    Ok(DEEPCOPY.get(value.py())?.call1((value,)).unwrap_or_else(|_| value.clone()))
}

/// For an object that does not tell its size.
const UNKNOWN: usize = 64;

/// The bytes of a result with everything in it. Containers of Python are followed, and each object counts once; for other
/// objects their own word counts.
pub fn size_of_result(result: &Bound<'_, PyDict>) -> PyResult<usize> {
    static MEMBERS: Imported = Imported::new("gc", "get_referents");
    let attributes = result.getattr(intern!(result.py(), "__dict__"))?;
    let mut pending = vec![result.clone().into_any(), attributes];
    let mut seen = HashSet::new();
    let mut bytes = 0usize;
    while let Some(object) = pending.pop() {
        // What only its container refers to is not entered: growing a large table is one long step.
        if !occurs_once(&object) && !seen.insert(object.as_ptr() as usize) {
            continue;
        }
        let size = object.call_method0(intern!(object.py(), "__sizeof__")).and_then(|size| size.extract());
        bytes = bytes.saturating_add(size.unwrap_or(UNKNOWN));
        if is_container(&object) || object.is_instance_of::<PyFrozenSet>() {
            pending.extend(MEMBERS.get(object.py())?.call1((&object,))?.cast_into::<PyList>()?.iter());
        }
    }
    Ok(bytes)
}
