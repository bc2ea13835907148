//! The candidates of one call, chosen and about to run.

use super::effects::{EffectRecorder, EndedRows};
use super::search::CallerRecord;
use crate::execute::{Answer, Decision, Fate, Run};
use serde_json::Value;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use toolhub_context::merge;
use toolhub_context::model_output::content::{self, ImageNotes};
use toolhub_context::truncate::{Options, truncate};
use toolhub_registry::NameEntry;
use toolhub_registry::select::{Candidates, Rule};
use toolhub_store::cassette::{MissedCall, OpenCall, OpenRecording};
use toolhub_store::ledger::{EffectEnd, EffectState};
use toolhub_text::secret::scrubbed_text;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::model::{Freshness, Lang, Part, Strategy};
use toolhub_types::stats::BreakerPolicy;
use toolhub_types::tool::OnProgress;

/// An execution about to run. Boxed by its makers, because it is moved often.
pub struct PlannedRun {
    /// The tool's name, or the capability asked for.
    pub what: Arc<str>,
    pub candidates: Candidates,
    /// Writes what its attempts may have done.
    pub recorder: Option<Arc<EffectRecorder>>,
    /// What writes its attempts to a cassette.
    pub recorded: Option<OpenCall>,
    /// Those that are being recorded.
    pub recordings: BTreeMap<usize, OpenRecording>,
    /// Tells its progress to calls that follow it, if any may.
    pub followers: Option<OnProgress>,
    /// Whether recordings answer it: they are its candidates.
    pub is_replayed: bool,
    /// Why a replay does not answer it: nothing runs.
    pub missed: Option<Arc<MissedCall>>,
    pub strategy: Strategy,
    pub rule: Rule,
    pub run: Run,
    pub(crate) entry: Option<Arc<NameEntry>>,
    pub(super) breaker: BreakerPolicy,
    /// The caller of a served hub that the run is for.
    pub(super) caller: Option<Arc<CallerRecord>>,
    /// The language of the result.
    pub lang: Lang,
    /// See [`CallContext::freshness`](toolhub_types::tool::CallContext::freshness).
    pub freshness: Freshness,
    /// Set with the end of its rows, if they could not be written because another process has locked the store.
    pub(super) has_waited_for_lock: bool,
    /// Set at its end if one of several candidates may have run without an answer.
    pub in_doubt: Arc<AtomicBool>,
}

/// What a run on tokio came to.
pub struct RunReport {
    pub plan: PlannedRun,
    pub answers: Vec<Option<Answer>>,
    /// The answers that were merged, in this order.
    pub(crate) merged: Vec<(usize, Value)>,
    pub result: Result<Value>,
}

