//! From an ended execution to the `ToolResult` that the caller gets.

use super::execution::{Attempt, Early, Ended, python_tool};
use super::imported::Imported;
use super::json;
use super::once::{Once, intern};
use super::value;
use crate::error::{ErrorKind, HubError};
use crate::execute::Fate;
use crate::hub::{Plan, cancelled, part};
use crate::merge::{self, Merged};
use crate::model::{Source, Strategy};
use crate::registry::Candidate;
use crate::select::Rule;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use smallvec::SmallVec;
use std::time::{Duration, Instant};

/// A new `ToolResult`: a dict with attributes, defined in Python.
fn new_result(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    static CLASS: Imported = Imported::new("toolhub.result", "ToolResult");
    Ok(CLASS.get(py)?.call0()?.cast_into()?)
}

pub fn build(py: Python<'_>, mut ended: Ended, now: Instant) -> PyResult<Bound<'_, PyDict>> {
    let result = new_result(py)?;
    let Some(plan) = ended.plan.take() else {
        let meta = new_meta(py, None, None, Duration::ZERO)?;
        meta.set_item(intern!(py, "attempts"), PyList::empty(py))?;
        let gone = || Early { what: String::new(), error: HubError::new(ErrorKind::Cancelled, "Cancelled.") };
        let early = ended.early.take().map_or_else(gone, |early| *early);
        meta.set_item(intern!(py, "tool"), &early.what)?;
        return failure(py, result, meta, &early.error, None);
    };
    let winners: SmallVec<[usize; 4]> = plan.run.winners().collect();
    let best = winners.first().map(|slot| &*plan.candidates[*slot]);
    let meta = new_meta(py, best, Some(plan.strategy), now.saturating_duration_since(plan.run.begun()))?;
    if best.is_none() {
        meta.set_item(intern!(py, "tool"), &*plan.what)?;
    }
    if plan.rule != Rule::OneCandidate {
        meta.set_item(intern!(py, "rule"), plan.rule.sentence())?;
    }
    let errors = describe_attempts(py, &meta, &plan, &mut ended.attempts, best.is_some(), now)?;
    match winners.as_slice() {
        [] => {
            let final_error = plan.final_error(errors.iter().map(|(slot, error)| (*slot, error)));
            let exception = errors
                .iter()
                .filter(|(_, error)| error.message == final_error.message)
                .chain(&errors)
                .find_map(|(slot, _)| ended.attempts[*slot].exception.as_deref());
            failure(py, result, meta, &final_error, exception)
        }
        [only] => {
            let value = ended.attempts[*only].value.take().unwrap_or_else(|| py.None());
            if let Some(blocks) = ended.attempts[*only].blocks.take() {
                if let Some(told) = blocks.meta() {
                    meta.set_item(intern!(py, "server_meta"), json::to_python(py, told)?)?;
                }
                result.setattr(intern!(py, "_blocks"), *blocks)?;
            }
            success(py, result, meta, value)
        }
        many => {
            let mut many = many.to_vec();
            many.sort_by_key(|slot| plan.merge_order(*slot));
            let Merged { text, truncated } = merged(py, &plan, &ended.attempts, &many)?;
            let sources = many.iter().map(|slot| source_name(py, plan.candidates[*slot].source));
            meta.set_item(intern!(py, "synthesized"), true)?;
            meta.set_item(intern!(py, "synthesis_method"), intern!(py, "simple_merge"))?;
            meta.set_item(intern!(py, "source_count"), many.len())?;
            meta.set_item(intern!(py, "truncated"), truncated)?;
            meta.set_item(intern!(py, "sources"), PyList::new(py, sources.collect::<Vec<_>>())?)?;
            result.setattr(intern!(py, "_full"), whole_answers(py, &plan, &ended.attempts, &many)?)?;
            success(py, result, meta, PyString::new(py, &text).into_any().unbind())
        }
    }
}

fn success<'py>(
    py: Python<'py>,
    result: Bound<'py, PyDict>,
    meta: Bound<'py, PyDict>,
    value: Py<PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    result.update(Templates::get(py)?.success.bind(py).as_mapping())?;
    result.set_item(intern!(py, "result"), value)?;
    result.set_item(intern!(py, "_meta"), meta)?;
    Ok(result)
}

