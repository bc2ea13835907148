//! Arguments that come as JSON text, as APIs and models write them.

use crate::runtime::gil::released;
use crate::values::arguments::argument_checks::ArgumentStyle;
use crate::values::arguments::python_tool::python_tool;
use crate::values::json;
use crate::values::json_to_python::LargeJson;
use crate::values::unicode::{all_of, start_of};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde_json::Value;
use toolhub::message;
use toolhub::message::Message;
use toolhub::parse;
use toolhub::registry::Candidate;
use toolhub::text::repeats_key;

/// An object starts within this number of characters.
const WINDOW: usize = 64;

/// The object that a text holds. `None` for any other value, and for text that is not an object in JSON; an error for an object
/// that says something twice: which one was meant, nobody knows.
pub fn object_in<'py>(given: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyDict>>, Message> {
    let Some(text) = object_text(given) else { return Ok(None) };
    let (py, Ok(json)) = (given.py(), all_of(&text)) else { return Ok(None) };
    let (read, fault) = released(py, json.len(), || {
        let fault = repeats_key(&json).then(|| parse::read_json(&json).err()).flatten();
        (serde_json::from_str(&json).ok(), fault)
    });
    let Some(read) = read.map(|read| LargeJson::from(Value::Object(read))) else { return Ok(None) };
    let object = json::to_python(py, &read).ok().filter(|object| json::not_finite(object).is_none());
    match (object.and_then(|object| object.cast_into().ok()), fault) {
        (Some(_), Some(why)) => Err(message!("The arguments cannot be read: {}.", why)),
        (object, _) => Ok(object),
    }
}

/// A text that begins as an object in JSON.
fn object_text<'py>(given: &Bound<'py, PyAny>) -> Option<Bound<'py, PyString>> {
    let text = given.cast_exact::<PyString>().ok()?;
    // A window: converting a long text to look at its start costs more than the call.
    let begins = start_of(text, WINDOW).ok()?.trim_start().starts_with('{');
    begins.then(|| text.clone())
}

/// Whether the object in a text holds the arguments of this candidate; the rule is that of the core.
pub fn holds_arguments(candidate: &Candidate, object: &Bound<'_, PyDict>) -> bool {
    let spec = candidate.spec();
    let takes_any =
        python_tool(candidate).is_some_and(|tool| matches!(tool.arguments.style, ArgumentStyle::Value(_)));
    let keys: Vec<String> = object.keys().iter().filter_map(|key| key.extract().ok()).collect();
    // A key with a lone surrogate is not the name of a parameter.
    keys.len() == object.len()
        && spec.reads_as_arguments(
            keys.iter().map(String::as_str),
            takes_any || spec.single_argument().is_some(),
        )
}
