//! What Python needs of the core to read: JSON of a model that is not a call, YAML of a user, configuration files, kinds, words
//! and likeness.

use crate::prelude::*;
use crate::values::json::JsonValue;
use std::path::PathBuf;
use toolhub::Named;
use toolhub::hub::MIN_RESULT_LIMIT;
use toolhub::kind::ToolKind;
use toolhub::model::Lang;
use toolhub::parse::{self, ReasoningMode};
use toolhub::select::effects;
use toolhub::sources::mcp::config::{self, environment, raw_entries, server_from};
use toolhub::sources::skills::front_matter;
use toolhub::text::{self, nearest};
use toolhub::wording::row_of;
use toolhub::{inspector, search, secret};

/// Reads the JSON value at the start of a model's text: the value, the repairs, and why the rest of a list was left out.
#[pyfunction]
pub fn read_json(py: Python<'_>, text: &str) -> PyResult<ReadDocument> {
    let read = py.detach(|| parse::read_json(text)).map_err(PyValueError::new_err)?;
    Ok((JsonValue(read.value), read.repairs, read.cut))
}

/// A JSON value, the repairs, and why the rest of a list was left out.
type ReadDocument = (JsonValue, Vec<&'static str>, Option<String>);

/// Reads all JSON objects and lists in a model's text, without what it only thought.
#[pyfunction]
#[pyo3(signature = (text, reasoning="auto"))]
pub fn read_documents(py: Python<'_>, text: &str, reasoning: &str) -> PyResult<Vec<ReadDocument>> {
    let mode = ReasoningMode::named(reasoning).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let read = py.detach(|| parse::read_documents(text, mode));
    Ok(read.into_iter().map(|one| (JsonValue(one.value), one.repairs, one.cut)).collect())
}

/// The text of a message of a chat API, or of its blocks, without the thoughts of the model; `None` for other data.
#[pyfunction]
pub fn message_text(message: &Bound<'_, PyAny>) -> Option<String> {
    let value = json::from_python(message).ok()?;
    parse::message_text(&value)
}

/// Reads a YAML mapping as plain data.
#[pyfunction]
pub fn read_yaml(py: Python<'_>, text: &str) -> PyResult<JsonValue> {
    let fields = py.detach(|| front_matter::read_mapping(text)).map_err(PyValueError::new_err)?;
    Ok(JsonValue(serde_json::Value::Object(fields)))
}

/// The servers of a client's configuration file by id, as they are written there; `ValueError` if it cannot be read.
#[pyfunction]
#[pyo3(signature = (path: "str") -> "dict[str, Any]")]
pub fn config_entries(py: Python<'_>, path: PathBuf) -> PyResult<JsonValue> {
    let entries = py.detach(|| raw_entries(&path)).map_err(PyValueError::new_err)?;
    Ok(JsonValue(serde_json::Value::Object(entries)))
}

/// Why the entry of a server in a file cannot be used; `None` if it can.
#[pyfunction]
pub fn config_problem(path: PathBuf, id: &str, entry: &Bound<'_, PyAny>) -> Option<String> {
    let entry = match json::from_python(entry) {
        Ok(entry) => entry,
        Err(reason) => return Some(format!("{}: server '{id}' must be JSON: {reason}", path.display())),
    };
    let read = server_from(id, &entry, Some(&path), &environment, None);
    read.err().and_then(|errors| errors.first().map(ToString::to_string))
}

/// The kind of a tool with this name and these capabilities: calculation, time, search, extraction, history or other.
#[pyfunction]
pub fn tool_kind(name: &str, capabilities: Vec<String>) -> &'static str {
    ToolKind::of(&capabilities, name).name()
}

/// The words of a name or a text in lower case; a run of Chinese characters is one word.
#[pyfunction]
pub fn words_of(text: &str) -> Vec<String> {
    text::words(text)
}

/// The Jaccard similarity of two texts by their words, Chinese by its characters: from 0 to 1.
#[pyfunction]
pub fn similarity(one: &str, other: &str) -> f64 {
    text::similarity(one, other)
}

/// The verbs of a text that say that something was changed: where each stands, the verb, and what it means in both languages.
#[pyfunction]
pub fn deeds_in(text: &str) -> Vec<(usize, usize, String, Vec<String>)> {
    let found = search::deeds_in(text);
    found.into_iter().map(|deed| (deed.start, deed.end, deed.verb.to_owned(), meanings(deed.verb))).collect()
}

/// What the words of a name mean in both languages; two that mean the same have one in common.
#[pyfunction]
pub fn meanings(text: &str) -> Vec<String> {
    search::meanings(text).into_iter().collect()
}

