//! The one place where an error of the core becomes a Python exception, or what a result says of it.

use crate::prelude::*;
use pyo3::types::IntoPyDict;
use toolhub::error::clip;
use toolhub::message::Message;
use toolhub::schema::{Objection, PathStep, Reason};

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

/// What `_meta` says of an error.
pub fn error_details<'py>(
    py: Python<'py>,
    error: &HubError,
    retryable: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let details = PyDict::new(py);
    details.set_item(intern!(py, "kind"), error.kind.name())?;
    details.set_item(intern!(py, "code"), error.code)?;
    details.set_item(intern!(py, "status"), error.status)?;
    details.set_item(intern!(py, "retry_after"), error.retry_after)?;
    details.set_item(intern!(py, "retryable"), retryable)?;
    details.set_item(intern!(py, "outcome"), error.outcome.name())?;
    if !error.suggestions.is_empty() {
        let suggestions: Vec<_> = error.suggestions.iter().map(|name| &**name).collect();
        details.set_item(intern!(py, "suggestions"), suggestions)?;
    }
    if let Some(data) = error.upstream.as_ref().and_then(|sent| sent.data.as_ref()) {
        details.set_item(intern!(py, "data"), json::to_python(py, data)?)?;
    }
    Ok(details)
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

/// More errors than this are not read.
const MAX_ERRORS: usize = 200;

/// The errors of a pydantic `ValidationError`; `None` for any other exception. `skipped` is the number of leading steps of
/// each path that are not part of the arguments.
pub fn objections(py: Python<'_>, error: &PyErr, skipped: usize) -> Option<Vec<Objection>> {
    static VALIDATION_ERROR: Imported = Imported::new("pydantic_core", "ValidationError");
    let value = error.value(py);
    if !value.is_instance(VALIDATION_ERROR.get(py).ok()?).ok()? {
        return None;
    }
    let options = ["include_url", "include_context", "include_input"].map(|option| (option, false));
    let options = options.into_py_dict(py).ok()?;
    let errors = value.call_method(intern!(py, "errors"), (), Some(&options)).ok()?;
    errors.try_iter().ok()?.take(MAX_ERRORS).map(|error| objection(&error.ok()?, skipped)).collect()
}

fn objection(error: &Bound<'_, PyAny>, skipped: usize) -> Option<Objection> {
    let item = |name: &str| error.get_item(name).ok();
    let steps = item("loc")?.cast_into::<PyTuple>().ok()?;
    let path = steps.iter().skip(skipped).map(|step| match step.extract::<usize>() {
        Ok(index) => PathStep::Index(index),
        Err(_) => PathStep::Key(step.to_string()),
    });
    let kind: String = item("type")?.extract().ok()?;
    let message: String = item("msg")?.extract().ok()?;
    Some(Objection { path: path.collect(), reason: reason(&kind, &message) })
}

fn reason(kind: &str, message: &str) -> Reason {
    if let Some(text) = message.strip_prefix("Value error, ").or(message.strip_prefix("Assertion failed, ")) {
        return Reason::Sentence(text.to_owned());
    }
    if kind.starts_with("missing") {
        return Reason::Missing;
    }
    if matches!(kind, "extra_forbidden" | "unexpected_keyword_argument") {
        return Reason::Unknown;
    }
    match message.strip_prefix("Input should be ") {
        Some(expected) if kind.ends_with("_type") || kind == "int_from_float" => {
            Reason::WrongType(first_clause(expected))
        }
        Some(expected) if kind.ends_with("_parsing") => Reason::WrongFormat(first_clause(expected)),
        Some(expected) => Reason::Expected(expected.to_owned().into()),
        None => Reason::Sentence(lowered(message)),
    }
}

/// "a valid date, input is too short" → "a valid date"
fn first_clause(text: &str) -> Message {
    text.split(", ").next().unwrap_or(text).to_owned().into()
}

/// A sentence as part of another one.
fn lowered(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect()
}