fn failure<'py>(
    py: Python<'py>,
    result: Bound<'py, PyDict>,
    meta: Bound<'py, PyDict>,
    error: &HubError,
    exception: Option<&PyErr>,
) -> PyResult<Bound<'py, PyDict>> {
    let details = PyDict::new(py);
    details.set_item(intern!(py, "kind"), error.kind.name())?;
    details.set_item(intern!(py, "code"), error.code)?;
    details.set_item(intern!(py, "status"), error.status)?;
    details.set_item(intern!(py, "retry_after"), error.retry_after)?;
    details.set_item(intern!(py, "retryable"), error.kind.retryable())?;
    details.set_item(intern!(py, "outcome"), error.outcome.name())?;
    if !error.suggestions.is_empty() {
        details.set_item(
            intern!(py, "suggestions"),
            error.suggestions.iter().map(|s| &**s).collect::<Vec<_>>(),
        )?;
    }
    meta.set_item(intern!(py, "error"), details)?;
    result.set_item(intern!(py, "success"), false)?;
    result.set_item(intern!(py, "result"), py.None())?;
    result.set_item(intern!(py, "error"), &*error.message)?;
    result.set_item(intern!(py, "_meta"), meta)?;
    if let Some(exception) = exception {
        // `into_value` puts the traceback back on the exception; `value` alone would lose it.
        result.setattr(intern!(py, "_exception"), exception.clone_ref(py).into_value(py))?;
    }
    Ok(result)
}

/// Copying a dict that has all keys is much cheaper than growing one key by key.
struct Templates {
    success: Py<PyDict>,
    meta: Py<PyDict>,
    attempt: Py<PyDict>,
}

/// The same for what only differs from candidate to candidate.
pub struct CandidateTemplates {
    /// `_meta` of a result that this candidate gave.
    meta: Py<PyDict>,
    /// Its attempt when it answered, and when another one was quicker.
    won: Py<PyDict>,
    lost: Py<PyDict>,
}

impl CandidateTemplates {
    fn of<'a>(py: Python<'_>, candidate: &'a Candidate) -> PyResult<Option<&'a Self>> {
        let Some(tool) = python_tool(candidate) else { return Ok(None) };
        tool.templates.get_or_try_init(py, || Self::new(py, candidate)).map(Some)
    }

    fn new(py: Python<'_>, candidate: &Candidate) -> PyResult<Self> {
        let meta = Templates::get(py)?.meta.bind(py).copy()?;
        fill_meta(&meta, candidate)?;
        let won = new_attempt(py, candidate)?;
        won.set_item(intern!(py, "ok"), true)?;
        let lost = new_attempt(py, candidate)?;
        lost.set_item(intern!(py, "ok"), false)?;
        describe_error(&lost, &cancelled(&candidate.spec().name))?;
        Ok(CandidateTemplates { meta: meta.unbind(), won: won.unbind(), lost: lost.unbind() })
    }
}

impl Templates {
    fn get(py: Python<'_>) -> PyResult<&Templates> {
        static TEMPLATES: Once<Templates> = Once::new();
        TEMPLATES.get_or_try_init(py, || {
            let meta = PyDict::new(py);
            for key in ["tool", "source", "server", "strategy"] {
                meta.set_item(PyString::intern(py, key), py.None())?;
            }
            meta.set_item(intern!(py, "synthesized"), false)?;
            meta.set_item(intern!(py, "synthesis_method"), py.None())?;
            meta.set_item(intern!(py, "source_count"), 0)?;
            for key in ["sources", "attempts", "duration_ms"] {
                meta.set_item(PyString::intern(py, key), py.None())?;
            }
            meta.set_item(intern!(py, "truncated"), false)?;
            meta.set_item(intern!(py, "cached"), false)?;
            let attempt = PyDict::new(py);
            for key in ["tool", "source", "server", "ok", "error", "duration_ms"] {
                attempt.set_item(PyString::intern(py, key), py.None())?;
            }
            let success = PyDict::new(py);
            success.set_item(intern!(py, "success"), true)?;
            for key in ["result", "error", "_meta"] {
                success.set_item(PyString::intern(py, key), py.None())?;
            }
            Ok(Templates { success: success.unbind(), meta: meta.unbind(), attempt: attempt.unbind() })
        })
    }
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

/// A tool's name as the string that was made when it was registered.
fn tool_name<'py>(py: Python<'py>, candidate: &Candidate) -> Bound<'py, PyString> {
    match python_tool(candidate) {
        Some(tool) => tool.name.bind(py).clone(),
        None => PyString::new(py, &candidate.spec().name),
    }
}

/// `_meta` with what every result has; `best` is the candidate that answered.
fn new_meta<'py>(
    py: Python<'py>,
    best: Option<&Candidate>,
    strategy: Option<Strategy>,
    duration: Duration,
) -> PyResult<Bound<'py, PyDict>> {
    let meta = match best.map(|candidate| CandidateTemplates::of(py, candidate)).transpose()?.flatten() {
        Some(templates) => templates.meta.bind(py).copy()?,
        None => Templates::get(py)?.meta.bind(py).copy()?,
    };
    match best {
        Some(candidate) => {
            if python_tool(candidate).is_none() {
                fill_meta(&meta, candidate)?;
            }
            let sources = PyList::new(py, [source_name(py, candidate.source)])?;
            meta.set_item(intern!(py, "sources"), sources)?;
        }
        None => meta.set_item(intern!(py, "sources"), PyList::empty(py))?,
    }
    let strategy = strategy.map_or_else(|| intern!(py, "none"), |strategy| strategy_name(py, strategy));
    meta.set_item(intern!(py, "strategy"), strategy)?;
    meta.set_item(intern!(py, "duration_ms"), duration.as_secs_f64() * 1e3)?;
    Ok(meta)
}

