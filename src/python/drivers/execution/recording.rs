//! What is told and written of attempts, where it is wanted: events for a watcher; the rows of those that may have effects, with the
//! end of the execution; and cassettes. In a replay the candidates are recordings, which run as any tool in Rust does.
//!
//! The state machine is not asked to report: on each turn the driver tells what has changed since the last one.

use super::Execution;
use super::state::{Attempt, State};
use crate::prelude::*;
use crate::runtime::interpreter;
use crate::values::results::blocks::text_of;
use crate::values::value;
use pyo3::IntoPyObjectExt;
use serde_json::json;
use toolhub::error::Outcome;
use toolhub::execute::{Answer, Fate};
use toolhub::hub::{EndedRows, PlannedRun, kept_failure};
use toolhub::model::ToolOutput;
use toolhub::model_output::content::ImageNotes;
use toolhub::system::kill_point;

/// An attempt that has changed since its watcher was told: the event, and the error.
fn next_change(state: &mut State) -> Option<(&'static str, usize, Option<HubError>)> {
    let State { plan: Some(plan), attempts, .. } = state else { return None };
    attempts.iter_mut().enumerate().find_map(|(slot, attempt)| {
        let fate = plan.run.fate(slot);
        if attempt.told.replace(fate) == Some(fate) {
            return None;
        }
        let what = match fate {
            Fate::NotTried | Fate::Running | Fate::Succeeded => return None,
            Fate::Rejected | Fate::Failed | Fate::TimedOut => "failed",
            Fate::Stopped => "cancelled",
        };
        Some((what, slot, attempt.error.as_deref().cloned().or_else(|| plan.silent_error(slot))))
    })
}

impl Execution {
    /// Tells what has changed since the last time.
    pub(super) fn tell_changes(&self, py: Python<'_>) -> PyResult<()> {
        loop {
            let Some((what, slot, error)) = next_change(&mut self.state.lock()) else { return Ok(()) };
            let (kind, message) = error.map(|error| (error.kind.name(), error.message.to_string())).unzip();
            self.tell(what, slot, kind, message.into_bound_py_any(py)?)?;
        }
    }

    /// Tells that an attempt has started, its arguments fit; or, with news of the tool, that it is tried again.
    pub(super) fn tell_start(&self, py: Python<'_>, slot: usize, news: Option<&Value>) -> PyResult<()> {
        match news {
            None => self.tell("started", slot, None, py.None().into_bound(py)),
            Some(news) => self.tell("retried", slot, None, json::to_python(py, news)?),
        }
    }

    /// Calls `watcher(what, attempt, tool, source, server, seconds, kind, message)`.
    fn tell(&self, what: &str, slot: usize, kind: Option<&str>, message: Bound<'_, PyAny>) -> PyResult<()> {
        let py = message.py();
        let ended = |plan: &mut PlannedRun| {
            let took = plan.run.ended(slot).and_then(|at| plan.run.duration(slot, at));
            (plan.candidates[slot].clone(), took.map(|took| took.as_secs_f64()))
        };
        let (Some(watcher), Some((candidate, seconds))) = (self.watcher(), self.with_plan(ended)) else {
            return Ok(());
        };
        let (tool, source) = (&*candidate.spec().name, candidate.source.name());
        let report = (what, slot, tool, source, candidate.server.as_deref(), seconds, kind, message);
        let heard = interpreter::apply(watcher.bind(py), report);
        interpreter::only_interrupts(heard, watcher.bind(py))
    }
}

/// Writes the rows, and in a run what the call gave.
pub(super) fn write(rows: EndedRows, result: Option<&Bound<'_, PyDict>>) {
    kill_point();
    rows.write(result.is_some_and(|result| failure(result).is_none()), || result.map(kept));
}

/// A result as a run keeps it. A value that is not JSON is kept as its text.
pub fn kept(result: &Bound<'_, PyDict>) -> Value {
    let py = result.py();
    let member = |key: &str| {
        let value = result.get_item(key).ok().flatten().unwrap_or_else(|| py.None().into_bound(py));
        json::from_python(&value)
            .unwrap_or_else(|_| Value::String(value::readable(&value).unwrap_or_default()))
    };
    let Some((kind, outcome)) = failure(result) else {
        return json!({"success": true, "result": member("result")});
    };
    let mut kept = kept_failure(member("error"), kind.name(), outcome.name());
    let paused = result.as_any().get_item(intern!(py, "_meta")).and_then(|meta| meta.get_item("paused"));
    if let (Ok(id), Some(kept)) = (paused, kept.as_object_mut()) {
        kept.insert("paused".to_owned(), Value::String(id.to_string()));
    }
    kept
}

/// The kind and the outcome of a result that is not a success. A failure that does not say what it did may have done something.
pub fn failure(result: &Bound<'_, PyAny>) -> Option<(ErrorKind, Outcome)> {
    let py = result.py();
    let success = result.get_item(intern!(py, "success"));
    if success.is_ok_and(|success| success.is_truthy().unwrap_or(false)) {
        return None;
    }
    let error = result.get_item(intern!(py, "_meta")).and_then(|meta| meta.get_item(intern!(py, "error")));
    let word = |key: &str| Some(error.as_ref().ok()?.get_item(key).ok()?.str().ok()?.to_string());
    let (kind, outcome) = (word("kind"), word("outcome"));
    let kind = kind.as_deref().and_then(ErrorKind::named);
    let outcome = Outcome::ALL.into_iter().find(|one| outcome.as_deref() == Some(one.name()));
    Some((kind.unwrap_or(ErrorKind::ToolError), outcome.unwrap_or(Outcome::Unknown)))
}

/// What is recorded of an attempt that answered when its call was decided.
pub fn recorded_late(value: &Bound<'_, PyAny>) -> ToolOutput {
    ToolOutput::new(json::from_python(value).unwrap_or(Value::Null))
}

/// What is recorded of an attempt that was not stopped.
pub fn answer_of(py: Python<'_>, attempt: &Attempt, plan: &PlannedRun, slot: usize) -> Option<Answer> {
    let sent = attempt.blocks.as_ref().map(|blocks| blocks.output());
    if attempt.value.is_some() || plan.run.fate(slot) == Fate::Succeeded {
        let value = attempt.value.as_ref().map(|value| recorded_value(value.bind(py), attempt));
        return Some(Ok(ToolOutput { value: value.unwrap_or_default(), ..sent.unwrap_or_default() }));
    }
    let error = attempt.error.as_ref().map(|error| (**error).clone()).or_else(|| plan.silent_error(slot));
    // The driver has taken the answer out of the error, to show it.
    error.map(|error| Err(HubError { answer: error.answer.clone().or(sent.map(Arc::new)), ..error }))
}

/// What is not JSON is recorded as the text that a model would read.
fn recorded_value(value: &Bound<'_, PyAny>, attempt: &Attempt) -> Value {
    json::from_python(value).unwrap_or_else(|_| {
        let text = text_of(value, attempt.blocks.as_deref(), ImageNotes::Shown);
        text.ok().flatten().map_or(Value::Null, Value::String)
    })
}
