//! What is told and written of attempts, where it is wanted: events for a watcher; the rows of those that may have effects, before
//! they start and with the end of the execution; and cassettes. In a replay the candidates are recordings, which run as any tool
//! in Rust does.
//!
//! The state machine is not asked to report: on each turn the driver tells what has changed since the last one.

use super::Execution;
use super::state::{Attempt, AttemptStart, AttemptState, State};
use crate::prelude::*;
use crate::runtime::loop_bridge::{LoopMessage, Mail};
use crate::runtime::{self, call_scope, interpreter};
use crate::values::arguments::argument_checks::PreparedArguments;
use crate::values::results::blocks::text_of;
use crate::values::value;
use pyo3::IntoPyObjectExt;
use serde_json::json;
use smallvec::SmallVec;
use toolhub::blocking;
use toolhub::error::{Outcome, Result};
use toolhub::execute::Fate;
use toolhub::hub::{EffectRecorder, EndedRows, PlannedRun, kept_failure};
use toolhub::identity::CallContent;
use toolhub::model::ToolOutput;
use toolhub::registry::Candidate;
use toolhub::shape::content::ImageNotes;
use toolhub::system::kill_point;
use toolhub::tape::{TapedAnswer, Taping};

/// What is told of an attempt.
struct Change {
    what: &'static str,
    slot: usize,
    candidate: Arc<Candidate>,
    seconds: Option<f64>,
    error: Option<HubError>,
    /// Of a retry, in place of a message.
    news: Option<Value>,
}

/// What has changed since the last time.
fn changes(state: &mut State) -> SmallVec<[Change; 4]> {
    let mut changes = SmallVec::new();
    let State { plan: Some(plan), attempts, .. } = state else { return changes };
    for (slot, attempt) in attempts.iter_mut().enumerate() {
        let fate = plan.run.fate(slot);
        if attempt.told.replace(fate) == Some(fate) {
            continue;
        }
        let what = match fate {
            Fate::NotTried | Fate::Running | Fate::Succeeded => continue,
            Fate::Rejected | Fate::Failed | Fate::TimedOut => "failed",
            Fate::Stopped => "cancelled",
        };
        let error = attempt.error.as_deref().cloned().or_else(|| plan.silent_error(slot));
        let seconds = plan.run.duration(slot, Instant::now()).map(|took| took.as_secs_f64());
        let candidate = plan.candidates[slot].clone();
        changes.push(Change { what, slot, candidate, seconds, error, news: None });
    }
    changes
}

impl Execution {
    /// Tells what has changed since the last time.
    pub(super) fn tell_changes(&self, py: Python<'_>) -> PyResult<()> {
        let changes = changes(&mut self.state.lock());
        changes.into_iter().try_for_each(|change| self.tell(py, change))
    }

    /// Tells that an attempt has started, its arguments fit; or, with news of the tool, that it is tried again.
    pub(super) fn tell_start(&self, py: Python<'_>, slot: usize, news: Option<Value>) -> PyResult<()> {
        let Some(candidate) = self.with_plan(|plan| plan.candidates[slot].clone()) else { return Ok(()) };
        let what = if news.is_some() { "retried" } else { "started" };
        self.tell(py, Change { what, slot, candidate, seconds: None, error: None, news })
    }

    /// Calls `watcher(what, attempt, tool, source, server, seconds, kind, message)`.
    fn tell(&self, py: Python<'_>, change: Change) -> PyResult<()> {
        let Some(watcher) = self.watcher() else { return Ok(()) };
        let Change { what, slot, candidate, seconds, error, news } = change;
        let (kind, message) = error.map(|error| (error.kind.name(), error.message.to_string())).unzip();
        let heard = match news {
            Some(news) => json::to_python(py, &news),
            None => message.into_bound_py_any(py),
        };
        let heard = heard.and_then(|message| {
            let (tool, source) = (&*candidate.spec().name, candidate.source.name());
            let report = (what, slot, tool, source, candidate.server.as_deref(), seconds, kind, message);
            interpreter::apply(watcher.bind(py), report)
        });
        interpreter::only_interrupts(heard, watcher.bind(py))
    }

