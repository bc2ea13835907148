//! Every `ToolResult`: of a call that ran, and of one that was refused; and the dicts that they start from.
//!
//! Copying a dict that already has all its keys is much cheaper than growing one key by key, so each shape is built once:
//! for all results, and again for each Python tool with its name and source filled in.

use crate::drivers::execution::{Attempt, State, replayed_time};
use crate::prelude::*;
use crate::runtime::interpreter::{ForkSafeOnce, released};
use crate::values::arguments::callable::{CallableKind, python_tool, raised};
use crate::values::errors::error_details;
use crate::values::results::blocks::{Blocks, own_text, text_of};
use crate::values::results::text::merged;
use crate::values::unicode::{start_of, string};
use crate::values::value;
use serde_json::json;
use smallvec::SmallVec;
use toolhub::cassette::recording_of;
use toolhub::error::Outcome;
use toolhub::execute::Fate;
use toolhub::hub::{PlannedRun, cancelled};
use toolhub::invisible::error_line;
use toolhub::merge::{self, MergedText};
use toolhub::message::Message;
use toolhub::model::{Lang, Source, Strategy};
use toolhub::model_output::content::ImageNotes;
use toolhub::plan::answer_kind;
use toolhub::registry::Candidate;
use toolhub::select::Rule;

/// The class of results: dicts with attributes, defined in Python.
pub fn tool_result(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASS: Imported = Imported::new("toolhub.result", "ToolResult");
    CLASS.get(py)
}

pub fn new_result(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    Ok(tool_result(py)?.call0()?.cast_into()?)
}

/// A result that is being made, and its `_meta`.
struct Unfinished<'py> {
    result: Bound<'py, PyDict>,
    meta: Bound<'py, PyDict>,
}

/// The result of an execution, in the language of its hub.
pub fn build(py: Python<'_>, mut finished: State, now: Instant) -> PyResult<Bound<'_, PyDict>> {
    let Some(plan) = finished.plan.take() else {
        return refused(py, None, &HubError::new(ErrorKind::Cancelled, message!("Cancelled.")));
    };
    let result = result_of(py, &plan, &mut finished.attempts, now);
    let result = result.or_else(|error| unreadable(py, &plan, error))?;
    mark_language(&result, plan.lang)?;
    Ok(result)
}

/// Frames around the result, which Python writes, follow the language of its hub.
pub fn mark_language(result: &Bound<'_, PyDict>, lang: Lang) -> PyResult<()> {
    match lang {
        Lang::En => Ok(()),
        lang => result.setattr(intern!(result.py(), "_lang"), lang.name()),
    }
}

fn result_of<'py>(
    py: Python<'py>,
    plan: &PlannedRun,
    attempts: &mut [Attempt],
    now: Instant,
) -> PyResult<Bound<'py, PyDict>> {
    let result = new_result(py)?;
    let has_value = |slot: usize| !attempts[slot].value.as_ref().is_none_or(|value| value.is_none(py));
    let winners = plan.merged_slots(has_value);
    let best = winners.iter().min().map(|slot| &*plan.candidates[*slot]);
    let meta = match best {
        Some(candidate) => meta_of(py, candidate, plan.lang)?,
        None => blank_meta(py)?,
    };
    let took = replayed_time(plan).unwrap_or_else(|| now.saturating_duration_since(plan.run.begun()));
    let sources = best.map(|candidate| source_name(py, candidate.source));
    meta.set_item(intern!(py, "sources"), PyList::new(py, sources)?)?;
    meta.set_item(intern!(py, "strategy"), strategy_name(py, plan.strategy))?;
    meta.set_item(intern!(py, "duration_ms"), took.as_secs_f64() * 1e3)?;
    if best.is_none() {
        meta.set_item(intern!(py, "tool"), &*plan.what)?;
    }
    if plan.rule != Rule::OneCandidate {
        meta.set_item(intern!(py, "rule"), &*plan.rule.sentence())?;
    }
    let errors = describe_attempts(plan, attempts, &meta, best.is_some(), now)?;
    match winners.as_slice() {
        [] => {
            let final_error =
                plan.final_error(errors.iter().map(|(slot, error)| (*slot, error))).in_language(plan.lang);
            let retryable = final_error.is_retryable(plan.is_repeatable());
            let same = || errors.iter().filter(|(_, error)| error.message == final_error.message);
            let sent = same().map(|(slot, _)| *slot).find(|slot| attempts[*slot].blocks.is_some());
            let blocks = sent.and_then(|slot| attempts[slot].blocks.take());
            let unfinished = Unfinished::with(result, meta, blocks)?;
            let exception = same().chain(&errors).find_map(|(slot, _)| attempts[*slot].exception.as_deref());
            match same().find_map(|(slot, _)| attempts[*slot].value.as_ref()) {
                Some(own) => unfinished.own_failure(&final_error, retryable, own.bind(py)),
                None => unfinished.failure(&final_error, retryable, exception),
            }
        }
        [only] => {
            let value = attempts[*only].value.take().unwrap_or_else(|| py.None());
            let unfinished = Unfinished::with(result, meta, attempts[*only].blocks.take())?;
            match attempts[*only].is_own_result {
                true => unfinished.own_success(value.bind(py)),
                false => unfinished.success(value),
            }
        }
        many => {
            let (MergedText { text, truncated }, full) = merged_answers(py, plan, attempts, many)?;
            let sources = many.iter().map(|slot| source_name(py, plan.candidates[*slot].source));
            meta.set_item(intern!(py, "synthesized"), true)?;
            meta.set_item(intern!(py, "synthesis_method"), intern!(py, "simple_merge"))?;
            meta.set_item(intern!(py, "source_count"), many.len())?;
            meta.set_item(intern!(py, "truncated"), truncated)?;
            meta.set_item(intern!(py, "sources"), PyList::new(py, sources.collect::<Vec<_>>())?)?;
            result.setattr(intern!(py, "_answer_kind"), answer_kind(plan).name())?;
            result.setattr(intern!(py, "_full"), full)?;
            Unfinished { result, meta }.success(string(py, &text)?.into_any().unbind())
        }
    }
}

