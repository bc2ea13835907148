//! The one place where an error of the core becomes a Python exception.

use crate::prelude::*;
use toolhub::error::clip;
use toolhub::message::Message;

/// The `ToolError` for a failure, with its kind and details.
pub fn tool_error(py: Python<'_>, error: &HubError) -> PyErr {
    static CLASS: Imported = Imported::new("toolhub.exceptions", "ToolError");
    let make = || {
        let details = PyDict::new(py);
        details.set_item(intern!(py, "code"), error.code)?;
        details.set_item(intern!(py, "status"), error.status)?;
        details.set_item(intern!(py, "retry_after"), error.retry_after)?;
        CLASS.get(py)?.call((&*error.message, error.kind.name()), Some(&details))
    };
    make().map_or_else(|error| error, PyErr::from_value)
}

/// An error that reaches Python as an exception which is not raised.
pub struct ErrorValue(pub HubError);

impl<'py> IntoPyObject<'py> for ErrorValue {
    type Target = PyBaseException;
    type Output = Bound<'py, PyBaseException>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Ok(tool_error(py, &self.0).into_value(py).into_bound(py))
    }
}

/// A mistake of the program is a `ValueError`.
pub fn value_error(error: HubError) -> PyErr {
    PyValueError::new_err(error.message.into_owned())
}

/// The refusal of a call whose arguments cannot be used.
pub fn invalid_arguments(tool: &str, reason: impl Into<Message>) -> HubError {
    let text = message!("Invalid arguments for '{}': {}", clip(tool), reason.into());
    HubError::new(ErrorKind::InvalidArguments, text)
}

/// Shows an error that nobody can be told, with the object it came from.
pub fn show_unraisable<T>(done: PyResult<T>, of: &Bound<'_, PyAny>) {
    if let Err(error) = done {
        error.write_unraisable(of.py(), Some(of));
    }
}

/// The name of an object's class for a sentence. Code of the user may have made the class, with any name.
pub fn class_of(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().name();
    name.map_or_else(|_| "an object".to_owned(), |name| clip(&name.to_string_lossy()).into_owned())
}

/// The text of an exception. Code of the user runs in here; an exception that cannot be shown has a text, too.
pub fn exception_text(py: Python<'_>, error: &PyErr) -> String {
    let text = error.value(py).str();
    text.map_or_else(|_| "(its text cannot be read)".into(), |text| text.to_string_lossy().into_owned())
}
