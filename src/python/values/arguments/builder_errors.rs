//! What pydantic refuses, in terms of the core: a path and a reason for each of its errors.

use crate::prelude::*;
use toolhub::message::Message;
use toolhub::schema::{Objection, PathStep, Reason};

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
    let options = PyDict::new(py);
    for option in ["include_url", "include_context", "include_input"] {
        options.set_item(option, false).ok()?;
    }
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