/// Lists the candidates that were tried and skipped, and their errors; returns the errors.
fn describe_attempts(
    plan: &PlannedRun,
    attempts: &mut [Attempt],
    meta: &Bound<'_, PyDict>,
    answered: bool,
    now: Instant,
) -> PyResult<Vec<(usize, HubError)>> {
    let py = meta.py();
    let mut tried: SmallVec<[Bound<'_, PyDict>; 4]> = SmallVec::new();
    let mut warnings: Vec<Message> = Vec::new();
    let mut unchecked: Vec<String> = Vec::new();
    let mut skipped = Vec::new();
    let mut failed = Vec::new();
    let mut errors = Vec::new();
    for (slot, attempt) in attempts.iter_mut().enumerate() {
        let candidate = &plan.candidates[slot];
        let fate = plan.run.fate(slot);
        if fate == Fate::NotTried {
            continue;
        }
        warnings.append(&mut attempt.warnings);
        unchecked.extend(attempt.unchecked.drain(..).map(|rule| rule.to_string()));
        let templates = templates_of(py, candidate, plan.lang)?;
        let usual = templates.and_then(|templates| match fate {
            Fate::Succeeded => Some(&templates.won),
            // It lost to one that answered.
            Fate::Stopped if answered => Some(&templates.lost),
            _ => None,
        });
        let recording = if plan.is_replayed { recording_of(candidate) } else { None };
        let ran = match recording {
            Some(recording) => recording.ms,
            None => plan.run.duration(slot, now).unwrap_or_default().as_secs_f64() * 1e3,
        };
        if let Some(usual) = usual {
            let row = usual.bind(py).copy()?;
            row.set_item(intern!(py, "duration_ms"), ran)?;
            tried.push(row);
            continue;
        }
        let row = new_attempt(&tool_name(py, candidate), candidate)?;
        row.set_item(intern!(py, "ok"), fate == Fate::Succeeded)?;
        row.set_item(intern!(py, "duration_ms"), ran)?;
        let reported = attempt.error.take().map(|error| *error);
        if let Some(error) = reported.or_else(|| plan.silent_error(slot)) {
            let error = error.in_language(plan.lang);
            describe_error(&row, &error)?;
            // Losing a race is not an error.
            if fate != Fate::Stopped {
                failed.push(row.copy()?);
            }
            errors.push((slot, error));
        }
        if fate == Fate::Rejected { skipped.push(row) } else { tried.push(row) }
    }
    meta.set_item(intern!(py, "attempts"), PyList::new(py, tried)?)?;
    if !warnings.is_empty() {
        warnings.dedup();
        let warnings: Vec<_> = warnings.iter().map(|warning| warning.text(plan.lang)).collect();
        meta.set_item(intern!(py, "warnings"), warnings)?;
    }
    if !unchecked.is_empty() {
        unchecked.dedup();
        meta.set_item(intern!(py, "unchecked"), unchecked)?;
    }
    if !skipped.is_empty() {
        meta.set_item(intern!(py, "skipped"), skipped)?;
    }
    if !failed.is_empty() {
        meta.set_item(intern!(py, "errors"), failed)?;
    }
    Ok(errors)
}

/// The answers as one text, and each as it came, with its source.
fn merged_answers<'py>(
    py: Python<'py>,
    plan: &PlannedRun,
    attempts: &[Attempt],
    winners: &[usize],
) -> PyResult<(MergedText, Bound<'py, PyList>)> {
    let (mut parts, full) = (Vec::with_capacity(winners.len()), PyList::empty(py));
    for slot in winners {
        let (attempt, source) = (&attempts[*slot], plan.candidates[*slot].label());
        let value = value::inner_value(py, attempt)?;
        let blocks = attempt.blocks.as_deref();
        let made = || string(py, &text_of(&value, blocks, ImageNotes::Shown)?.unwrap_or_default());
        let text = own_text(&value, blocks).map_or_else(made, Ok)?;
        let row = PyDict::new(py);
        row.set_item(intern!(py, "source"), &source)?;
        row.set_item(intern!(py, "result"), value)?;
        full.append(row)?;
        parts.push((source, text));
    }
    Ok((merged(py, &parts, merge::PART_LIMIT)?, full))
}

