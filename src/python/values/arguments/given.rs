//! The arguments of a call, as a candidate takes them: read from JSON text, as APIs and models write them, completed, copied,
//! and known to be plain, if they are.

use crate::prelude::*;
use crate::runtime::interpreter::{Entries, released};
use crate::values::arguments::argument_checks::{CheckPass, PreparedArguments, bare};
use crate::values::arguments::callable::python_tool;
use crate::values::errors::{exception_text, invalid_arguments};
use crate::values::json::{LEVEL, LargeJson, MAX_ARGUMENTS, MAX_DEPTH, Trouble};
use crate::values::unicode::{all_of, start_of};
use crate::values::value::{as_dict, as_mapping};
use pyo3::ffi;
use pyo3::types::{PyByteArray, PySet};
use serde_json::Map;
use std::collections::HashMap;
use toolhub::cassette::recording_of;
use toolhub::error::Result;
use toolhub::message::Message;
use toolhub::model::{Arguments, ToolSpec};
use toolhub::registry::Candidate;
use toolhub::text::repeats_key;
use toolhub::{parse, schema, system};

/// The arguments as this candidate takes them, or what it has against them.
pub fn prepare(
    candidate: &Candidate,
    given: &Bound<'_, PyAny>,
    pass: &mut CheckPass,
) -> Result<PreparedArguments> {
    let tool = python_tool(candidate);
    if tool.is_none() && recording_of(candidate).is_some() {
        // The call was found by what was given, which need not be JSON for the tool.
        return Ok(PreparedArguments::Native(Box::default()));
    }
    let given = &whole(candidate, given, pass)?;
    match tool {
        Some(tool) => tool.prepare(given, pass),
        None => {
            native_arguments(candidate, given, pass).map(|args| PreparedArguments::Native(Box::new(args)))
        }
    }
}

/// For each candidate of a run: its arguments, checked and approved, or why it must not start.
pub type SlotArguments = Vec<Result<Arc<Py<PyAny>>>>;

/// The arguments as this candidate takes them, in a copy that nothing else refers to.
pub fn fit<'py>(
    candidate: &Candidate,
    given: &Bound<'py, PyAny>,
    pass: &mut CheckPass,
) -> Result<Bound<'py, PyAny>> {
    let given = &whole(candidate, given, pass)?;
    if let Some(tool) = python_tool(candidate) {
        return tool.fit(given, pass);
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
) -> Result<Bound<'py, PyAny>> {
    let read = object_in(given).map_err(|why| HubError::new(ErrorKind::InvalidArguments, why))?;
    let read = read.filter(|object| pass.checks.coerce && holds_arguments(candidate, object));
    let given = read.as_ref().map_or(given, |object| object.as_any());
    let Some(passed_on) = &pass.passed_on else { return Ok(given.clone()) };
    completed(candidate, given, passed_on)
        .map_err(|error| invalid_arguments(&candidate.spec().name, exception_text(given.py(), &error)))
}

/// The arguments, completed with the values that the caller passes on to every candidate that has parameters of these names.
/// The arguments of the call come first.
fn completed<'py>(
    candidate: &Candidate,
    given: &Bound<'py, PyAny>,
    passed_on: &Py<PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let spec = candidate.spec();
    let properties = properties(spec);
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

/// The schemas of a tool's arguments by name, if it lists them.
pub fn properties(spec: &ToolSpec) -> Option<&Map<String, Value>> {
    spec.parameters.get("properties")?.as_object()
}

/// The arguments of a tool in Rust: JSON, by name, fitting its schema unless the caller knows better.
fn native_arguments(
    candidate: &Candidate,
    given: &Bound<'_, PyAny>,
    pass: &mut CheckPass,
) -> Result<Arguments> {
    let spec = candidate.spec();
    let py = given.py();
    let args = if given.is_none() {
        Arguments::default()
    } else if as_mapping(given).is_some() {
        json::arguments(&spec.name, given)?
    } else {
        json::arguments(&spec.name, bare(spec, spec.single_argument(), given)?.as_any())?
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
            if python_tool(candidate).is_some_and(|tool| tool.build.is_none()) =>
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
    // A window: converting a long text to look at its start costs more than the call.
    let begins = |text: &&Bound<'_, PyString>| {
        start_of(text, WINDOW).is_ok_and(|start| start.trim_start().starts_with('{'))
    };
    let text = given.cast_exact::<PyString>().ok().filter(begins);
    let (py, Some(Ok(json))) = (given.py(), text.map(all_of)) else { return Ok(None) };
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

/// Whether the object in a text holds the arguments of this candidate; the rule is that of the core.
pub fn holds_arguments(candidate: &Candidate, object: &Bound<'_, PyDict>) -> bool {
    let spec = candidate.spec();
    let takes_any = python_tool(candidate).is_some_and(|tool| tool.value_style.is_some());
    let keys: Vec<String> = object.keys().iter().filter_map(|key| key.extract().ok()).collect();
    // A key with a lone surrogate is not the name of a parameter.
    keys.len() == object.len()
        && spec.reads_as_arguments(
            keys.iter().map(String::as_str),
            takes_any || spec.single_argument().is_some(),
        )
}

/// A copy that is being made.
struct Copying<'py> {
    /// What has been copied and may occur again: by address, `None` while it is being copied.
    seen: HashMap<usize, Option<Bound<'py, PyAny>>>,
    values: usize,
}

