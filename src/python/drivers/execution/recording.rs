//! What is written of attempts: the rows of those that may have effects, before they start and with the end of the execution, and
//! cassettes. In a replay the candidates are recordings, which run as any tool in Rust does.

use super::Execution;
use super::state::{Attempt, AttemptStart, AttemptState, State};
use crate::prelude::*;
use crate::runtime::loop_bridge::{Mail, Message};
use crate::runtime::{self, call_scope};
use crate::values::arguments::argument_checks::PreparedArguments;
use crate::values::results::blocks::text_of;
use crate::values::value;
use serde_json::json;
use toolhub::aside;
use toolhub::error::{ErrorContent, Outcome};
use toolhub::execute::Fate;
use toolhub::hub::{EffectRecorder, EndedRows, PlannedRun, kept_failure};
use toolhub::identity::CallContent;
use toolhub::kill_point::kill_point;
use toolhub::model::ToolOutput;
use toolhub::shape::content::ImageNotes;
use toolhub::tape::{Recording, TapedAnswer, Taping, recording_of};

impl Execution {
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
            let definition = start.candidate.definition().clone();
            let around = call_scope::current(slf.py())?;
            let taping = call.attempt(&start.candidate, &definition, around.outer.as_ref());
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
        let definition = start.candidate.definition().clone();
        let (mailbox, key) = Self::address(slf, slot)?;
        this.state.lock().attempts[slot].state = AttemptState::Waiting { way: None, key, prepared };
        let written = move |result: Result<(), HubError>| {
            let recorded = result.map(|()| None).map_err(Box::new);
            mailbox.push(Mail::Deliver(key, Message::MayGoOn(recorded)));
        };
        kill_point();
        let content = (!recorder.knows_call()).then(content).unwrap_or_default();
        let (candidate, is_heavy) = (start.candidate.clone(), content.is_heavy());
        let write =
            move || recorder.write((slot, &candidate), &definition.digest, content, Box::new(written));
        // The digest of large arguments would hold up the loop.
        match is_heavy {
            true => runtime::spawn(async { _ = aside::on_thread(write).await }),
            false => {
                write();
                Ok(())
            }
        }
    }
}

/// Writes the rows, and in a run what the call gave.
pub(super) fn write(py: Python<'_>, rows: Option<EndedRows>, result: Option<&Bound<'_, PyDict>>) {
    let Some(rows) = rows else { return };
    kill_point();
    let success = result.and_then(|result| result.get_item(intern!(py, "success")).ok().flatten());
    let has_succeeded = success.is_some_and(|success| success.is_truthy().unwrap_or(false));
    rows.write(has_succeeded, || result.map(|result| kept(result, has_succeeded)));
}

/// A result as a run keeps it. A value that is no JSON is kept as it reads.
pub fn kept(result: &Bound<'_, PyDict>, has_succeeded: bool) -> Value {
    let py = result.py();
    let member = |key: &str| {
        let value = result.get_item(key).ok().flatten().unwrap_or_else(|| py.None().into_bound(py));
        json::from_python(&value)
            .unwrap_or_else(|_| Value::String(value::readable(&value).unwrap_or_default()))
    };
    if has_succeeded {
        return json!({"success": true, "result": member("result")});
    }
    let words = failure(result).map(|(kind, outcome)| (kind.name(), outcome.name()));
    let (kind, outcome) = words.unwrap_or_default();
    let mut kept = kept_failure(member("error"), kind, outcome);
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
pub fn record(py: Python<'_>, finished: &mut State) {
    let Some(plan) = &finished.plan else { return };
    for (slot, attempt) in finished.attempts.iter_mut().enumerate() {
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
    let parts = attempt.blocks.as_ref().map(|blocks| blocks.parts());
    if attempt.value.is_some() || plan.run.fate(slot) == Fate::Succeeded {
        let mut output = ToolOutput::new(
            attempt.value.as_ref().map_or(Value::Null, |value| recorded_value(value.bind(py), attempt)),
        );
        if let Some((content, structured, meta)) = parts {
            (output.content, output.structured, output.meta) = (Some(content), structured, meta);
        }
        return Some(Ok(output));
    }
    if plan.run.fate(slot) == Fate::Stopped {
        return None;
    }
    let error = attempt.error.as_ref().map(|error| (**error).clone()).or_else(|| plan.silent_error(slot));
    // The driver has taken the content out of the error, to show it.
    let sent = parts
        .map(|(content, structured, meta)| Arc::new(ErrorContent { content, structured, meta, raw: None }));
    let error = error.map(|error| HubError { content: error.content.clone().or(sent), ..error });
    error.map(Err)
}

/// What is not JSON is recorded as the text that a model would read.
fn recorded_value(value: &Bound<'_, PyAny>, attempt: &Attempt) -> Value {
    json::from_python(value).unwrap_or_else(|_| {
        let text = text_of(value, attempt.blocks.as_deref(), ImageNotes::Shown);
        text.ok().flatten().map_or(Value::Null, Value::String)
    })
}

/// How long a replayed call took when it was recorded; `None` if it was not replayed.
pub fn replayed_time(plan: &PlannedRun) -> Option<Duration> {
    let recordings: Vec<&Recording> =
        plan.candidates.iter().filter_map(|candidate| recording_of(candidate)).collect();
    let first = recordings.iter().map(|one| one.at).fold(f64::INFINITY, f64::min);
    let last = recordings.iter().map(|one| one.at + one.ms).fold(0.0, f64::max);
    Duration::try_from_secs_f64((last - first).max(0.0) / 1e3).ok().filter(|_| !recordings.is_empty())
}
