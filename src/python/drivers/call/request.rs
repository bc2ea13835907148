//! What a model asks for: one call as it is in a request, the calls of a message, and the order in which they are made.

use crate::classes::hub::PyHub;
use crate::classes::parse::{ParsedMessage, PyParsedCall, options, parse_message};
use crate::classes::prompt;
use crate::drivers::execution::failure;
use crate::prelude::*;
use crate::values::arguments::given::{holds_arguments, object_in};
use crate::values::json::LargeJson;
use crate::values::value::as_mapping;
use pyo3::types::PyMapping;
use toolhub::message::Message;
use toolhub::parse::{self, Certainty, ParseOptions, ToolSchemas};
use toolhub::plan::{CallVerdict, MessageOrder};
use toolhub::prompt::vendor;
use toolhub::registry::{NameEntry, Snapshot};

fn nameless(given: impl Into<Message>) -> Message {
    message!("The call names no tool: expected 'tool_name' as text, got {}.", given.into())
}

/// A request with the name and the arguments of the tool, or why it cannot be read.
pub struct ReadRequest<'py> {
    pub name: Bound<'py, PyString>,
    pub arguments: Option<Bound<'py, PyAny>>,
    pub id: Option<String>,
    pub source: Option<String>,
    pub error: Option<Message>,
    /// The format of the message that it was in.
    api: Option<String>,
}

/// Takes a mapping, or an object with the attributes of a parsed call.
pub fn read<'py>(given: &Bound<'py, PyAny>) -> PyResult<ReadRequest<'py>> {
    let py = given.py();
    let mapping = as_mapping(given);
    let get = mapping.map(|mapping| mapping.getattr(intern!(py, "get"))).transpose()?;
    let is_call =
        || PyResult::Ok(given.hasattr(intern!(py, "name"))? && given.hasattr(intern!(py, "arguments"))?);
    if get.is_none() && !is_call()? {
        return Err(PyTypeError::new_err(format!(
            "a request must be a mapping with tool_name and arguments, or a parsed call, got {}",
            class_of(given)
        )));
    }
    // A field that is there and not None, nor a method.
    let field = |key: &Bound<'py, PyString>| -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = match &get {
            Some(get) => Some(get.call1((key,))?),
            None => given.getattr_opt(key)?,
        };
        Ok(value.filter(|value| !value.is_none() && !value.is_callable()))
    };
    let mut fault = None;
    // An object may have its parts under two names, as a mapping may: both must agree.
    let mut either = |keys: &[&Bound<'py, PyString>]| -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut given = Vec::new();
        for key in keys {
            given.extend(field(key)?.map(|value| (key, value)));
        }
        for (key, value) in given.iter().skip(1) {
            if !given[0].1.eq(value)? {
                fault = Some(parse::contradiction(&shown(given[0].0)?, &shown(key)?));
            }
        }
        Ok(given.into_iter().next().map(|(_, value)| value))
    };
    let name = either(&[intern!(py, "name"), intern!(py, "tool_name")])?;
    let arguments = either(&[intern!(py, "arguments"), intern!(py, "parameters"), intern!(py, "args")])?;
    if let Some(mapping) = mapping
        && (name.is_none() || !is_own(mapping, arguments.as_ref())?)
    {
        return foreign(given);
    }
    let text = |value: Option<Bound<'py, PyAny>>| value.map(|value| shown(&value)).transpose();
    let (id, source) = (text(field(intern!(py, "id"))?)?, field(intern!(py, "source"))?);
    let parsed = given.cast::<PyParsedCall>().ok().map(|call| call.get());
    let error = match parsed {
        Some(call) => call.fault().cloned(),
        None => text(field(intern!(py, "error"))?)?.map(Message::from),
    };
    let error = error.or(fault).or_else(|| wrong_type(name.as_ref(), source.as_ref()));
    let name = name.and_then(|name| name.cast_into::<PyString>().ok());
    Ok(ReadRequest {
        name: name.unwrap_or_else(|| PyString::new(py, "")),
        arguments,
        id,
        source: source.and_then(|source| shown(source.cast::<PyString>().ok()?).ok()),
        error,
        api: parsed.and_then(|call| call.api.clone()),
    })
}

