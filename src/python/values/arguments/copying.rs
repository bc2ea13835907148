//! A copy of the arguments for every attempt.
//!
//! A tool may change its arguments; neither the caller nor another candidate may see that. Containers are copied (dicts,
//! lists, sets, tuples that contain some), other objects are passed as they are. A container that occurs twice is copied once.

use crate::prelude::*;
use crate::runtime::gil::Entries;
use crate::values::json::{LEVEL, MAX_ARGUMENTS, MAX_DEPTH, Trouble};
use crate::values::value::{as_dict, as_mapping, is_scalar};
use pyo3::ffi;
use pyo3::types::{PyByteArray, PySet};
use std::collections::HashMap;
use toolhub::stack;

/// A copy that is being made.
struct Copying<'py> {
    /// What has been copied and may occur again: by address, `None` while it is being copied.
    seen: HashMap<usize, Option<Bound<'py, PyAny>>>,
    values: usize,
}

/// A copy in which no container is shared with the original.
pub fn copy<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Trouble> {
    // The usual arguments are a flat dict: one shallow copy and a look at each value.
    if let Ok(dict) = object.cast_exact::<PyDict>()
        && dict.len() <= MAX_ARGUMENTS
        && Entries::of(dict).all(|entry| entry.is_ok_and(|(_, value)| !must_be_copied(&value)))
    {
        return Ok(dict.copy()?.into_any());
    }
    copy_deep(object, 0, &mut Copying { seen: HashMap::new(), values: 0 })
}

fn must_be_copied(object: &Bound<'_, PyAny>) -> bool {
    !is_scalar(object) && (is_container(object) || as_mapping(object).is_some())
}

pub fn is_container(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyDict>()
        || object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PySet>()
        || object.is_instance_of::<PyByteArray>()
}

fn copy_deep<'py>(
    object: &Bound<'py, PyAny>,
    depth: usize,
    copying: &mut Copying<'py>,
) -> Result<Bound<'py, PyAny>, Trouble> {
    copying.values += 1;
    if copying.values > MAX_ARGUMENTS {
        return Err(Trouble::too_many(MAX_ARGUMENTS));
    }
    if !must_be_copied(object) {
        return Ok(object.clone());
    }
    if depth > MAX_DEPTH || stack::remaining() < LEVEL {
        return Err(too_deep());
    }
    if occurs_once(object) {
        return copy_container(object, depth, copying);
    }
    let address = object.as_ptr() as usize;
    match copying.seen.get(&address) {
        Some(Some(copy)) => return Ok(copy.clone()),
        Some(None) => return Err(too_deep()),
        None => {}
    }
    copying.seen.insert(address, None);
    let copy = copy_container(object, depth, copying)?;
    copying.seen.insert(address, Some(copy.clone()));
    Ok(copy)
}

fn too_deep() -> Trouble {
    Trouble::new(message!("the arguments are nested too deeply, or cyclic"))
}

/// Whether only one container refers to this object, which is then not part of a circle either. The table of what was
/// copied stays small.
pub fn occurs_once(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object is alive and the GIL is held. One reference is its container's, one is ours.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) <= 2 }
}

fn copy_container<'py>(
    object: &Bound<'py, PyAny>,
    depth: usize,
    copying: &mut Copying<'py>,
) -> Result<Bound<'py, PyAny>, Trouble> {
    let py = object.py();
    if let Ok(dict) = object.cast::<PyDict>() {
        // A subclass keeps its class: its own copy knows how, our values go into it.
        let is_exact = dict.is_exact_instance_of::<PyDict>();
        let copy = if is_exact { PyDict::new(py).into_any() } else { shallow(object)? };
        for entry in Entries::of(dict) {
            let (key, value) = entry?;
            let new = copy_deep(&value, depth + 1, copying)?;
            if is_exact || !new.is(&value) {
                copy.set_item(key, new)?;
            }
        }
        return Ok(copy);
    }
    if let Ok(list) = object.cast_exact::<PyList>() {
        let copy = PyList::empty(py);
        for item in list.iter() {
            copy.append(copy_deep(&item, depth + 1, copying)?)?;
        }
        return Ok(copy.into_any());
    }
    if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        let items: Result<Vec<_>, Trouble> =
            tuple.iter().map(|item| copy_deep(&item, depth + 1, copying)).collect();
        return Ok(PyTuple::new(py, items?)?.into_any());
    }
    if !is_container(object) {
        // Another mapping, perhaps a read-only view of a dict that can change: copy it to a dict.
        return copy_container(as_dict(object)?.as_any(), depth, copying);
    }
    // Members of sets are hashable, so they do not change. Other subclasses copy themselves.
    shallow(object)
}

fn shallow<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Trouble> {
    Ok(object.py().import("copy")?.call_method1("copy", (object,))?)
}
