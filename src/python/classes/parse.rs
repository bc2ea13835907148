//! Parsing for Python. Spans count characters, as Python does.

use crate::prelude::*;
use crate::runtime::interpreter::released;
use crate::values::json::{LargeJson, TypedDict};
use crate::values::unicode::{all_of, string};
use pyo3::types::PyBytes;
use serde_json::json;
use std::borrow::Cow;
use toolhub::message::Message;
use toolhub::parse::{self, CallArguments, Certainty, Event, ParseOptions, ParsedCall, ReasoningMode};

/// A tool call found in a text. If it cannot be read, `error` says why and `raw` is its text.
// The fields that every caller reads are Python objects, which the interpreter returns without a call into Rust.
#[pyclass(frozen, module = "toolhub", name = "ParsedCall")]
pub struct PyParsedCall {
    /// The tool; empty only when there is an error and no name could be read.
    #[pyo3(get)]
    name: Py<PyString>,
    arguments: Py<PyAny>,
    /// The model's id, or one made here (`call_1`, …) when it gave none, or gave the same one twice in a text.
    #[pyo3(get)]
    id: Py<PyString>,
    /// Its place in the text, tags included: `text[start:end]`.
    #[pyo3(get)]
    span: (usize, usize),
    /// Whether the id is the model's own. Some APIs reject a result for an id they did not issue.
    #[pyo3(get)]
    id_from_model: bool,
    /// Whether it calls a custom tool of OpenAI, whose input is a text.
    #[pyo3(get)]
    is_custom: bool,
    /// What few callers read. Its arguments were taken out.
    pub call: ParsedCall,
    /// The format of the message of an API that has the call in a field.
    pub api: Option<String>,
    /// The text that a call stands in which is not sure.
    text: Option<Arc<str>>,
}

impl PyParsedCall {
    /// Why it cannot be read.
    pub fn fault(&self) -> Option<&Message> {
        self.call.error.as_ref()
    }

    /// `text` is the one that the call stands in.
    fn new(
        py: Python<'_>,
        mut call: ParsedCall,
        api: Option<&str>,
        text: Option<&Arc<str>>,
    ) -> PyResult<Py<Self>> {
        let is_sure = call.certainty.is_none_or(|certainty| certainty == Certainty::Sure);
        let arguments = std::mem::take(&mut call.arguments).into_map();
        let arguments = json::to_python(py, &LargeJson(Value::Object(arguments)))?;
        let call = Self {
            name: PyString::new(py, &call.name).unbind(),
            arguments: arguments.unbind(),
            id: PyString::new(py, &call.id).unbind(),
            span: call.span,
            id_from_model: call.id_from_model,
            is_custom: call.is_custom,
            api: api.map(str::to_owned),
            text: text.filter(|_| !is_sure).cloned(),
            call,
        };
        Py::new(py, call)
    }
}

