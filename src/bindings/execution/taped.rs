//! Attempts on tape: recorded while they run, or answered from a cassette.

use super::start::{Envelope, InPlace};
use super::state::{Address, Attempt, AttemptStart, AttemptState, FinishedExecution};
use super::{Execution, arguments};
use crate::bindings::argument_checks::{CheckPass, PreparedArguments};
use crate::bindings::{job, json, slots, text_of, value};
use crate::error::{ErrorContent, HubError};
use crate::execute::{Answer, Fate};
use crate::hub::PlannedRun;
use crate::model::ToolOutput;
use crate::registry::Candidate;
use crate::secret::has_placeholder;
use crate::shape::content::ImageNotes;
use crate::tape::{CallOnTape, HubTape, LineKind, Recording, TapeStart, TapedAnswer, Taping};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use std::cell::OnceCell;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

impl Execution {
    /// Launches the tool and records it, or answers in its place.
    pub(super) fn launch_on_tape<'py>(
        slf: &Bound<'py, Self>,
        start: AttemptStart,
        prepared: PreparedArguments,
        tape: &HubTape,
    ) -> PyResult<InPlace<'py>> {
        let (py, slot, label) = (slf.py(), start.slot, start.candidate.label());
        let name = start.candidate.spec().name.clone();
        let arguments = slf.get().taped_arguments(py, &start.candidate, &prepared);
        let execution = slf.get().state.lock().plan.as_ref().map(|plan| plan.run.begun());
        let listed = start.candidate.server.as_deref().map(|server| (server, start.candidate.spec()));
        let principal = slf.get().extras.as_ref().and_then(|extras| extras.principal.as_ref());
        let around = slots::current(py)?;
        match tape.begin(CallOnTape {
            kind: LineKind::Call,
            name: &name,
            candidate: &label,
            arguments,
            principal: principal.map_or("", |principal| &principal.id),
            execution,
            inside: around.outer.as_ref(),
            listed,
        }) {
            TapeStart::Recording(taping) => {
                slf.get().state.lock().attempts[slot].taping = Some(Box::new(taping));
                Self::launch_tool(slf, start, prepared)
            }
            TapeStart::Missed(miss) => {
                slf.get().fail(slot, miss);
                Ok(None)
            }
            TapeStart::Replayed(recording) => {
                let delay = tape.delay(&recording);
                Self::replay(slf, slot, recording, delay).map(|()| None)
            }
        }
    }

    /// The arguments by which a call is matched: JSON as the tool takes it. A value that became an object (a date, a model) is
    /// in the form in which it was given, after the schema has coerced it.
    fn taped_arguments(&self, py: Python<'_>, candidate: &Candidate, prepared: &PreparedArguments) -> Value {
        let fitted = OnceCell::new();
        let fitted = || {
            let fit = || {
                let given = self.state.lock().args.clone_ref(py);
                let mut pass = CheckPass::new(self.checks, None);
                let passed_on = self.extras.as_ref().and_then(|extras| extras.passed_on.as_ref());
                pass.passed_on = passed_on.map(|passed_on| passed_on.clone_ref(py));
                arguments::fit(candidate, given.bind(py), &mut pass).ok()
            };
            fitted.get_or_init(fit).as_ref()
        };
        match prepared {
            PreparedArguments::Native(args) => args.as_value().clone(),
            PreparedArguments::Keywords(kwargs) => {
                let members = kwargs.bind(py).iter().map(|(name, value)| {
                    let given = || fitted()?.get_item(&name).ok();
                    (value::readable(&name).unwrap_or_default(), taped_value(&value, given))
                });
                Value::Object(members.collect())
            }
            PreparedArguments::Value(value) => taped_value(value.bind(py), || fitted().cloned()),
        }
    }

    /// Arguments that do not fit, because a placeholder stands for a secret that a model gave when it was recorded. They need
    /// not fit if a recording answers them.
    pub(super) fn recorded_arguments(
        slf: &Bound<'_, Self>,
        candidate: &Candidate,
    ) -> Option<PreparedArguments> {
        let (py, this) = (slf.py(), slf.get());
        let (tape, given) = {
            let state = this.state.lock();
            let tape = state.plan.as_ref()?.tape.as_ref().filter(|tape| tape.tape.is_replay())?;
            (tape.tape.clone(), state.args.clone_ref(py))
        };
        let mut pass = CheckPass::new(this.checks, None);
        let passed_on = this.extras.as_ref().and_then(|extras| extras.passed_on.as_ref());
        pass.passed_on = passed_on.map(|passed_on| passed_on.clone_ref(py));
        let given = arguments::whole(candidate, given.bind(py), &pass).ok()?;
        let value = json::from_python(&given).ok()?;
        let is_recorded =
            has_placeholder(&value) && tape.answers(&candidate.spec().name, &candidate.label(), &value);
        is_recorded
            .then(|| given.cast_into::<PyDict>().ok())?
            .map(|given| PreparedArguments::Keywords(given.unbind()))
    }

    fn replay(
        slf: &Bound<'_, Self>,
        slot: usize,
        recording: Arc<Recording>,
        delay: Option<Duration>,
    ) -> PyResult<()> {
        recording.progress.iter().for_each(|update| Self::progressed(slf, update));
        let is_held = {
            let mut state = slf.get().state.lock();
            let is_alone = state.plan.as_ref().is_none_or(|plan| plan.run.is_sequential());
            let attempt = &mut state.attempts[slot];
            attempt.replayed = Some(recording.clone());
            attempt.is_held = delay.is_none() && !is_alone && !recording.was_stopped();
            attempt.is_held
        };
        if is_held {
            return Ok(());
        }
        // Another candidate wins, or the caller goes, as when it was recorded.
        let Some(answer) = recording.given() else { return Ok(()) };
        match delay {
            Some(delay) => Self::answer_later(slf, slot, answer, delay),
            None => {
                slf.get().answered(slf.py(), slot, answer);
                Ok(())
            }
        }
    }

    /// Whether this is the answer of a recording that others may come before.
    pub(super) fn hold_replayed(&self, slot: usize) -> bool {
        let mut state = self.state.lock();
        let is_open = state
            .plan
            .as_ref()
            .is_some_and(|plan| !plan.run.is_sequential() && plan.run.fate(slot) == Fate::Running);
        let attempt = state.attempts.get_mut(slot).filter(|one| is_open && one.replayed.is_some());
        attempt.is_some_and(|attempt| {
            attempt.is_held = true;
            // The wait for it is over.
            attempt.state = AttemptState::Nothing;
            true
        })
    }

    /// Candidates that ran side by side answer in the order in which they did, once all of them have begun. False if there is
    /// no answer to give, or an earlier one is still to come.
    pub(super) fn give_held_answer(slf: &Bound<'_, Self>) -> bool {
        let next = {
            let mut state = slf.get().state.lock();
            let Some(plan) = &state.plan else { return false };
            let held = |(slot, attempt): (usize, &Attempt)| {
                let is_open = attempt.is_held && plan.run.fate(slot) == Fate::Running;
                attempt.replayed.clone().filter(|_| is_open).map(|recording| (slot, recording))
            };
            let attempts = state.attempts.iter().enumerate();
            let Some((slot, recording)) = attempts
                .filter_map(held)
                .min_by(|(_, one), (_, other)| one.answered_at().total_cmp(&other.answered_at()))
            else {
                return false;
            };
            let is_coming = |(slot, attempt): (usize, &Attempt)| {
                let is_given_up = attempt.replayed.as_ref().is_some_and(|one| one.was_stopped());
                !attempt.is_held && !is_given_up && plan.run.fate(slot) == Fate::Running
            };
            let more_come = plan.run.is_hedging() || state.attempts.iter().enumerate().any(is_coming);
            let tape = plan.tape.as_ref().map(|one| &one.tape);
            if more_come && tape.is_some_and(|tape| tape.is_early(&recording)) {
                return false;
            }
            state.attempts[slot].is_held = false;
            (slot, recording)
        };
        let (slot, recording) = next;
        recording.answered();
        if let Some(answer) = recording.given() {
            slf.get().answered(slf.py(), slot, answer);
        }
        true
    }

    /// Fails the candidates that are left, if none of them ever answers: each was given up because another one had answered, and
    /// that one is not among them. False if there is something to wait for.
    pub(super) fn fail_unanswered(slf: &Bound<'_, Self>) -> bool {
        let (tape, left) = {
            let state = slf.get().state.lock();
            let Some(plan) = state.plan.as_ref().filter(|plan| !plan.run.is_hedging()) else { return false };
            let Some(tape) = plan.replay().and(plan.tape.as_ref()) else { return false };
            let attempts = state.attempts.iter().enumerate();
            let running = attempts.filter(|(slot, _)| plan.run.fate(*slot) == Fate::Running);
            let beaten = running.map(|(slot, attempt)| {
                let recording = attempt.replayed.clone().filter(|one| one.was_beaten)?;
                Some((slot, recording))
            });
            let Some(left) = beaten.collect::<Option<Vec<_>>>() else { return false };
            (tape.tape.clone(), left)
        };
        for (slot, recording) in &left {
            if let Some(error) = tape.unanswered(recording) {
                slf.get().fail(*slot, error);
            }
        }
        !left.is_empty()
    }

    fn answer_later(slf: &Bound<'_, Self>, slot: usize, answer: Answer, delay: Duration) -> PyResult<()> {
        let Address { mailbox, key } = Self::address(slf, slot)?;
        let envelope = Envelope { mailbox, key, sent: false };
        let cancel = CancellationToken::new();
        let cancelled = cancel.clone();
        let job = job::start_elsewhere(async move {
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = cancelled.cancelled() => {}
            }
            envelope.send(answer);
        })?;
        slf.get().state.lock().attempts[slot].state =
            AttemptState::Native { cancel, job, key, held: Arc::default() };
        Ok(())
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

/// An argument as it is recorded; `given` is what the caller gave for it.
fn taped_value<'py>(value: &Bound<'py, PyAny>, given: impl FnOnce() -> Option<Bound<'py, PyAny>>) -> Value {
    match json::image(value) {
        Ok((json, opaque)) if opaque.is_empty() => json,
        Ok(_) => given()
            .and_then(|given| json::from_python(&given).ok())
            .unwrap_or_else(|| json::with_texts(value)),
        // Too large for a copy.
        Err(_) => Value::Null,
    }
}

/// How long a replayed call took when it was recorded; `None` if something else answered it.
pub fn replayed_time(attempts: &[Attempt]) -> Option<Duration> {
    let recordings: Vec<&Recording> =
        attempts.iter().filter_map(|attempt| attempt.replayed.as_deref()).collect();
    let first = recordings.iter().map(|one| one.at).fold(f64::INFINITY, f64::min);
    let last = recordings.iter().map(|one| one.at + one.ms).fold(0.0, f64::max);
    Duration::try_from_secs_f64((last - first).max(0.0) / 1e3).ok().filter(|_| !recordings.is_empty())
}
