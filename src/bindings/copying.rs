//! Arguments of their own for every attempt.
//!
//! A tool may change what it is given; neither the caller nor another candidate must see it. Containers are copied (dicts,
//! lists, sets, tuples that hold some), other objects are passed as they are. Parts that are shared stay shared in the copy.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyDict, PyFloat, PyInt, PyList, PyMapping, PySet, PyString, PyTuple};
use std::collections::HashMap;

/// Deeper arguments are refused; the stack is not endless.
const MAX_DEPTH: usize = 100;

/// Why arguments cannot be copied.
pub enum Refusal {
    /// Cyclic, or nested too deeply.
    Endless,
    /// A container of the caller's broke.
    Broken(PyErr),
}

impl From<PyErr> for Refusal {
    fn from(error: PyErr) -> Self {
        Refusal::Broken(error)
    }
}

/// What has been copied: by address, `None` while it is being copied.
type Seen<'py> = HashMap<usize, Option<Bound<'py, PyAny>>>;

/// A copy in which no container is shared with the original.
pub fn copy<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Refusal> {
    // The usual arguments are a flat dict: one shallow copy and a look at each value.
    if let Ok(dict) = object.cast_exact::<PyDict>()
        && !dict.iter().any(|(_, value)| must_be_copied(&value))
    {
        return Ok(dict.copy()?.into_any());
    }
    copy_deep(object, 0, &mut Seen::new())
}

/// Plain values never change; asking `Mapping` is dear, so they are told apart first.
fn must_be_copied(object: &Bound<'_, PyAny>) -> bool {
    let plain = object.is_none()
        || object.is_exact_instance_of::<PyString>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyBool>();
    !plain && (is_container(object) || object.cast::<PyMapping>().is_ok())
}

fn is_container(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyDict>()
        || object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PySet>()
        || object.is_instance_of::<PyByteArray>()
}

fn copy_deep<'py>(
    object: &Bound<'py, PyAny>,
    depth: usize,
    seen: &mut Seen<'py>,
) -> Result<Bound<'py, PyAny>, Refusal> {
    if !must_be_copied(object) {
        return Ok(object.clone());
    }
    if depth > MAX_DEPTH {
        return Err(Refusal::Endless);
    }
    let address = object.as_ptr() as usize;
    match seen.get(&address) {
        Some(Some(copy)) => return Ok(copy.clone()),
        Some(None) => return Err(Refusal::Endless),
        None => {}
    }
    seen.insert(address, None);
    let copy = copy_container(object, depth, seen)?;
    seen.insert(address, Some(copy.clone()));
    Ok(copy)
}

fn copy_container<'py>(
    object: &Bound<'py, PyAny>,
    depth: usize,
    seen: &mut Seen<'py>,
) -> Result<Bound<'py, PyAny>, Refusal> {
    let py = object.py();
    if let Ok(dict) = object.cast::<PyDict>() {
        // A subclass keeps its class: its own copy knows how, our values go into it.
        let copy =
            if dict.is_exact_instance_of::<PyDict>() { dict.copy()?.into_any() } else { shallow(object)? };
        for (key, value) in dict.iter() {
            if must_be_copied(&value) {
                copy.set_item(key, copy_deep(&value, depth + 1, seen)?)?;
            }
        }
        return Ok(copy);
    }
    if let Ok(list) = object.cast_exact::<PyList>() {
        let copy = PyList::empty(py);
        for item in list.iter() {
            copy.append(copy_deep(&item, depth + 1, seen)?)?;
        }
        return Ok(copy.into_any());
    }
    if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        let items: Result<Vec<_>, Refusal> =
            tuple.iter().map(|item| copy_deep(&item, depth + 1, seen)).collect();
        return Ok(PyTuple::new(py, items?)?.into_any());
    }
    if !is_container(object) {
        // Some other mapping, perhaps a read-only view of what somebody else can change: a dict of its own.
        let dict = PyDict::new(py);
        dict.update(object.cast::<PyMapping>().map_err(PyErr::from)?)?;
        return copy_container(dict.as_any(), depth, seen);
    }
    // Sets hold hashable things, which do not change; other subclasses know best how they are copied.
    shallow(object)
}

fn shallow<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Refusal> {
    Ok(object.py().import("copy")?.call_method1("copy", (object,))?)
}
