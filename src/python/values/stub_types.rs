//! Python values whose type Rust does not express, so that the generated stub can name it.
//!
//! A getter that returns `Bound<PyAny>` is `Any` in the stub. These newtypes convert to the same object and carry the type.

use crate::prelude::*;
use pyo3::inspect::PyStaticExpr;
use pyo3::{type_hint_identifier, type_hint_subscript};

/// A JSON object.
pub struct TypedDict<'py>(pub Bound<'py, PyAny>);

impl<'py> IntoPyObject<'py> for TypedDict<'py> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;
    const OUTPUT_TYPE: PyStaticExpr = type_hint_subscript!(
        type_hint_identifier!("builtins", "dict"),
        type_hint_identifier!("builtins", "str"),
        type_hint_identifier!("typing", "Any")
    );

    fn into_pyobject(self, _: Python<'py>) -> PyResult<Self::Output> {
        Ok(self.0)
    }
}