#[pymethods]
impl PyParsedCall {
    /// A dict, the same one each time.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> TypedDict<'py> {
        TypedDict(self.arguments.bind(py).clone())
    }

    /// The source of the tool that the model asked for.
    #[getter]
    fn source(&self) -> Option<&str> {
        self.call.source.as_deref()
    }

    /// The repairs that were needed to read it.
    #[getter]
    fn repairs(&self) -> Vec<&'static str> {
        self.call.repairs.names()
    }

    /// Why it cannot be read. Do not execute such a call.
    #[getter]
    fn error(&self) -> Option<&str> {
        self.call.error.as_deref()
    }

    /// The text of a call that cannot be read.
    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        self.call.raw.as_deref().map(|raw| string(py, raw)).transpose()
    }

    /// How certain it is that the call was meant, by its form and its place: `"sure"`, `"likely"` or `"doubtful"`; None while the
    /// text of a stream has not ended.
    #[getter]
    #[pyo3(name = "certainty")]
    fn certainty_name(&self) -> Option<&'static str> {
        self.call.certainty.map(Certainty::name)
    }

    /// The sentence around a call that is not sure.
    #[getter]
    pub fn sentence<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        let text = self.text.as_ref();
        text.map(|text| string(py, &parse::sentence_around(text, self.span))).transpose()
    }

    /// The call as plain data.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static COPY: Imported = Imported::new("copy", "deepcopy");
        let dict = PyDict::new(py);
        dict.set_item(intern!(py, "name"), &self.name)?;
        dict.set_item(intern!(py, "arguments"), COPY.get(py)?.call1((&self.arguments,))?)?;
        dict.set_item(intern!(py, "id"), &self.id)?;
        dict.set_item(intern!(py, "source"), self.source())?;
        dict.set_item(intern!(py, "span"), self.span)?;
        dict.set_item(intern!(py, "repairs"), self.repairs())?;
        dict.set_item(intern!(py, "error"), self.error())?;
        dict.set_item(intern!(py, "raw"), self.raw(py)?)?;
        dict.set_item(intern!(py, "certainty"), self.certainty_name())?;
        Ok(dict.into_any())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (name, id) = (self.name.to_str(py)?, self.id.to_str(py)?);
        Ok(match self.error() {
            Some(error) => format!("ParsedCall(name={name:?}, id={id:?}, error={error:?})"),
            None => {
                let arguments = self.arguments.bind(py).repr()?;
                format!("ParsedCall(name={name:?}, id={id:?}, arguments={arguments})")
            }
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.arguments)
    }
}

/// The calls in a text or in a message of a chat API, the text around them, and the dialect that it commits to.
#[pyfunction]
#[pyo3(signature = (text, format="auto", tools=None, reasoning="auto"))]
pub fn parse_text(
    text: &Bound<'_, PyAny>,
    format: &str,
    tools: Option<&Bound<'_, PyAny>>,
    reasoning: &str,
) -> PyResult<ParsedMessage> {
    parse_message("parse()", text, &options(format, tools, reasoning)?)
}

