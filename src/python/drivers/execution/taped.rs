//! Attempts on tape: recorded while they run. In a replay the candidates are recordings, which run as any tool in Rust does.

use super::Execution;
use super::start::InPlace;
use super::state::{Attempt, AttemptStart, FinishedExecution};
use crate::runtime::call_context;
use crate::values::arguments::argument_checks::PreparedArguments;
use crate::values::json;
use crate::values::results::text_of;
use pyo3::prelude::*;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolhub::error::{ErrorContent, HubError};
use toolhub::execute::Fate;
use toolhub::hub::PlannedRun;
use toolhub::model::ToolOutput;
use toolhub::shape::content::ImageNotes;
use toolhub::tape::{Recording, TapedAnswer, Taping, ready_recording, recording_of};

impl Execution {
    /// Launches the tool, recorded if there is a tape. What a replay has missed fails here.
    pub(super) fn launch<'py>(
        slf: &Bound<'py, Self>,
        start: AttemptStart,
        prepared: PreparedArguments,
    ) -> PyResult<InPlace<'py>> {
        let (this, slot) = (slf.get(), start.slot);
        let (missed, recorded) = {
            let state = this.state.lock();
            // An attempt that was put on tape before its row was written goes on here.
            let is_on_tape = state.attempts[slot].taping.is_some();
            let plan = state.plan.as_ref().filter(|_| !is_on_tape);
            (plan.and_then(|plan| plan.missed.clone()), plan.and_then(|plan| plan.recorded.clone()))
        };
        if let Some(miss) = missed {
            this.fail(slot, miss.count());
            return Ok(None);
        }
        if let Some(recording) = ready_recording(&start.candidate) {
            recording.progress.iter().for_each(|update| Self::progressed(slf, update));
            if recording.was_sent() {
                this.begin_here(slot);
            }
            if let Some(answer) = recording.given() {
                this.answered(slf.py(), slot, answer);
            }
            return Ok(None);
        }
        if let Some(call) = recorded {
            let definition = this.hub.get().core().tool_definition(&start.candidate);
            let around = call_context::current(slf.py())?;
            let taping = call.attempt(&start.candidate, &definition, around.outer.as_ref());
            this.state.lock().attempts[slot].taping = Some(Box::new(taping));
        }
        Self::launch_tool(slf, start, prepared)
    }
}

/// Writes down the attempts that were recorded.
pub fn record(py: Python<'_>, finished: &mut FinishedExecution) {
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
    taping.end(&TapedAnswer::output(ToolOutput::new(value)));
}

fn answer_of(py: Python<'_>, attempt: &Attempt, plan: &PlannedRun, slot: usize) -> TapedAnswer {
    let parts = attempt.blocks.as_ref().map(|blocks| blocks.parts());
    if attempt.value.is_some() || plan.run.fate(slot) == Fate::Succeeded {
        let mut output = ToolOutput::new(
            attempt.value.as_ref().map_or(Value::Null, |value| recorded_value(value.bind(py), attempt)),
        );
        if let Some((content, structured, meta)) = parts {
            output.content = Some(content.clone());
            output.structured = structured.cloned();
            output.meta = meta.cloned();
        }
        return TapedAnswer::output(output);
    }
    if plan.run.fate(slot) == Fate::Stopped {
        return TapedAnswer::Stopped;
    }
    let error = attempt.error.as_ref().map(|error| (**error).clone()).or_else(|| plan.silent_error(slot));
    // The driver has taken the content out of the error, to show it.
    let sent = parts.map(|(content, structured, meta)| {
        let (structured, meta) = (structured.cloned(), meta.cloned());
        Arc::new(ErrorContent { content: content.clone(), structured, meta, raw: None })
    });
    let error = error.map(|error| HubError { content: error.content.clone().or(sent), ..error });
    error.map_or(TapedAnswer::Stopped, TapedAnswer::error)
}

/// What is not JSON is recorded as the text that a model would read.
fn recorded_value(value: &Bound<'_, PyAny>, attempt: &Attempt) -> Value {
    json::from_python(value).unwrap_or_else(|_| {
        let text = text_of::text_of(value, attempt.blocks.as_deref(), ImageNotes::Shown);
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
