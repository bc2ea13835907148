//! About how much memory a result takes, for the limit of the cache.

use super::copying::occurs_once;
use super::gil::Entries;
use super::once::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PySet, PyTuple};
use std::collections::HashSet;

/// For an object that does not tell its size.
const UNKNOWN: usize = 64;

/// The bytes of a result with everything in it. Containers of Python are followed, and each object counts once; for other
/// objects their own word counts.
pub fn size_of_result(result: &Bound<'_, PyDict>) -> PyResult<usize> {
    let attributes = result.getattr(intern!(result.py(), "__dict__"))?;
    let mut pending = vec![result.clone().into_any(), attributes];
    let mut seen = HashSet::new();
    let mut bytes = 0usize;
    while let Some(object) = pending.pop() {
        // What only its container refers to is not entered: growing a large table is one long step.
        if !occurs_once(&object) && !seen.insert(object.as_ptr() as usize) {
            continue;
        }
        bytes = bytes.saturating_add(own_size(&object));
        if let Ok(dict) = object.cast::<PyDict>() {
            for entry in Entries::of(dict) {
                let (key, value) = entry?;
                pending.extend([key, value]);
            }
        } else if let Ok(list) = object.cast::<PyList>() {
            pending.extend(list.iter());
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            pending.extend(tuple.iter());
        } else if let Ok(set) = object.cast::<PySet>() {
            pending.extend(set.iter());
        } else if let Ok(set) = object.cast::<PyFrozenSet>() {
            pending.extend(set.iter());
        }
    }
    Ok(bytes)
}

fn own_size(object: &Bound<'_, PyAny>) -> usize {
    let size = object.call_method0(intern!(object.py(), "__sizeof__"));
    size.and_then(|size| size.extract()).unwrap_or(UNKNOWN)
}
