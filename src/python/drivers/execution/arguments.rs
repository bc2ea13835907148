//! The arguments of a call, as a candidate takes them.

use crate::runtime::gil::{Entries, released};
use crate::values::arguments::argument_checks::{CheckPass, PreparedArguments};
use crate::values::arguments::python_tool::python_tool;
use crate::values::arguments::text_arguments::{holds_arguments, object_in};
use crate::values::errors::{exception_text, invalid_arguments};
use crate::values::json;
use crate::values::json_to_python::LargeJson;
use crate::values::value::as_mapping;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use toolhub::error::{ErrorKind, HubError};
use toolhub::message;
use toolhub::message::Message;
use toolhub::model::Arguments;
use toolhub::registry::Candidate;
use toolhub::schema;
use toolhub::tape::recording_of;

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
pub type SlotArguments = Vec<Result<Py<PyAny>, HubError>>;

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
    let args = LargeJson::from(native_arguments(candidate, given, pass)?.into_value());
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
            drop(LargeJson::from(args.into_value()));
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