    /// Puts an attempt on the tape that is in. What a replay has missed fails here, with false.
    pub(super) fn put_on_tape(slf: &Bound<'_, Self>, start: &AttemptStart) -> PyResult<bool> {
        let (this, slot) = (slf.get(), start.slot);
        let (missed, recorded) = {
            let state = this.state.lock();
            // An attempt that was put on tape before its row was written goes on.
            let is_on_tape = state.attempts[slot].taping.is_some();
            let plan = state.plan.as_ref().filter(|_| !is_on_tape);
            (plan.and_then(|plan| plan.missed.clone()), plan.and_then(|plan| plan.recorded.clone()))
        };
        if let Some(miss) = missed {
            this.fail(slot, miss.count());
            return Ok(false);
        }
        if let Some(call) = recorded {
            let around = call_scope::current(slf.py())?;
            let taping = call.attempt(&start.candidate, around.outer.as_ref());
            this.state.lock().attempts[slot].taping = Some(Box::new(taping));
        }
        Ok(true)
    }

    /// Writes the row of an attempt, which goes on when it is committed.
    pub(super) fn write_row(
        slf: &Bound<'_, Self>,
        start: &AttemptStart,
        prepared: PreparedArguments,
        recorder: Arc<EffectRecorder>,
    ) -> PyResult<()> {
        let (py, this, slot) = (slf.py(), slf.get(), start.slot);
        let given = this.state.lock().args.as_ref().map(|args| args.clone_ref(py));
        let content = || {
            let extras = this.extras.as_ref();
            let passed_on = extras.and_then(|extras| extras.passed_on.as_ref());
            CallContent {
                arguments: given.as_ref().map(|given| json::with_texts(given.bind(py))).unwrap_or_default(),
                meta: extras.map(|extras| extras.meta.clone()).unwrap_or_default(),
                passed_on: passed_on
                    .map(|passed_on| json::with_texts(passed_on.bind(py)))
                    .unwrap_or_default(),
            }
        };
        let (mailbox, key) = Self::address(slf, slot)?;
        this.state.lock().attempts[slot].state = AttemptState::Waiting { way: None, key, prepared };
        let written = move |result: Result<()>| {
            let recorded = result.map(|()| None).map_err(Box::new);
            mailbox.push(Mail::Deliver(key, LoopMessage::MayGoOn(recorded)));
        };
        kill_point();
        let content = (!recorder.knows_call()).then(content).unwrap_or_default();
        let (candidate, is_large) = (start.candidate.clone(), content.is_large());
        let write = move || recorder.write((slot, &candidate), content, written);
        // The digest of large arguments would hold up the loop.
        match is_large {
            true => runtime::spawn(async { _ = blocking::on_blocking_thread(write).await }),
            false => {
                write();
                Ok(())
            }
        }
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

/// Writes down the attempts that were recorded.
pub fn record(py: Python<'_>, plan: &PlannedRun, attempts: &mut [Attempt]) {
    for (slot, attempt) in attempts.iter_mut().enumerate() {
        if let Some(taping) = attempt.taping.take() {
            let ended = plan.run.ended(slot).unwrap_or_else(Instant::now);
            taping.end_at(&answer_of(py, attempt, plan, slot), ended);
        }
    }
}

/// Writes down an attempt that answered when its call was decided.
pub fn record_late(mut taping: Taping, value: &Bound<'_, PyAny>) {
    taping.came_late();
    let value = json::from_python(value).unwrap_or(Value::Null);
    taping.end(&Some(Ok(ToolOutput::new(value))));
}

fn answer_of(py: Python<'_>, attempt: &Attempt, plan: &PlannedRun, slot: usize) -> TapedAnswer {
    let sent = attempt.blocks.as_ref().map(|blocks| blocks.output());
    if attempt.value.is_some() || plan.run.fate(slot) == Fate::Succeeded {
        let value = attempt.value.as_ref().map(|value| recorded_value(value.bind(py), attempt));
        return Some(Ok(ToolOutput { value: value.unwrap_or_default(), ..sent.unwrap_or_default() }));
    }
    if plan.run.fate(slot) == Fate::Stopped {
        return None;
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
