//! What counts as a mapping. The class of the object decides, not what the object says about itself: reading `__class__` runs
//! code of the object, which may raise anything.

use super::imported::Imported;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyType};

/// The object as a mapping; `None` if its class is not one.
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