/// On which sides of pairs of opposites a verb stands, with its "on" or "off" in the rest of a clause or of a name.
#[pyfunction]
pub fn sides_of(verb: &str, rest: &str) -> Vec<(usize, bool)> {
    search::sides(verb, rest).into_iter().collect()
}

/// The first object that a clause about a deed names and that no call was for. `given` are short arguments of the calls that did
/// it, `known` their texts and `elsewhere` those of others, in lower case.
#[pyfunction]
pub fn unreached(
    clause: &str,
    answer: &str,
    given: Vec<String>,
    known: &str,
    elsewhere: &str,
) -> Option<String> {
    search::unreached(clause, answer, &search::DoneCalls { given: &given, known, elsewhere })
}

/// The template of a sentence in a language, where its places are numbered; a text that is not in the table stays.
#[pyfunction]
pub fn in_language(template: &str, lang: &str) -> String {
    let row = (lang == "zh").then(|| row_of(template)).flatten();
    row.map_or(template, |(_, chinese)| chinese).to_owned()
}

/// Units of measure: the name of each, its kind, and its worth in the base of the kind; 0 for a degree Fahrenheit.
#[pyfunction]
pub fn units() -> Vec<(&'static str, &'static str, f64)> {
    text::units().collect()
}

/// A text with its numbers in digits.
#[pyfunction]
pub fn in_digits(text: &str) -> String {
    text::in_digits(text)
}

/// Whether a text names something that another one does not.
#[pyfunction]
pub fn names_more(said: &str, known: &str) -> bool {
    search::names_more(said, known)
}

/// The acting verb in the name of a tool of which nothing else is known: empty if it may act all the same, `None` if the name
/// says that it is harmless.
#[pyfunction]
pub fn acting_verb(name: &str) -> Option<&'static str> {
    effects::acting_verb(name)
}

/// The kinds of errors in order: name, whether a retry can help, and the outcome that it implies by default.
#[pyfunction]
pub fn error_kinds() -> Vec<(&'static str, bool, &'static str)> {
    let row = |kind: &ErrorKind| (kind.name(), kind.retryable(), HubError::new(*kind, "").outcome.name());
    ErrorKind::ALL.iter().map(row).collect()
}

/// The least number of characters that a run gives a model of a result.
#[pyfunction]
pub fn min_result_limit() -> usize {
    MIN_RESULT_LIMIT
}

/// The keys of `toolhub` in the entry of a server.
#[pyfunction]
pub fn server_options() -> Vec<&'static str> {
    config::server_options()
}

/// Whether a name says that what it stands for must not be shown.
#[pyfunction]
pub fn is_secret_name(name: &str) -> bool {
    secret::is_secret_name(name)
}

/// Says what to write instead. `owner` has the options (`hub.execute()`), and `what` they are ("option"). `call` is the call
/// to write if the names are parameters of the tool; otherwise the nearest option is suggested.
#[pyfunction]
#[pyo3(signature = (owner, what, unknown, known, call=None))]
pub fn unknown_options(
    owner: &str,
    what: &str,
    unknown: Vec<String>,
    known: Vec<String>,
    call: Option<&str>,
) -> String {
    let names: Vec<String> = unknown.iter().map(|name| format!("'{name}'")).collect();
    let has_no = match names.as_slice() {
        [one] => format!("{owner} has no {what} {one}"),
        [rest @ .., last] => format!("{owner} has no {what}s {} and {last}", rest.join(", ")),
        [] => return String::new(),
    };
    if let Some(call) = call {
        return format!("{has_no}; pass the arguments of the tool as a mapping: {call}");
    }
    let known = || known.iter().map(String::as_str);
    let near: Vec<String> =
        unknown.iter().filter_map(|name| nearest(name, known())).map(|near| format!("'{near}'")).collect();
    match near.as_slice() {
        [] if known().next().is_none() => format!("{has_no}, and no other {what}s"),
        [] => format!("{has_no}; its {what}s are {}", known().collect::<Vec<_>>().join(", ")),
        near => format!("{has_no}; did you mean {}?", near.join(" and ")),
    }
}

/// The page of a recorded run, or of two that are compared; `ValueError` if a file is wrong.
#[pyfunction]
#[pyo3(signature = (run, other=None, lang="en"))]
pub fn recorded_page(py: Python<'_>, run: PathBuf, other: Option<PathBuf>, lang: &str) -> PyResult<String> {
    let lang = Lang::named(lang).unwrap_or_default();
    py.detach(|| inspector::recorded_page(&run, other.as_deref(), lang)).map_err(PyValueError::new_err)
}