/// A copy in which no container is shared with the original, for every attempt.
///
/// A tool may change its arguments; neither the caller nor another candidate may see that. Containers are copied (dicts,
/// lists, sets, tuples that contain some), other objects are passed as they are. A container that occurs twice is copied once.
pub fn copy<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Trouble> {
    // The usual arguments are a flat dict: one shallow copy and a look at each value.
    if let Ok(dict) = object.cast_exact::<PyDict>()
        && dict.len() <= MAX_ARGUMENTS
        && Entries::of(dict).all(|entry| entry.is_ok_and(|(_, value)| !must_be_copied(&value)))
    {
        return Ok(dict.copy()?.into_any());
    }
    copy_deep(object, 0, &mut Copying { seen: HashMap::new(), values: 0 })
}

/// A plain value that never changes. It is recognised first: asking Python's `Mapping` about each would cost more than a call.
pub fn is_scalar(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_none()
}

fn must_be_copied(object: &Bound<'_, PyAny>) -> bool {
    !is_scalar(object) && (is_container(object) || as_mapping(object).is_some())
}

pub fn is_container(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyDict>()
        || object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PySet>()
        || object.is_instance_of::<PyByteArray>()
}

fn copy_deep<'py>(
    object: &Bound<'py, PyAny>,
    depth: usize,
    copying: &mut Copying<'py>,
) -> Result<Bound<'py, PyAny>, Trouble> {
    copying.values += 1;
    if copying.values > MAX_ARGUMENTS {
        return Err(Trouble::too_many(MAX_ARGUMENTS));
    }
    if !must_be_copied(object) {
        return Ok(object.clone());
    }
    if depth > MAX_DEPTH || system::remaining() < LEVEL {
        return Err(too_deep());
    }
    if occurs_once(object) {
        return copy_container(object, depth, copying);
    }
    let address = object.as_ptr() as usize;
    match copying.seen.get(&address) {
        Some(Some(copy)) => return Ok(copy.clone()),
        Some(None) => return Err(too_deep()),
        None => {}
    }
    copying.seen.insert(address, None);
    let copy = copy_container(object, depth, copying)?;
    copying.seen.insert(address, Some(copy.clone()));
    Ok(copy)
}

fn too_deep() -> Trouble {
    Trouble::new(message!("the arguments are nested too deeply, or cyclic"))
}

/// Whether only one container refers to this object, which is then not part of a circle either. The table of what was
/// copied stays small.
pub fn occurs_once(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object is alive and the GIL is held. One reference is its container's, one is ours.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) <= 2 }
}

fn copy_container<'py>(
    object: &Bound<'py, PyAny>,
    depth: usize,
    copying: &mut Copying<'py>,
) -> Result<Bound<'py, PyAny>, Trouble> {
    let py = object.py();
    if let Ok(dict) = object.cast::<PyDict>() {
        // A subclass keeps its class: its own copy knows how, our values go into it.
        let is_exact = dict.is_exact_instance_of::<PyDict>();
        let copy = if is_exact { PyDict::new(py).into_any() } else { shallow(object)? };
        for entry in Entries::of(dict) {
            let (key, value) = entry?;
            let new = copy_deep(&value, depth + 1, copying)?;
            if is_exact || !new.is(&value) {
                copy.set_item(key, new)?;
            }
        }
        return Ok(copy);
    }
    if let Ok(list) = object.cast_exact::<PyList>() {
        let copy = PyList::empty(py);
        for item in list.iter() {
            copy.append(copy_deep(&item, depth + 1, copying)?)?;
        }
        return Ok(copy.into_any());
    }
    if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        let items: Result<Vec<_>, Trouble> =
            tuple.iter().map(|item| copy_deep(&item, depth + 1, copying)).collect();
        return Ok(PyTuple::new(py, items?)?.into_any());
    }
    if !is_container(object) {
        // Another mapping, perhaps a read-only view of a dict that can change: copy it to a dict.
        return copy_container(as_dict(object)?.as_any(), depth, copying);
    }
    // Members of sets are hashable, so they do not change. Other subclasses copy themselves.
    shallow(object)
}

fn shallow<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Trouble> {
    Ok(object.py().import("copy")?.call_method1("copy", (object,))?)
}

/// A parameter whose JSON value is its Python value: a value of this shape needs no JSON copy and no pydantic.
///
/// `toolhub._signature` names the parameters whose hint means plain JSON (`str`, `int | None`, `list[float]`, `Literal`, …).
/// Their shapes are read from the tool's JSON Schema, so a value that passes here also passes the schema; any other value,
/// and any value that needs a conversion, takes the full path.
pub struct PlainParameter {
    name: Py<PyString>,
    fits: Fits,
    required: bool,
}

