//! Python values whose type Rust does not express, so that the generated stub can name it.
//!
//! A getter that returns `Bound<PyAny>` is `Any` in the stub. These newtypes convert to the same object and carry the type.

use pyo3::inspect::PyStaticExpr;
use pyo3::prelude::*;
use pyo3::{type_hint_identifier, type_hint_subscript};

macro_rules! typed {
    ($($(#[$doc:meta])* $name:ident, $hint:expr;)*) => {$(
        $(#[$doc])*
        pub struct $name<'py>(pub Bound<'py, PyAny>);

        impl<'py> IntoPyObject<'py> for $name<'py> {
            type Target = PyAny;
            type Output = Bound<'py, PyAny>;
            type Error = PyErr;
            const OUTPUT_TYPE: PyStaticExpr = $hint;

            fn into_pyobject(self, _: Python<'py>) -> PyResult<Self::Output> {
                Ok(self.0)
            }
        }
    )*};
}

const ANY: PyStaticExpr = type_hint_identifier!("typing", "Any");

typed! {
    /// A JSON object.
    TypedDict, type_hint_subscript!(
        type_hint_identifier!("builtins", "dict"), type_hint_identifier!("builtins", "str"), ANY
    );
    /// A list of values of any type.
    TypedList, type_hint_subscript!(type_hint_identifier!("builtins", "list"), ANY);
}