impl PlannedRun {
    /// The run is over: records its attempts, and gives what is to be written of them. `error` is that of an attempt.
    pub fn end<'a>(
        &mut self,
        now: Instant,
        error: impl Fn(usize) -> Option<&'a HubError>,
    ) -> Option<EndedRows> {
        (0..self.candidates.len()).for_each(|slot| self.record(slot, error(slot).map(|one| one.kind), now));
        self.ended_rows(error)
    }

    /// Records one ended attempt.
    fn record(&self, slot: usize, failure: Option<ErrorKind>, now: Instant) {
        let ended = match self.run.fate(slot) {
            Fate::NotTried | Fate::Rejected | Fate::Running => return,
            Fate::Succeeded => Ok(()),
            // It was never started, which says nothing about the tool.
            Fate::TimedOut | Fate::Stopped if self.run.never_sent(slot) => Err(ErrorKind::Overloaded),
            Fate::Failed => Err(failure.unwrap_or(ErrorKind::ToolError)),
            Fate::TimedOut => Err(ErrorKind::Timeout),
            Fate::Stopped if self.run.decision() == Some(Decision::DeadlinePassed) => Err(ErrorKind::Timeout),
            Fate::Stopped => Err(ErrorKind::Cancelled),
        };
        let candidate = &self.candidates[slot];
        // Of several answers only the first counts as the last success; otherwise `all` would rotate the order.
        let leads = ended.is_ok() && self.run.winners().next() == Some(slot);
        let leads = leads && self.entry.as_ref().is_some_and(|entry| entry.note_success(candidate.id));
        let latency = self.run.duration(slot, now).unwrap_or_default();
        candidate.stats.record(ended, latency, now, &self.breaker);
        if let Some(caller) = &self.caller {
            caller.record(candidate, ended, latency, now);
        }
        if leads {
            candidate.stats.mark_preferred();
        }
    }

    /// A candidate has failed: its error, as the call knows it. `None` if it came too late to count.
    pub fn failed(&mut self, slot: usize, error: HubError, now: Instant) -> Option<HubError> {
        let counts = self.run.failed(slot, error.nothing_happened, now);
        counts.then(|| error.of_attempt(!self.run.never_sent(slot)))
    }

    /// How the attempts ended; `error` is that of an attempt. `None` if nothing was recorded.
    pub(crate) fn ended_rows<'a>(
        &mut self,
        error: impl Fn(usize) -> Option<&'a HubError>,
    ) -> Option<EndedRows> {
        let may_have_run = |slot: usize| {
            let candidate = &self.candidates[slot];
            !candidate.spec().effects.are_harmless()
                && self.state_of(slot, error(slot)).0 == EffectState::Unknown
        };
        // Of one candidate the result says so.
        if self.candidates.len() > 1 && (0..self.candidates.len()).any(may_have_run) {
            self.in_doubt.store(true, Ordering::Relaxed);
        }
        let recorder = self.recorder.clone()?;
        self.has_waited_for_lock = recorder.waits_for_lock();
        // One that gave up while it waited at a limit has none so far.
        for slot in (0..self.candidates.len()).filter(|slot| self.run.was_tried(*slot)) {
            self.recorder_of(slot).inspect(|recorder| recorder.write(slot, &self.candidates[slot], drop));
        }
        self.recorder = None;
        let rows = recorder.take_rows();
        let ends = rows.into_iter().map(|(slot, id)| self.end_of(slot, id, error(slot))).collect();
        Some(EndedRows { recorder, ends })
    }

    fn end_of(&self, slot: usize, id: String, error: Option<&HubError>) -> EffectEnd {
        let (state, text) = self.state_of(slot, error);
        // People read the ledger; what was sent is known by its digest.
        let error = text.map(|text| scrubbed_text(text).into_owned());
        let repeatable = state == EffectState::Failed && self.run.proves_nothing_happened(slot);
        EffectEnd { id, state, error, repeatable }
    }

    /// What became of an attempt, and why it did not succeed.
    fn state_of<'a>(&self, slot: usize, error: Option<&'a HubError>) -> (EffectState, Option<&'a str>) {
        let said = error.map(|error| &*error.message);
        match (self.run.fate(slot), error) {
            (Fate::Succeeded, _) => (EffectState::Done, None),
            _ if self.run.never_sent(slot) => (EffectState::NotSent, said.or(Some("it was not started"))),
            (Fate::Failed, Some(error))
                if self.run.proves_nothing_happened(slot) || error.outcome == Outcome::Failed =>
            {
                (EffectState::Failed, said)
            }
            (Fate::Failed, _) => (EffectState::Unknown, said.or(Some("it failed"))),
            (Fate::TimedOut, _) => (EffectState::Unknown, Some("it timed out")),
            _ => (EffectState::Unknown, Some("it was cancelled")),
        }
    }

    /// Whether its rows wait, or have waited to the end, for another process that has locked the store.
    fn waits_for_lock(&self) -> bool {
        self.has_waited_for_lock || self.recorder.as_ref().is_some_and(|recorder| recorder.waits_for_lock())
    }

    /// The error of a candidate that ended without an answer of its own.
    pub fn silent_error(&self, slot: usize) -> Option<HubError> {
        let name = clip(&self.candidates[slot].spec().name);
        let server = self.candidates[slot].server.as_deref();
        let tool = match server {
            Some(server) => message!("Tool '{}' on server '{}'", name, clip(server)),
            None => message!("Tool '{}'", name),
        };
        match self.run.fate(slot) {
            Fate::TimedOut if self.run.never_sent(slot) => {
                let seconds = self.run.timeout(slot).as_secs_f64();
                let missing = match server {
                    _ if self.waits_for_lock() => message!("the store, which other processes keep locked"),
                    Some(_) => message!("a concurrency slot or connection"),
                    None => message!("a concurrency slot or thread"),
                };
                let mut text =
                    message!("{} timed out after {} s waiting for {}; not started.", tool, seconds, missing);
                if let Some(reason) = self.candidates[slot].tool.why_waiting() {
                    text = message!("{} Its error stream says '{}'.", text, reason);
                }
                let abandoned = self.candidates[slot].stats.abandoned();
                if abandoned > 0 && self.candidates[slot].gate.is_some() {
                    text = message!(
                        "{} {} of its abandoned calls still run and hold their slots.",
                        text,
                        abandoned
                    );
                }
                Some(HubError::new(ErrorKind::Timeout, text).with_outcome(Outcome::NotSent))
            }
            Fate::TimedOut => {
                let seconds = self.run.timeout(slot).as_secs_f64();
                let text = message!("{} timed out after {} s (it may still have run).", tool, seconds);
                Some(HubError::new(ErrorKind::Timeout, text))
            }
            Fate::Stopped => Some(cancelled(&name).of_attempt(!self.run.never_sent(slot))),
            _ => None,
        }
    }

    /// What a candidate has answered, or the error in place of its answer.
    pub(crate) fn answer_of(&self, slot: usize, answers: &[Option<Answer>]) -> Option<Answer> {
        answers[slot].clone().or_else(|| self.silent_error(slot).map(Err))
    }

    /// The error of the whole call, made from the errors of the candidates.
    pub fn final_error<'a>(&self, errors: impl Iterator<Item = (usize, &'a HubError)>) -> HubError {
        match self.run.decision() {
            Some(Decision::DeadlinePassed) => {
                let limit = self.run.deadline_at().map(|at| at.duration_since(self.run.begun()));
                late(&self.what, limit.unwrap_or_default(), self.outcome(), self.waits_for_lock())
            }
            Some(Decision::Closed) => {
                let (what, outcome) = (clip(&self.what), self.outcome());
                let text = message!("'{}' was ended because the hub was closed ({}).", what, known(outcome));
                HubError::new(ErrorKind::Closed, text).with_outcome(outcome)
            }
            Some(Decision::Cancelled) => call_cancelled(&self.what).with_outcome(self.outcome()),
            _ => {
                let mut errors: Vec<_> = errors.collect();
                // The error of a candidate that ran comes before that of a skipped one.
                errors.sort_by_key(|(slot, _)| (self.run.fate(*slot) == Fate::Rejected, *slot));
                let mut first = errors.first().map(|(_, error)| (*error).clone()).unwrap_or_else(|| {
                    HubError::new(
                        ErrorKind::ToolError,
                        message!("No candidate of '{}' gave an answer.", clip(&self.what)),
                    )
                });
                // What one of them may have done, the call may have done.
                first.outcome = errors.iter().map(|(_, error)| error.outcome).max().unwrap_or(first.outcome);
                first
            }
        }
    }

    /// What is known about a call that was ended before a candidate answered.
    fn outcome(&self) -> Outcome {
        let sent = (0..self.candidates.len()).any(|slot| !self.run.never_sent(slot));
        if sent { Outcome::Unknown } else { Outcome::NotSent }
    }

    /// Whether every candidate that may have run can run again without harm.
    pub fn is_repeatable(&self) -> bool {
        let mut candidates = self.candidates.iter().enumerate();
        candidates.all(|(slot, candidate)| self.run.never_sent(slot) || candidate.spec().is_repeatable())
    }

    /// The candidates whose answers are merged, in the order of priority and registration, not of their start. Successes
    /// without a value have nothing to add.
    pub fn merged_slots(&self, has_value: impl Fn(usize) -> bool) -> SmallVec<[usize; 4]> {
        let mut winners: SmallVec<[usize; 4]> = self.run.winners().collect();
        if winners.iter().any(|slot| has_value(*slot)) {
            winners.retain(|slot| has_value(*slot));
        }
        winners.sort_by_key(|slot| (self.candidates[*slot].priority, self.candidates[*slot].id));
        winners
    }

    /// The values of the candidates that answered, in the order of the merge.
    pub(crate) fn merged_winners(&self, answers: &[Option<Answer>]) -> Vec<(usize, Value)> {
        let value = |answer: &Option<Answer>| Some(answer.as_ref()?.as_ref().ok()?.inner());
        let mut values: Vec<Option<Value>> = answers.iter().map(value).collect();
        let slots = self.merged_slots(|slot| values[slot].as_ref().is_some_and(|value| !value.is_null()));
        slots.into_iter().filter_map(|slot| Some((slot, values[slot].take()?))).collect()
    }

    pub(crate) fn conclude(&self, answers: &[Option<Answer>], merged: &[(usize, Value)]) -> Result<Value> {
        match merged {
            [] => {
                let errors: Vec<_> = (0..answers.len())
                    .filter_map(|slot| Some((slot, self.answer_of(slot, answers)?.err()?)))
                    .collect();
                Err(self.final_error(errors.iter().map(|(slot, error)| (*slot, error))))
            }
            [(_, only)] => Ok(only.clone()),
            many => {
                let text =
                    |(slot, value): &(usize, Value)| (self.candidates[*slot].label(), answer_text(value));
                let answers: Vec<_> = many.iter().map(text).collect();
                let parts = answers.iter().map(|(label, text)| part(label.clone(), text, merge::PART_LIMIT));
                Ok(Value::String(merge::simple(&parts.collect::<Vec<_>>()).text))
            }
        }
    }
}