/// Whether a value has a shape.
type Fits = Box<dyn Fn(&Bound<'_, PyAny>) -> bool + Send + Sync>;

/// The parameters of these names. `None` if one of them has a shape that is not known here.
pub fn plain_parameters(
    py: Python<'_>,
    names: &[Py<PyString>],
    spec: &ToolSpec,
) -> Option<Vec<PlainParameter>> {
    let properties = properties(spec)?;
    let required = spec.parameters.get("required").and_then(Value::as_array);
    let parameter = |name: &Py<PyString>| {
        let text = name.to_str(py).ok()?;
        Some(PlainParameter {
            fits: shape(py, properties.get(text)?.as_object()?)?,
            required: required.is_some_and(|required| required.iter().any(|one| one == text)),
            name: name.clone_ref(py),
        })
    };
    names.iter().map(parameter).collect()
}

/// Whether the arguments fit as they are: each parameter that is given has its shape, and no other argument is given.
pub fn are_plain(parameters: &[PlainParameter], named: &Bound<'_, PyDict>) -> bool {
    let mut known = 0;
    for parameter in parameters {
        match named.get_item(&parameter.name) {
            Ok(Some(value)) if (parameter.fits)(&value) => known += 1,
            Ok(None) if !parameter.required => {}
            _ => return false,
        }
    }
    known == named.len()
}

/// Exact types only: a subclass, or an integer for a number, may have to be converted.
fn shape(py: Python<'_>, schema: &Map<String, Value>) -> Option<Fits> {
    const NOTES: [&str; 4] = ["description", "default", "title", "examples"];
    let keys: Vec<&str> = schema.keys().map(String::as_str).filter(|key| !NOTES.contains(key)).collect();
    let only = |allowed: &[&str]| keys.iter().all(|key| allowed.contains(key));
    if keys.is_empty() {
        return Some(Box::new(|_| true));
    }
    let options = match (schema.get("enum"), schema.get("const")) {
        (Some(options), None) if only(&["enum", "type"]) => options.as_array().map(Vec::as_slice),
        (None, Some(option)) if only(&["const", "type"]) => Some(std::slice::from_ref(option)),
        _ => None,
    };
    if let Some(options) = options {
        let options = options.iter().map(|option| json::to_python(py, option).map(Bound::unbind));
        let options: Vec<_> = options.collect::<PyResult<_>>().ok()?;
        return Some(Box::new(move |value| {
            options.iter().any(|option| is_option(value, option.bind(value.py())))
        }));
    }
    if let Some(choices) = schema.get("anyOf").filter(|_| only(&["anyOf"])) {
        let shapes = choices.as_array()?.iter().map(|choice| shape(py, choice.as_object()?));
        let shapes: Vec<_> = shapes.collect::<Option<_>>()?;
        return Some(Box::new(move |value| shapes.iter().any(|fits| fits(value))));
    }
    let inner = |key: &str| match schema.get(key) {
        None | Some(Value::Bool(true)) => shape(py, &Map::new()),
        Some(inner) => shape(py, inner.as_object()?),
    };
    let fits: Fits = match schema.get("type")?.as_str()? {
        "array" if only(&["type", "items"]) => {
            let fits = inner("items")?;
            Box::new(move |value| is_list_of(value, &fits))
        }
        "object" if only(&["type", "additionalProperties"]) => {
            let fits = inner("additionalProperties")?;
            Box::new(move |value| is_dict_of(value, &fits))
        }
        _ if !only(&["type"]) => return None,
        "null" => Box::new(|value| value.is_none()),
        "boolean" => Box::new(|value| value.is_exact_instance_of::<PyBool>()),
        "integer" => Box::new(|value| value.is_exact_instance_of::<PyInt>()),
        "number" => Box::new(|value| value.is_exact_instance_of::<PyFloat>()),
        "string" => Box::new(|value| value.is_exact_instance_of::<PyString>()),
        _ => return None,
    };
    Some(fits)
}

pub fn is_list_of(value: &Bound<'_, PyAny>, fits: impl Fn(&Bound<'_, PyAny>) -> bool) -> bool {
    value.cast_exact::<PyList>().is_ok_and(|list| list.iter().all(|item| fits(&item)))
}

/// Whether it is a dict with texts for keys.
pub fn is_dict_of(value: &Bound<'_, PyAny>, fits: impl Fn(&Bound<'_, PyAny>) -> bool) -> bool {
    let is_entry = |(key, member): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        key.is_exact_instance_of::<PyString>() && fits(&member)
    };
    let dict = value.cast_exact::<PyDict>();
    dict.is_ok_and(|dict| Entries::of(dict).all(|entry| entry.is_ok_and(is_entry)))
}

/// A scalar compares itself by code of Python's own.
fn is_option(value: &Bound<'_, PyAny>, option: &Bound<'_, PyAny>) -> bool {
    is_scalar(value) && value.get_type().is(option.get_type()) && value.eq(option).unwrap_or(false)
}