/// Whether a mapping is a request in our own form, with nothing beside its arguments that they have too.
fn is_own(given: &Bound<'_, PyMapping>, arguments: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
    let keys = given.keys()?;
    let texts: Vec<_> = keys.iter().filter_map(|key| key.cast_into::<PyString>().ok()).collect();
    let texts: Vec<_> = texts.iter().map(|key| key.to_string_lossy()).collect();
    let has = |key: &str| {
        arguments.is_some_and(|all| all.is_instance_of::<PyDict>() && all.contains(key).unwrap_or(false))
    };
    Ok(parse::is_own_request(texts.iter().map(|key| &**key), has))
}

/// The sentence around a parsed call that may not have been meant.
pub fn proposed_in(given: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let Ok(call) = given.cast::<PyParsedCall>() else { return Ok(None) };
    match call.get().call.certainty {
        Some(Certainty::Sure) => Ok(None),
        _ => call.get().sentence(given.py()).map(|sentence| {
            Some(sentence.map_or_else(String::new, |sentence| sentence.to_string_lossy().into_owned()))
        }),
    }
}

/// Reads a call in another shape: with other keys, or as an API or a model wrote it.
fn foreign<'py>(given: &Bound<'py, PyAny>) -> PyResult<ReadRequest<'py>> {
    let py = given.py();
    let nothing = |error: Message| ReadRequest {
        name: PyString::new(py, ""),
        arguments: None,
        id: None,
        source: None,
        error: Some(error),
        api: None,
    };
    let value = match json::from_python(given) {
        Ok(value) => value,
        Err(reason) => return Ok(nothing(message!("The call cannot be read: {}.", reason))),
    };
    let mut calls = py.detach(|| parse::parse_request(value, &ParseOptions::default()));
    let Some(call) = calls.pop().filter(|_| calls.is_empty()) else {
        return Ok(nothing(message!(
            "The request must be one call; pass a message with several calls to `run`."
        )));
    };
    if call.name.is_empty() {
        let why = call.error.filter(|why| *why != parse::NO_NAME);
        return Ok(nothing(why.unwrap_or_else(|| nameless("nothing"))));
    }
    Ok(ReadRequest {
        name: PyString::new(py, &call.name),
        arguments: Some(json::to_python(py, &LargeJson(Value::Object(call.arguments.into_map())))?),
        id: Some(call.id).filter(|_| call.id_from_model),
        source: call.source,
        error: call.error,
        api: None,
    })
}

fn shown(value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(value.str()?.to_string_lossy().into_owned())
}

/// What a model got wrong is an answer for the model, not an exception.
fn wrong_type(name: Option<&Bound<'_, PyAny>>, source: Option<&Bound<'_, PyAny>>) -> Option<Message> {
    let is_text = |value: &Bound<'_, PyAny>| value.is_instance_of::<PyString>();
    match (name, source) {
        (None, _) => Some(nameless("nothing")),
        (Some(name), _) if is_text(name) && name.len().unwrap_or(0) == 0 => Some(nameless("nothing")),
        (Some(name), _) if !is_text(name) => Some(nameless(class_of(name))),
        (_, Some(source)) if !is_text(source) => Some(message!(
            "The source of a call must be text (a server's id, 'tools', 'skills' or 'mcps') or be left out, got {}.",
            class_of(source)
        )),
        _ => None,
    }
}

