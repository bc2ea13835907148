//! The arguments of a call, as a candidate takes them. They may come as JSON text, as APIs and models write them.

use crate::prelude::*;
use crate::runtime::gil::{Entries, released};
use crate::values::arguments::argument_checks::{ArgumentStyle, CheckPass, PreparedArguments};
use crate::values::arguments::callable::python_tool;
use crate::values::errors::{exception_text, invalid_arguments};
use crate::values::json::LargeJson;
use crate::values::unicode::{all_of, start_of};
use crate::values::value::as_mapping;
use toolhub::message::Message;
use toolhub::model::Arguments;
use toolhub::registry::Candidate;
use toolhub::tape::recording_of;
use toolhub::text::repeats_key;
use toolhub::{parse, schema};

/// The arguments as this candidate takes them, or what it has against them.
pub fn prepare(
    candidate: &Candidate,
    given: &Bound<'_, PyAny>,
    pass: &mut CheckPass,
) -> Result<PreparedArguments, HubError> {
    if recording_of(candidate).is_some() {
        // The call was found by what was given, which need not be JSON for the tool.
        return Ok(PreparedArguments::Native(Box::default()));
    }
    let given = &whole(candidate, given, pass)?;
    match python_tool(candidate) {
        Some(tool) => tool.arguments.prepare(given, pass),
        None => {
            native_arguments(candidate, given, pass).map(|args| PreparedArguments::Native(Box::new(args)))
        }
    }
}

/// For each candidate of a run: its arguments, checked and approved, or why it must not start.
pub type SlotArguments = Vec<Result<Arc<Py<PyAny>>, HubError>>;

/// The arguments as this candidate takes them, in a copy that nothing else refers to.
pub fn fit<'py>(
    candidate: &Candidate,
    given: &Bound<'py, PyAny>,
    pass: &mut CheckPass,
) -> Result<Bound<'py, PyAny>, HubError> {
    let given = &whole(candidate, given, pass)?;
    if let Some(tool) = python_tool(candidate) {
        return tool.arguments.fit(given, pass);
    }
    let args = LargeJson(native_arguments(candidate, given, pass)?.into_value());
    json::to_python(given.py(), &args)
        .map_err(|error| invalid_arguments(&candidate.spec().name, exception_text(given.py(), &error)))
}

/// The arguments by name where they came as text, with what the caller passes on to every candidate.
pub fn whole<'py>(
    candidate: &Candidate,
    given: &Bound<'py, PyAny>,
    pass: &CheckPass,
) -> Result<Bound<'py, PyAny>, HubError> {
    let read = object_in(given).map_err(|why| HubError::new(ErrorKind::InvalidArguments, why))?;
    let read = read.filter(|object| pass.checks.coerce && holds_arguments(candidate, object));
    let given = read.as_ref().map_or(given, |object| object.as_any());
    let completed = pass.passed_on.as_ref().map(|passed_on| completed(candidate, given, passed_on));
    let completed = completed
        .transpose()
        .map_err(|error| invalid_arguments(&candidate.spec().name, exception_text(given.py(), &error)))?;
    Ok(completed.unwrap_or_else(|| given.clone()))
}

/// The arguments, completed with the values that the caller passes on to every candidate that has parameters of these names.
/// The arguments of the call come first.
fn completed<'py>(
    candidate: &Candidate,
    given: &Bound<'py, PyAny>,
    passed_on: &Py<PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let spec = candidate.spec();
    let properties = spec.parameters.get("properties").and_then(Value::as_object);
    let all = PyDict::new(given.py());
    for (name, value) in passed_on.bind(given.py()) {
        if properties.is_some_and(|known| name.extract().is_ok_and(|name: &str| known.contains_key(name))) {
            all.set_item(name, value)?;
        }
    }
    if all.is_empty() {
        return Ok(given.clone());
    }
    match (as_mapping(given), spec.single_argument()) {
        (Some(mapping), _) => all.update(mapping)?,
        (None, _) if given.is_none() => {}
        (None, Some(single)) => all.set_item(single, given)?,
        (None, None) => return Ok(given.clone()),
    }
    Ok(all.into_any())
}

/// The arguments of a tool in Rust: JSON, by name, fitting its schema unless the caller knows better.
fn native_arguments(
    candidate: &Candidate,
    given: &Bound<'_, PyAny>,
    pass: &mut CheckPass,
) -> Result<Arguments, HubError> {
    let spec = candidate.spec();
    let py = given.py();
    let args = if given.is_none() {
        Arguments::default()
    } else if as_mapping(given).is_some() {
        json::arguments(&spec.name, given)?
    } else {
        let bare = || invalid_arguments(&spec.name, message!("expected named arguments, got a bare value."));
        let single = spec.single_argument().ok_or_else(bare)?;
        let named = PyDict::new(py);
        named.set_item(single, given).map_err(|error| invalid_arguments(&spec.name, error.to_string()))?;
        json::arguments(&spec.name, named.as_any())?
    };
    if !pass.checks.validate {
        return Ok(args);
    }
    match pass.run(py, |options| candidate.tool.check(&args, options)) {
        Ok(None) => Ok(args),
        replaced_or_refused => {
            drop(LargeJson(args.into_value()));
            replaced_or_refused.map(Option::unwrap_or_default)
        }
    }
}

/// What is odd about arguments that fit. A signature forbids what it does not know; a schema may not.
pub fn warnings(py: Python<'_>, candidate: &Candidate, prepared: &PreparedArguments) -> Vec<Message> {
    let schema = &candidate.spec().parameters;
    match prepared {
        PreparedArguments::Native(args) => {
            schema::unknown_arguments(schema, args.iter().map(|(name, _)| name.as_str()))
        }
        PreparedArguments::Keywords(args)
            if python_tool(candidate).is_some_and(|tool| tool.warns_of_unknown) =>
        {
            let names = Entries::of(args.bind(py))
                .map_while(|entry| Some(entry.ok()?.0.extract::<String>().unwrap_or_default()));
            let names: Vec<String> = names.collect();
            released(py, names.len(), || schema::unknown_arguments(schema, names.iter().map(String::as_str)))
        }
        _ => Vec::new(),
    }
}

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
    let Some(read) = read.map(|read| LargeJson(Value::Object(read))) else { return Ok(None) };
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