/// The result of a call whose answer raises when it is read.
fn unreadable<'py>(py: Python<'py>, plan: &PlannedRun, error: PyErr) -> PyResult<Bound<'py, PyDict>> {
    let tool = &plan.what;
    let failed =
        raised(py, CallableKind::Tool, tool, &error).with_outcome(Outcome::Unknown).in_language(plan.lang);
    Unfinished::new(py, Some(tool))?.failure(&failed, failed.is_retryable(false), Some(&error))
}

/// The result of a call that ended before any candidate was tried.
pub fn refused<'py>(py: Python<'py>, tool: Option<&str>, error: &HubError) -> PyResult<Bound<'py, PyDict>> {
    Unfinished::new(py, tool)?.failure(error, error.is_retryable(false), None)
}

/// The result of a call that was made before, with its value.
pub fn succeeded<'py>(py: Python<'py>, tool: &str, value: Py<PyAny>) -> PyResult<Bound<'py, PyDict>> {
    Unfinished::new(py, Some(tool))?.success(value)
}

/// The result of a call that ended before any candidate was tried; the kind decides `retryable` and `outcome`.
#[pyfunction]
pub fn failed_result<'py>(
    tool: &Bound<'py, PyString>,
    kind: &str,
    message: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    let kind = ErrorKind::named(kind)
        .ok_or_else(|| PyValueError::new_err("kind must be one of toolhub.ErrorKind"))?;
    let error = HubError::new(kind, message.to_string_lossy().into_owned());
    refused(tool.py(), Some(&tool.to_string_lossy()), &error).map(Bound::into_any)
}

impl<'py> Unfinished<'py> {
    /// About nothing is known but, perhaps, the tool.
    fn new(py: Python<'py>, tool: Option<&str>) -> PyResult<Self> {
        let tool = tool.map(|tool| PyString::new(py, tool));
        Ok(Unfinished { result: new_result(py)?, meta: empty_meta(py, tool.as_ref())? })
    }

    /// With what a server sent besides the value: content, structured content and `_meta`.
    fn with(
        result: Bound<'py, PyDict>,
        meta: Bound<'py, PyDict>,
        blocks: Option<Box<Blocks>>,
    ) -> PyResult<Self> {
        let py = result.py();
        if let Some(blocks) = blocks {
            if let Some(server_meta) = &blocks.meta {
                meta.set_item(intern!(py, "server_meta"), json::to_python(py, server_meta)?)?;
            }
            result.setattr(intern!(py, "_blocks"), *blocks)?;
        }
        Ok(Unfinished { result, meta })
    }

    fn success(self, value: Py<PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let Unfinished { result, meta } = self;
        let py = result.py();
        fill_success(&result)?;
        result.set_item(intern!(py, "result"), value)?;
        result.set_item(intern!(py, "_meta"), meta)?;
        Ok(result)
    }

    /// The result of a tool that returned a mapping with `success`: its keys are those of the result.
    fn own_success(self, own: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        value::take_over(&self.result, own)?;
        self.result.set_item(intern!(own.py(), "result"), value::own_result(own)?)?;
        self.ended(true)
    }