impl<'py> ReadRequest<'py> {
    /// The arguments as the tool takes them: an object that was written as text is read, and the form of a vendor's API
    /// is undone. The name is that of the tool from now on. There are none in a request that cannot be read.
    pub fn restore(&mut self, hub: &Bound<'py, PyHub>, coerce: bool) -> PyResult<Bound<'py, PyAny>> {
        let py = hub.py();
        if self.error.is_some() {
            return Ok(PyDict::new(py).into_any());
        }
        let given = self.arguments.take().unwrap_or_else(|| PyDict::new(py).into_any());
        let read = match object_in(&given) {
            Ok(read) => read.filter(|_| coerce),
            Err(why) => {
                self.error = Some(why);
                return Ok(PyDict::new(py).into_any());
            }
        };
        let arguments = read.clone().map_or_else(|| given.clone(), Bound::into_any);
        let (name, arguments) = prompt::from_form_of(hub, &self.name, arguments, self.api.as_deref())?;
        self.name = name;
        let is_text = read.is_some_and(|read| !self.are_arguments(hub, arguments.cast().unwrap_or(&read)));
        Ok(if is_text { given } else { arguments })
    }

    /// Whether a candidate takes the object in a text as its arguments. A tool that is not registered has none that could
    /// take the text.
    fn are_arguments(&self, hub: &Bound<'py, PyHub>, object: &Bound<'py, PyDict>) -> bool {
        let snapshot = hub.get().core().registry.load();
        let entry = snapshot.find(&self.name.to_string_lossy());
        entry.is_none_or(|entry| entry.candidates.iter().any(|one| holds_arguments(one, object)))
    }
}

/// Name, arguments, source and error.
type RequestParts<'py> = (Bound<'py, PyString>, Bound<'py, PyAny>, Option<String>, Option<String>);

/// A request as `(name, arguments, source, error)`, with the name and the arguments of the tool.
#[pyfunction]
pub fn read_request<'py>(
    hub: &Bound<'py, PyHub>,
    request: &Bound<'py, PyAny>,
) -> PyResult<RequestParts<'py>> {
    hub.get().check_process()?;
    let mut read = read(request)?;
    let arguments = read.restore(hub, true)?;
    Ok((read.name, arguments, read.source, read.error.map(Message::into_owned)))
}

/// Parses a model's message with the schemas of the tools that it names.
#[pyfunction]
#[pyo3(signature = (hub, message, format, reasoning="auto"))]
pub fn plan_run(
    hub: &Bound<'_, PyHub>,
    message: &Bound<'_, PyAny>,
    format: &str,
    reasoning: &str,
) -> PyResult<ParsedMessage> {
    hub.get().check_process()?;
    let schemas = Arc::new(HubSchemas(hub.get().core().registry.snapshot()));
    let options = options(format, None, reasoning)?.with_schemas(schemas);
    parse_message("run()", message, &options)
}

/// The order of the calls of one message: who waits for whom, and what is not made.
#[pyclass(name = "MessageOrder", frozen, module = "toolhub._core")]
pub struct PyMessageOrder(pub MessageOrder);

#[pymethods]
impl PyMessageOrder {
    #[new]
    fn new(calls: usize) -> Self {
        PyMessageOrder(MessageOrder::new(calls))
    }

    /// The call at this place, counted from 0, was answered without being made.
    fn answered(&self, place: usize, tool: &str, result: &Bound<'_, PyAny>) {
        self.0.turn(place, Arc::from(tool)).end(CallVerdict::of(failure(result)));
    }
}

/// The schemas of a hub's tools, by their own names and by those that they have in an API. Values between tags are plain
/// text; the schemas give them their types.
struct HubSchemas(Arc<Snapshot>);

impl HubSchemas {
    fn entry(&self, name: &str) -> Option<&Arc<NameEntry>> {
        self.0.get(name).or_else(|| {
            let names = self.0.entries().map(|(name, _)| &**name);
            self.0.get(vendor::original_name(name, names)?)
        })
    }
}

impl ToolSchemas for HubSchemas {
    fn parameters(&self, tool: &str) -> Option<&Value> {
        self.entry(tool)?.primary().map(|candidate| &*candidate.spec().parameters)
    }

    fn is_empty(&self) -> bool {
        self.0.entries().next().is_none()
    }

    fn are_given(&self) -> bool {
        true
    }

    fn each(&self, show: &mut dyn FnMut(&str, &Value)) {
        for (name, entry) in self.0.entries() {
            if let Some(candidate) = entry.primary() {
                show(name, &candidate.spec().parameters);
            }
        }
    }
}
