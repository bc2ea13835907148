//! The arguments of a call, as a candidate takes them.

use crate::bindings::argument_checks::{CheckPass, PreparedArguments};
use crate::bindings::json;
use crate::bindings::mappings::as_mapping;
use crate::bindings::python_tool::python_tool;
use crate::bindings::text_arguments::{holds_arguments, object_in};
use crate::error::{ErrorKind, HubError};
use crate::model::Arguments;
use crate::registry::Candidate;
use crate::schema;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The arguments as this candidate takes them, or what it has against them.
pub fn prepare(
    candidate: &Candidate,
    given: &Bound<'_, PyAny>,
    pass: &mut CheckPass,
) -> Result<PreparedArguments, HubError> {
    let read = object_in(given).filter(|object| pass.checks.coerce && holds_arguments(candidate, object));
    let given = read.as_ref().map_or(given, |object| object.as_any());
    match python_tool(candidate) {
        Some(tool) => tool.arguments.prepare(given, pass),
        None => {
            native_arguments(candidate, given, pass).map(|args| PreparedArguments::Native(Box::new(args)))
        }
    }
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
        let single = spec.single_argument().ok_or_else(|| {
            let text =
                format!("Invalid arguments for '{}': expected named arguments, got a bare value.", spec.name);
            HubError::new(ErrorKind::InvalidArguments, text)
        })?;
        let named = PyDict::new(py);
        named.set_item(single, given).map_err(|error| {
            HubError::new(
                ErrorKind::InvalidArguments,
                format!("Invalid arguments for '{}': {error}", spec.name),
            )
        })?;
        json::arguments(&spec.name, named.as_any())?
    };
    if !pass.checks.validate {
        return Ok(args);
    }
    let fitting = pass.run(py, |options| candidate.tool.check(&args, options))?;
    Ok(fitting.unwrap_or(args))
}

/// What is odd about arguments that fit. A signature forbids what it does not know; a schema may not.
pub fn warnings(py: Python<'_>, candidate: &Candidate, prepared: &PreparedArguments) -> Vec<String> {
    let schema = &candidate.spec().parameters;
    match prepared {
        PreparedArguments::Native(args) => {
            schema::unknown_arguments(schema, args.iter().map(|(name, _)| name.as_str()))
        }
        PreparedArguments::Keywords(args)
            if python_tool(candidate).is_some_and(|tool| tool.warns_of_unknown) =>
        {
            let names: Vec<String> = args.bind(py).keys().extract().unwrap_or_default();
            schema::unknown_arguments(schema, names.iter().map(String::as_str))
        }
        _ => Vec::new(),
    }
}
