//! What makes two calls from Python the same for sharing: arguments that are the same JSON, to the letter.

use crate::bindings::json;
use crate::bindings::releasing::{LargeJson, is_large, without_gil_if};
use crate::bindings::slices::{Entries, Slices};
use crate::canonical::exact;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

/// Deeper values are not compared.
const MAX_DEPTH: usize = 100;

/// The exact form of a value. `None` for one that is not plain JSON: a tuple must not equal a list, nor the key `1` the key
/// `"1"`, nor an object what it is converted to.
pub fn share_key(value: &Bound<'_, PyAny>) -> Option<String> {
    check_plain(value, 0, &mut Slices::new())?;
    let plain = LargeJson::from(json::from_python(value).ok()?);
    Some(without_gil_if(value.py(), is_large(&plain), || exact(&plain)))
}

fn check_plain(value: &Bound<'_, PyAny>, depth: usize, slices: &mut Slices) -> Option<()> {
    slices.step(value.py());
    if depth > MAX_DEPTH {
        return None;
    }
    let is_leaf = value.is_none()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>();
    if is_leaf {
        return Some(());
    }
    if let Ok(items) = value.cast_exact::<PyList>() {
        return items.iter().try_for_each(|item| check_plain(&item, depth + 1, slices));
    }
    for entry in Entries::of(value.cast_exact::<PyDict>().ok()?) {
        let (key, member) = entry.ok()?;
        key.cast_exact::<PyString>().ok()?;
        check_plain(&member, depth + 1, slices)?;
    }
    Some(())
}
