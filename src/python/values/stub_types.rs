//! Python values whose type Rust does not express, so that the generated stub can name it.
//!
//! A getter that returns `Bound<PyAny>` is `Any` in the stub. These newtypes convert to the same object and carry the type.
//! A field of the type `Py<…>` with a getter of PyO3 is read by the interpreter itself; the types of fields are for these.

use crate::prelude::*;
use pyo3::inspect::PyStaticExpr;
use pyo3::type_object::PyTypeCheck;
use pyo3::{type_hint_identifier, type_hint_subscript};

const DICT: PyStaticExpr = type_hint_subscript!(
    type_hint_identifier!("builtins", "dict"),
    type_hint_identifier!("builtins", "str"),
    type_hint_identifier!("typing", "Any")
);

/// A JSON object.
pub struct TypedDict<'py>(pub Bound<'py, PyAny>);

impl<'py> IntoPyObject<'py> for TypedDict<'py> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;
    const OUTPUT_TYPE: PyStaticExpr = DICT;

    fn into_pyobject(self, _: Python<'py>) -> PyResult<Self::Output> {
        Ok(self.0)
    }
}

/// A JSON object in a field.
pub struct DictField;

// SAFETY: nothing is done with an instance that its class does not allow.
unsafe impl PyTypeCheck for DictField {
    const TYPE_HINT: PyStaticExpr = DICT;

    fn type_check(object: &Bound<'_, PyAny>) -> bool {
        PyDict::type_check(object)
    }

    fn classinfo_object(py: Python<'_>) -> Bound<'_, PyAny> {
        PyDict::classinfo_object(py)
    }
}