/// What every `_meta` of an answer of this candidate says.
fn fill_meta(meta: &Bound<'_, PyDict>, candidate: &Candidate) -> PyResult<()> {
    let py = meta.py();
    meta.set_item(intern!(py, "tool"), tool_name(py, candidate))?;
    meta.set_item(intern!(py, "source"), source_name(py, candidate.source))?;
    if let Some(server) = &candidate.server {
        meta.set_item(intern!(py, "server"), &**server)?;
    }
    meta.set_item(intern!(py, "source_count"), 1)
}

/// What every attempt of this candidate says.
fn new_attempt<'py>(py: Python<'py>, candidate: &Candidate) -> PyResult<Bound<'py, PyDict>> {
    let row = Templates::get(py)?.attempt.bind(py).copy()?;
    row.set_item(intern!(py, "tool"), tool_name(py, candidate))?;
    row.set_item(intern!(py, "source"), source_name(py, candidate.source))?;
    if let Some(server) = &candidate.server {
        row.set_item(intern!(py, "server"), &**server)?;
    }
    Ok(row)
}

fn describe_error(row: &Bound<'_, PyDict>, error: &HubError) -> PyResult<()> {
    row.set_item(intern!(row.py(), "error"), &*error.message)?;
    row.set_item(intern!(row.py(), "kind"), error.kind.name())
}

/// The attempt of one that answered, or that lost to one that did; `None` for all others.
fn usual_attempt<'py>(
    py: Python<'py>,
    candidate: &Candidate,
    fate: Fate,
    answered: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(templates) = CandidateTemplates::of(py, candidate)? else { return Ok(None) };
    match fate {
        Fate::Succeeded => templates.won.bind(py).copy().map(Some),
        Fate::Stopped if answered => templates.lost.bind(py).copy().map(Some),
        _ => Ok(None),
    }
}

/// Lists who was tried, who was skipped and what went wrong; gives back the errors.
fn describe_attempts(
    py: Python<'_>,
    meta: &Bound<'_, PyDict>,
    plan: &Plan,
    attempts: &mut [Attempt],
    answered: bool,
    now: Instant,
) -> PyResult<Vec<(usize, HubError)>> {
    let mut tried: SmallVec<[Bound<'_, PyDict>; 4]> = SmallVec::new();
    let mut warnings: Vec<String> = Vec::new();
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
        let usual = usual_attempt(py, candidate, fate, answered)?;
        let ran = plan.run.duration(slot, now).unwrap_or_default().as_secs_f64() * 1e3;
        if let Some(row) = usual {
            row.set_item(intern!(py, "duration_ms"), ran)?;
            tried.push(row);
            continue;
        }
        let row = new_attempt(py, candidate)?;
        row.set_item(intern!(py, "ok"), fate == Fate::Succeeded)?;
        row.set_item(intern!(py, "duration_ms"), ran)?;
        let told = attempt.error.take().map(|error| *error);
        if let Some(error) = told.or_else(|| plan.silent_error(slot)) {
            describe_error(&row, &error)?;
            // Losing a race is no error.
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
        meta.set_item(intern!(py, "warnings"), warnings)?;
    }
    if !skipped.is_empty() {
        meta.set_item(intern!(py, "skipped"), skipped)?;
    }
    if !failed.is_empty() {
        meta.set_item(intern!(py, "errors"), failed)?;
    }
    Ok(errors)
}

/// Every answer as it came, with its source.
fn whole_answers<'py>(
    py: Python<'py>,
    plan: &Plan,
    attempts: &[Attempt],
    winners: &[usize],
) -> PyResult<Bound<'py, PyList>> {
    let answers = PyList::empty(py);
    for slot in winners {
        let row = PyDict::new(py);
        row.set_item(intern!(py, "source"), plan.candidates[*slot].label())?;
        row.set_item(intern!(py, "result"), &attempts[*slot].value)?;
        answers.append(row)?;
    }
    Ok(answers)
}

fn merged(py: Python<'_>, plan: &Plan, attempts: &[Attempt], winners: &[usize]) -> PyResult<Merged> {
    let mut parts = Vec::with_capacity(winners.len());
    for slot in winners {
        if let Some(answer) = &attempts[*slot].value {
            parts.push((plan.candidates[*slot].label(), value::readable(answer.bind(py))?));
        }
    }
    Ok(py.detach(|| {
        let parts: Vec<_> =
            parts.into_iter().map(|(label, text)| part(label, text, merge::PART_LIMIT)).collect();
        merge::simple(&parts)
    }))
}
