//! The dicts that every result starts from.
//!
//! Copying a dict that already has all its keys is much cheaper than growing one key by key, so each shape is built once:
//! for all results, and again for each Python tool with its name and source filled in.

use crate::prelude::*;
use crate::runtime::interpreter::ForkSafeOnce;
use serde_json::json;
use toolhub::hub::cancelled;
use toolhub::model::{Lang, Source, Strategy};
use toolhub::registry::Candidate;

/// The shapes that all results share.
struct ResultTemplates {
    success: Py<PyDict>,
    meta: Py<PyDict>,
    attempt: Py<PyDict>,
}

impl ResultTemplates {
    fn get(py: Python<'_>) -> PyResult<&ResultTemplates> {
        static TEMPLATES: ForkSafeOnce<ResultTemplates> = ForkSafeOnce::new();
        TEMPLATES.get_or_try_init(|| {
            let meta = json!({
                "tool": null, "source": null, "server": null, "strategy": "none", "synthesized": false,
                "synthesis_method": null, "source_count": 0, "sources": null, "attempts": null, "duration_ms": 0.0,
                "truncated": false, "cached": false,
            });
            let attempt = json!({
                "tool": null, "source": null, "server": null, "ok": null, "error": null, "duration_ms": null,
            });
            let success = json!({"success": true, "result": null, "error": null, "_meta": null});
            Ok(Box::new(ResultTemplates {
                success: template(py, &success)?,
                meta: template(py, &meta)?,
                attempt: template(py, &attempt)?,
            }))
        })
    }
}

/// A dict with keys that are the strings of our own: they are found without a comparison.
fn template(py: Python<'_>, shape: &Value) -> PyResult<Py<PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in shape.as_object().into_iter().flatten() {
        dict.set_item(PyString::intern(py, key), json::to_python(py, value)?)?;
    }
    Ok(dict.unbind())
}

/// The shapes of one candidate's results.
pub struct CandidateTemplates {
    /// `_meta` of a result that this candidate gave.
    pub meta: Py<PyDict>,
    /// Its attempt when it answered, and when another candidate was faster.
    pub won: Py<PyDict>,
    pub lost: Py<PyDict>,
}

impl CandidateTemplates {
    /// `name` is the tool's name as the one string object that all its results share.
    pub fn new(name: &Bound<'_, PyString>, candidate: &Candidate, lang: Lang) -> PyResult<Self> {
        let py = name.py();
        let meta = ResultTemplates::get(py)?.meta.bind(py).copy()?;
        fill_meta(&meta, name, candidate)?;
        let won = new_attempt(name, candidate)?;
        won.set_item(intern!(py, "ok"), true)?;
        let lost = new_attempt(name, candidate)?;
        lost.set_item(intern!(py, "ok"), false)?;
        describe_error(&lost, &cancelled(&candidate.spec().name).in_language(lang))?;
        Ok(CandidateTemplates { meta: meta.unbind(), won: won.unbind(), lost: lost.unbind() })
    }
}

/// `_meta` with every key that a result has; nothing is known yet.
pub fn blank_meta(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    ResultTemplates::get(py)?.meta.bind(py).copy()
}

/// The `_meta` of a result about which nothing is known but, perhaps, its tool.
#[pyfunction]
#[pyo3(signature = (tool=None) -> "dict[str, object]")]
pub fn empty_meta<'py>(py: Python<'py>, tool: Option<&Bound<'py, PyString>>) -> PyResult<Bound<'py, PyDict>> {
    let meta = blank_meta(py)?;
    meta.set_item(intern!(py, "tool"), tool)?;
    meta.set_item(intern!(py, "sources"), PyList::empty(py))?;
    meta.set_item(intern!(py, "attempts"), PyList::empty(py))?;
    Ok(meta)
}

/// Fills in an empty result with all keys, as a success has them.
pub fn fill_success(result: &Bound<'_, PyDict>) -> PyResult<()> {
    let py = result.py();
    result.update(ResultTemplates::get(py)?.success.bind(py).as_mapping())
}

/// What every `_meta` of an answer of this candidate says.
pub fn fill_meta(
    meta: &Bound<'_, PyDict>,
    name: &Bound<'_, PyString>,
    candidate: &Candidate,
) -> PyResult<()> {
    fill_source(meta, name, candidate)?;
    meta.set_item(intern!(meta.py(), "source_count"), 1)
}

fn fill_source(row: &Bound<'_, PyDict>, name: &Bound<'_, PyString>, candidate: &Candidate) -> PyResult<()> {
    let py = row.py();
    row.set_item(intern!(py, "tool"), name)?;
    row.set_item(intern!(py, "source"), source_name(py, candidate.source))?;
    match &candidate.server {
        Some(server) => row.set_item(intern!(py, "server"), &**server),
        None => Ok(()),
    }
}

/// Adds what differs from call to call.
pub fn describe_call(
    meta: &Bound<'_, PyDict>,
    best: Option<&Candidate>,
    strategy: Strategy,
    duration: Duration,
) -> PyResult<()> {
    let py = meta.py();
    let sources = match best {
        Some(candidate) => PyList::new(py, [source_name(py, candidate.source)])?,
        None => PyList::empty(py),
    };
    meta.set_item(intern!(py, "sources"), sources)?;
    meta.set_item(intern!(py, "strategy"), strategy_name(py, strategy))?;
    meta.set_item(intern!(py, "duration_ms"), duration.as_secs_f64() * 1e3)
}

/// What every attempt of this candidate says.
pub fn new_attempt<'py>(name: &Bound<'py, PyString>, candidate: &Candidate) -> PyResult<Bound<'py, PyDict>> {
    let row = ResultTemplates::get(name.py())?.attempt.bind(name.py()).copy()?;
    fill_source(&row, name, candidate)?;
    Ok(row)
}

pub fn describe_error(row: &Bound<'_, PyDict>, error: &HubError) -> PyResult<()> {
    row.set_item(intern!(row.py(), "error"), &*error.message)?;
    row.set_item(intern!(row.py(), "kind"), error.kind.name())
}

/// The name of a source as one of three shared strings.
pub fn source_name(py: Python<'_>, source: Source) -> &Bound<'_, PyString> {
    match source {
        Source::Tools => intern!(py, "tools"),
        Source::Skills => intern!(py, "skills"),
        Source::Mcps => intern!(py, "mcps"),
    }
}

fn strategy_name(py: Python<'_>, strategy: Strategy) -> &Bound<'_, PyString> {
    match strategy {
        Strategy::Auto => intern!(py, "auto"),
        Strategy::First => intern!(py, "first"),
        Strategy::All => intern!(py, "all"),
        Strategy::Fallback => intern!(py, "fallback"),
    }
}