    fn ended(self, success: bool) -> PyResult<Bound<'py, PyDict>> {
        let Unfinished { result, meta } = self;
        result.set_item(intern!(result.py(), "success"), success)?;
        result.set_item(intern!(result.py(), "_meta"), meta)?;
        Ok(result)
    }

    /// The failure that a tool reported with such a mapping. A text is shown as every error is: one line without commands to
    /// terminals. In the place of an error that is absent or empty stands the sentence.
    fn own_failure(
        self,
        error: &HubError,
        retryable: bool,
        own: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = own.py();
        value::take_over(&self.result, own)?;
        let details = error_details(py, error, retryable)?;
        details.set_item(intern!(py, "message"), &*error.message)?;
        self.meta.set_item(intern!(py, "error"), details)?;
        let result = self.ended(false)?;
        let given = result.get_item(intern!(py, "error"))?;
        let line = match given.as_ref().map(|given| given.cast::<PyString>()) {
            Some(Ok(text)) => {
                let text = start_of(text, usize::MAX)?;
                released(py, text.len(), move || error_line(&text, usize::MAX))
            }
            _ if given.as_ref().is_some_and(|given| given.is_truthy().unwrap_or(true)) => return Ok(result),
            _ => String::new(),
        };
        let shown = if line.is_empty() { &*error.message } else { &line };
        result.set_item(intern!(py, "error"), string(py, shown)?)?;
        Ok(result)
    }

    fn failure(
        self,
        error: &HubError,
        retryable: bool,
        exception: Option<&PyErr>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = self.result.py();
        self.meta.set_item(intern!(py, "error"), error_details(py, error, retryable)?)?;
        fill_success(&self.result)?;
        let result = self.ended(false)?;
        result.set_item(intern!(py, "error"), string(py, &error.message)?)?;
        if let Some(exception) = exception {
            // `into_value` puts the traceback back on the exception; `value` alone would lose it.
            result.setattr(intern!(py, "_exception"), exception.clone_ref(py).into_value(py))?;
        }
        Ok(result)
    }
}

fn templates_of<'a>(
    py: Python<'_>,
    candidate: &'a Candidate,
    lang: Lang,
) -> PyResult<Option<&'a CandidateTemplates>> {
    let Some(tool) = python_tool(candidate) else { return Ok(None) };
    let name = tool.name.bind(py);
    let make = || {
        let won = new_attempt(name, candidate)?;
        won.set_item(intern!(py, "ok"), true)?;
        let lost = new_attempt(name, candidate)?;
        lost.set_item(intern!(py, "ok"), false)?;
        describe_error(&lost, &cancelled(&candidate.spec().name).in_language(lang))?;
        let meta = meta_with(name, candidate)?.unbind();
        Ok(Box::new(CandidateTemplates { meta, won: won.unbind(), lost: lost.unbind() }))
    };
    tool.templates.get_or_try_init(make).map(Some)
}

fn meta_of<'py>(py: Python<'py>, candidate: &Candidate, lang: Lang) -> PyResult<Bound<'py, PyDict>> {
    match templates_of(py, candidate, lang)? {
        Some(templates) => templates.meta.bind(py).copy(),
        None => meta_with(&tool_name(py, candidate), candidate),
    }
}

/// A tool's name as the string that was made when it was registered.
fn tool_name<'py>(py: Python<'py>, candidate: &Candidate) -> Bound<'py, PyString> {
    match python_tool(candidate) {
        Some(tool) => tool.name.bind(py).clone(),
        None => PyString::new(py, &candidate.spec().name),
    }
}

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
    meta: Py<PyDict>,
    /// Its attempt when it answered, and when another candidate was faster.
    won: Py<PyDict>,
    lost: Py<PyDict>,
}

/// `_meta` with every key that a result has; nothing is known yet.
fn blank_meta(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
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
fn fill_success(result: &Bound<'_, PyDict>) -> PyResult<()> {
    let py = result.py();
    result.update(ResultTemplates::get(py)?.success.bind(py).as_mapping())
}

/// What every `_meta` of an answer of this candidate says.
fn meta_with<'py>(name: &Bound<'py, PyString>, candidate: &Candidate) -> PyResult<Bound<'py, PyDict>> {
    let meta = blank_meta(name.py())?;
    fill_source(&meta, name, candidate)?;
    meta.set_item(intern!(name.py(), "source_count"), 1)?;
    Ok(meta)
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

/// What every attempt of this candidate says.
fn new_attempt<'py>(name: &Bound<'py, PyString>, candidate: &Candidate) -> PyResult<Bound<'py, PyDict>> {
    let row = ResultTemplates::get(name.py())?.attempt.bind(name.py()).copy()?;
    fill_source(&row, name, candidate)?;
    Ok(row)
}

fn describe_error(row: &Bound<'_, PyDict>, error: &HubError) -> PyResult<()> {
    row.set_item(intern!(row.py(), "error"), &*error.message)?;
    row.set_item(intern!(row.py(), "kind"), error.kind.name())
}

/// The name of a source as one of three shared strings.
fn source_name(py: Python<'_>, source: Source) -> &Bound<'_, PyString> {
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