/// The calls, the text around them, and the dialect that the text commits to.
pub type ParsedMessage = (Vec<Py<PyParsedCall>>, Py<PyString>, Option<&'static str>);

/// Parses a text or a message of a chat API; `caller` is the function that takes it. A message of objects is spelt out, and a
/// call with values that have no JSON form is an entry with an error.
pub fn parse_message(
    caller: &str,
    text: &Bound<'_, PyAny>,
    options: &ParseOptions,
) -> PyResult<ParsedMessage> {
    static SPELT_OUT: Imported = Imported::new("toolhub.parsing", "spelt_out");
    let py = text.py();
    let given = text.cast::<PyString>().ok();
    let read = match (given, text.cast::<PyBytes>()) {
        (Some(text), _) => Some(all_of(text)?),
        (None, bytes) => bytes.ok().map(|bytes| String::from_utf8_lossy(bytes.as_bytes())),
    };
    if let Some(text) = read {
        let found = released(py, text.len(), || parse::parse(&text, options));
        // Other texts may have lone surrogates, which are replaced.
        let is_same = matches!(text, Cow::Borrowed(ascii) if ascii == found.text);
        let around = given.filter(|given| is_same && given.is_exact_instance_of::<PyString>());
        let around = around.cloned().map_or_else(|| string(py, &found.text), Ok)?;
        let is_sure = |call: &ParsedCall| call.certainty == Some(Certainty::Sure);
        let text = (!found.calls.iter().all(is_sure)).then(|| Arc::from(&*text));
        return Ok((made(py, found.calls, None, text.as_ref())?, around.unbind(), found.format));
    }
    let refuse = |why: String| {
        PyTypeError::new_err(format!("{caller} takes a text or a message of a chat API: {why}"))
    };
    let (value, marks) = match json::from_python(text) {
        Ok(value) => (value, None),
        Err(why) => match json::marked(&SPELT_OUT.get(py)?.call1((text,))?).map_err(refuse)? {
            (value, marks) if value.is_object() || value.is_array() => (value, Some(marks)),
            _ => return Err(refuse(why)),
        },
    };
    if !(value.is_object() || value.is_array()) {
        return Err(refused(caller, text));
    }
    let found = py.detach(|| {
        let (mut found, text) = parse::parse_value(&value, options);
        drop(value);
        if let Some(marks) = marks {
            if marks.too_deep && found.calls.is_empty() {
                return None;
            }
            found.text = marks.removed_from(&found.text);
            found.calls.iter_mut().for_each(|call| fail_marked(call, &marks));
            replace_marked_ids(&mut found.calls, &marks);
        }
        Some((found, text))
    });
    let (found, spoken) = found.ok_or_else(|| refuse("it is nested too deeply, or cyclic".to_owned()))?;
    let (api, text) = (found.format, spoken.map(Arc::from));
    let calls = made(py, found.calls, api, text.as_ref())?;
    Ok((calls, string(py, &found.text)?.unbind(), found.format))
}

fn made(
    py: Python<'_>,
    calls: Vec<ParsedCall>,
    api: Option<&str>,
    text: Option<&Arc<str>>,
) -> PyResult<Vec<Py<PyParsedCall>>> {
    calls.into_iter().map(|call| PyParsedCall::new(py, call, api, text)).collect()
}

/// Turns a call with parts that have no JSON form into an entry with an error.
fn fail_marked(call: &mut ParsedCall, marks: &json::Marks) {
    if let Some(reason) = marks.reason(&call.name) {
        call.error = Some(message!("The name of the tool cannot be read: {}.", reason));
        (call.name, call.raw) = (String::new(), None);
        call.arguments = CallArguments::default();
    }
    if let Some(raw) = &call.raw {
        if let Some(reason) = marks.reason(raw) {
            call.error = Some(message!("The call cannot be read: {}.", reason));
        }
        call.raw = Some(marks.removed_from(raw));
    }
    if let Some(reason) = call.arguments.values().find_map(|value| marks.reason_in(value)) {
        call.error = Some(message!("The arguments cannot be read: {}.", reason));
        call.arguments = CallArguments::default();
    }
    if call.source.as_deref().is_some_and(|source| marks.reason(source).is_some()) {
        call.source = None;
    }
}

/// Gives calls whose id has no JSON form one that no other call has.
fn replace_marked_ids(calls: &mut [ParsedCall], marks: &json::Marks) {
    for at in 0..calls.len() {
        if marks.reason(&calls[at].id).is_some() {
            let mut id = format!("call_{}", at + 1);
            while calls.iter().any(|call| call.id == id) {
                id.push('_');
            }
            (calls[at].id, calls[at].id_from_model) = (id, false);
        }
    }
}

fn refused(caller: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let class = class_of(given);
    let (given, hint) = match given.is_none() {
        true => ("None", "; a message without text may have its calls elsewhere: pass the whole message"),
        false => (class.as_str(), ""),
    };
    PyTypeError::new_err(format!("{caller} takes a text or a message of a chat API, got {given}{hint}"))
}

/// The names of all formats, without `auto`.
#[pyfunction]
pub fn parse_formats() -> Vec<&'static str> {
    parse::formats()
}

/// Parses a text that arrives in deltas of any size, and returns the events each delta makes certain.
///
/// `reasoning` says where the text begins: `"closed"`, outside of reasoning, so each call counts as soon as it is complete;
/// `"open"`, inside, because the prompt template has the opening tag; `"auto"` finds out. Both hold calls back until the text
/// ends: before that a closing tag may show that they were only thought of.
#[pyclass(frozen, module = "toolhub", name = "StreamParser")]
pub struct PyStreamParser {
    /// Never held while Python runs.
    stream: Mutex<parse::StreamParser>,
    /// Calls that were returned before and can no longer change.
    settled: Py<PyList>,
}

#[pymethods]
impl PyStreamParser {
    #[new]
    #[pyo3(signature = (format="auto", tools=None, reasoning="auto"))]
    fn new(
        py: Python<'_>,
        format: &str,
        tools: Option<&Bound<'_, PyAny>>,
        reasoning: &str,
    ) -> PyResult<Self> {
        let stream = Mutex::new(parse::StreamParser::new(&options(format, tools, reasoning)?));
        Ok(Self { stream, settled: PyList::empty(py).unbind() })
    }

