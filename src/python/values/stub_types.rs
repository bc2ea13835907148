//! Python values whose type Rust does not express, so that the generated stub can name it.
//!
//! A getter that returns `Bound<PyAny>` is `Any` in the stub. These newtypes convert to the same object and carry the type.
//! A field of the type `Py<…>` with a getter of PyO3 is read by the interpreter itself; the types of fields are for these.

use pyo3::inspect::PyStaticExpr;
use pyo3::prelude::*;
use pyo3::type_object::PyTypeCheck;
use pyo3::types::PyDict;
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

macro_rules! field_types {
    ($($(#[$doc:meta])* $name:ident, $class:ty, $hint:expr;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        // SAFETY: nothing is done with an instance that its class does not allow.
        unsafe impl PyTypeCheck for $name {
            const TYPE_HINT: PyStaticExpr = $hint;

            fn type_check(object: &Bound<'_, PyAny>) -> bool {
                <$class>::type_check(object)
            }

            fn classinfo_object(py: Python<'_>) -> Bound<'_, PyAny> {
                <$class>::classinfo_object(py)
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

field_types! {
    /// A JSON object.
    DictField, PyDict, type_hint_subscript!(
        type_hint_identifier!("builtins", "dict"), type_hint_identifier!("builtins", "str"), ANY
    );
}