/// An answer as text: content blocks as they read, other data as JSON.
pub fn answer_text(value: &Value) -> String {
    match (value, content::blocks(value)) {
        (Value::String(text), _) => text.clone(),
        (_, Some(blocks)) => content::text(blocks, ImageNotes::Shown),
        (data, None) => data.to_string(),
    }
}

/// The error of a call whose deadline has passed, perhaps while another process had locked the store.
pub fn late(what: &str, deadline: Duration, outcome: Outcome, is_locked: bool) -> HubError {
    let why = match is_locked && outcome == Outcome::NotSent {
        true => message!("it was not started: other processes keep the store locked"),
        false => known(outcome),
    };
    let (what, seconds) = (clip(what), deadline.as_secs_f64());
    let text = message!("'{}' did not end within its deadline of {} s ({}).", what, seconds, why);
    HubError::new(ErrorKind::Timeout, text).with_outcome(outcome)
}

fn known(outcome: Outcome) -> Message {
    if outcome == Outcome::NotSent {
        message!("it was not started")
    } else {
        message!("it may still have run")
    }
}

/// The error of a call that its caller cancelled.
pub fn call_cancelled(what: &str) -> HubError {
    HubError::new(ErrorKind::Cancelled, message!("The call of '{}' was cancelled.", clip(what)))
}

/// The error of a candidate that was stopped before it answered.
pub fn cancelled(tool: &str) -> HubError {
    HubError::new(ErrorKind::Cancelled, message!("Tool '{}' was cancelled.", clip(tool)))
}

/// One answer for merging, shown as far as its limit allows.
pub fn part(label: String, text: &str, limit: usize) -> Part<'_> {
    let shown = truncate(text, limit, &Options::default());
    let end = text.char_indices().nth(Part::LONG).map(|(end, _)| end);
    Part {
        label,
        start: Cow::Borrowed(&text[..end.unwrap_or(text.len())]),
        long: end.map(|_| text.as_bytes()),
        shown: shown.text,
        cut: shown.truncated,
    }
}