    /// Take the next delta, text or bytes (a character may be split), and return the events that are certain now.
    #[pyo3(signature = (delta: "str | bytes") -> "list[dict[str, Any]]")]
    fn feed<'py>(&self, delta: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = delta.py();
        let made = if let Ok(text) = delta.cast::<PyString>() {
            let given = text;
            let text = all_of(given)?;
            // One that was read where Python keeps it may be passed on as the object that it is.
            let is_short = matches!(text, Cow::Borrowed(text) if text.len() <= LONGEST_PASSED);
            if is_short && given.is_exact_instance_of::<PyString>() && self.stream.lock().pass(&text) {
                let dict = PyDict::new(py);
                dict.set_item(intern!(py, "type"), intern!(py, "text"))?;
                dict.set_item(intern!(py, "text"), given)?;
                return Ok(PyList::new(py, [dict])?.into_any());
            }
            released(py, text.len(), || self.stream.lock().feed(&text))
        } else if let Ok(bytes) = delta.cast::<PyBytes>() {
            let bytes = bytes.as_bytes();
            released(py, bytes.len(), || self.stream.lock().feed_bytes(bytes))
        } else {
            let given = class_of(delta);
            return Err(PyTypeError::new_err(format!("feed() takes str or bytes, got {given}")));
        };
        events(py, made)
    }

    /// End the text and return the events that were held back.
    #[pyo3(signature = () -> "list[dict[str, Any]]")]
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let made = py.detach(|| self.stream.lock().finish());
        // Now their certainty is known.
        self.settled.bind(py).call_method0(intern!(py, "clear"))?;
        events(py, made)
    }

    /// The calls so far, including those that cannot be read. The last one may still grow by its end tag, and their `certainty` is
    /// known after `finish`.
    #[getter]
    fn calls<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyParsedCall>>> {
        let known = self.settled.bind(py);
        let calls: Result<Vec<_>, _> = known.iter().map(Bound::cast_into::<PyParsedCall>).collect();
        let mut calls = calls?;
        let before = calls.len();
        let (new, settled) = self.stream.lock().calls_from(before);
        for call in new {
            calls.push(PyParsedCall::new(py, call, None, None)?.into_bound(py));
        }
        // Another thread may have appended them while the objects were made.
        if known.len() == before {
            calls.iter().take(settled).skip(before).try_for_each(|call| known.append(call))?;
        }
        Ok(calls)
    }

    /// The dialect that the text commits to so far: see `ParseResult.format`.
    #[getter]
    fn format(&self) -> Option<&'static str> {
        self.stream.lock().format()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.settled)
    }
}

pub fn options(format: &str, tools: Option<&Bound<'_, PyAny>>, reasoning: &str) -> PyResult<ParseOptions> {
    let options = ParseOptions::format(format).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mode = ReasoningMode::named(reasoning).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let options = options.with_reasoning(mode);
    let Some(tools) = tools else { return Ok(options) };
    let described: PyResult<Vec<Value>> = tools.try_iter()?.map(|tool| described(&tool?)).collect();
    options.with_descriptions(Value::Array(described?)).map_err(PyValueError::new_err)
}

/// A tool description: a dict as the APIs take it, or an object with these attributes, such as the hub's own tools.
fn described(tool: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = tool.py();
    let value = match tool.getattr_opt(intern!(py, "parameters"))? {
        Some(parameters) => {
            let name = tool.getattr(intern!(py, "name"))?;
            json::from_python(&parameters).and_then(|parameters| {
                Ok(json!({"name": json::from_python(&name)?, "parameters": parameters}))
            })
        }
        None => json::from_python(tool),
    };
    value.map_err(PyValueError::new_err)
}

/// Longer deltas are read without the GIL.
const LONGEST_PASSED: usize = 1_000;

/// Events as plain dicts.
fn events(py: Python<'_>, events: Vec<Event>) -> PyResult<Bound<'_, PyAny>> {
    json::to_python(py, &serde_json::to_value(events).unwrap_or_default())
}
