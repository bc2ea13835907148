//! Recording effects: which attempts need a row in the ledger, what it holds, and how it ends.

use super::Hub;
use super::effects::{
    AskedCall, CallRecord, EffectRecorder, EndedRows, LedgerMode, MOST_DEFINITIONS, not_recorded,
};
use super::planned::PlannedRun;
use crate::execute::{BeforeSend, Fate};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::oneshot;
use toolhub_registry::Candidate;
use toolhub_registry::identity::{CallContent, CallDefinition, CandidateDefinition};
use toolhub_store::ledger::{EffectEnd, EffectState, Ledger};
use toolhub_store::real_place;
use toolhub_store::tape::recording_of;
use toolhub_text::secret::scrubbed_text;
use toolhub_types::error::{HubError, Outcome};
use toolhub_types::model::Arguments;

impl Hub {
    /// The ledger at present: that of the hub, or while a tape answers its calls that of the replay.
    pub fn ledger(&self) -> Arc<Ledger> {
        self.replay_ledger().unwrap_or_else(|| self.own_ledger().clone())
    }

    /// The ledger of the hub: in the file of the store, or in memory.
    fn own_ledger(&self) -> &Arc<Ledger> {
        self.recording.ledger.get_or_init(|| Ledger::new(self.recording.path.get().cloned()))
    }

    /// The ledger is kept in this file, even if it cannot be used now.
    pub(super) fn record_in(&self, path: &std::path::Path) {
        // Only the first store counts.
        let _ = self.recording.path.set(path.to_owned());
    }

    /// Notes that the store is in this file but cannot be used.
    pub fn go_without_store(&self, path: &std::path::Path) {
        self.record_in(&real_place(path));
        self.has_no_store.store(true, Ordering::Relaxed);
    }

    /// Whether the ledger was needed so far.
    pub fn has_ledger(&self) -> bool {
        self.recording.ledger.get().is_some()
    }

    /// Writes what is queued, and closes the ledger. False if that took too long.
    pub fn close_ledger(&self, patience: Duration) -> bool {
        self.recording.ledger.get().is_none_or(|ledger| ledger.close(patience))
    }

    /// Whether calls of these candidates have rows outside of a run too.
    pub fn keeps_rows(&self, candidates: &[Arc<Candidate>]) -> bool {
        self.options.ledger != LedgerMode::Off
            && self.recording.path.get().is_some()
            && candidates.iter().any(|one| !one.spec().effects.are_harmless())
            // What a recording answers happens for nobody.
            && self.tape().is_none_or(|tape| !tape.is_replay())
    }

    /// Records what these candidates may do, and in a run what the call gives.
    pub fn record(
        &self,
        planned: &mut PlannedRun,
        record: Option<CallRecord>,
        asked: impl FnOnce() -> AskedCall,
    ) {
        let ledger = match &record {
            Some(_) => self.ledger(),
            None if self.keeps_rows(&planned.candidates) => self.own_ledger().clone(),
            None => return,
        };
        let recorder = EffectRecorder::new(ledger, self.options.ledger, asked(), record);
        planned.recorder = Some(Arc::new(recorder));
    }

    /// What these candidates are.
    pub fn definition(&self, candidates: &[Arc<Candidate>]) -> CallDefinition {
        CallDefinition::new(candidates.iter().map(|one| self.tool_definition(one)).collect())
    }

    /// What a candidate is. It is made once for each tool.
    pub fn tool_definition(&self, candidate: &Candidate) -> Arc<CandidateDefinition> {
        let key = Arc::as_ptr(&candidate.tool).cast::<()>() as usize;
        let mut known = self.recording.definitions.lock();
        if let Some((tool, definition)) = known.get(&key)
            && tool.upgrade().is_some_and(|tool| Arc::ptr_eq(&tool, &candidate.tool))
        {
            return definition.clone();
        }
        if known.len() >= MOST_DEFINITIONS {
            known.clear();
        }
        let definition = Arc::new(CandidateDefinition::of(candidate));
        known.insert(key, (Arc::downgrade(&candidate.tool), definition.clone()));
        definition
    }
}

impl Hub {
    /// What writes the row of a candidate on tokio, before it starts.
    pub(super) fn row_writer(
        &self,
        plan: &PlannedRun,
        slot: usize,
        args: &Arc<Arguments>,
        meta: &Map<String, Value>,
    ) -> Option<BeforeSend> {
        let recorder = plan.recorder.clone().filter(|_| plan.needs_row(slot))?;
        let candidate = plan.candidates[slot].clone();
        let (definition, args, meta) = (self.tool_definition(&candidate), args.clone(), meta.clone());
        Some(Arc::new(move || {
            // Given as it was asked for: what a candidate makes of it follows from its definition.
            let content = CallContent {
                arguments: args.as_value().clone(),
                meta: meta.clone(),
                ..CallContent::default()
            };
            let (written, is_written) = oneshot::channel();
            let notify = Box::new(move |result| drop(written.send(result)));
            recorder.write((slot, &candidate), &definition.digest, content, notify);
            let name = candidate.spec().name.clone();
            Box::pin(async move {
                is_written.await.unwrap_or_else(|_| Err(not_recorded(&name, &"it is closed".into())))
            })
        }))
    }
}

impl PlannedRun {
    /// Whether an attempt needs a row before it starts.
    pub fn needs_row(&self, slot: usize) -> bool {
        let candidate = &self.candidates[slot];
        // A recording has no effects.
        let may_act = !candidate.spec().effects.are_harmless() && recording_of(candidate).is_none();
        self.recorder.as_ref().is_some_and(|recorder| may_act && !recorder.has_row(slot))
    }

    /// How the attempts ended; `error` is that of an attempt. `None` if nothing was recorded.
    pub fn ended_rows<'a>(&mut self, error: impl Fn(usize) -> Option<&'a HubError>) -> Option<EndedRows> {
        let may_have_run = |slot: usize| {
            let candidate = &self.candidates[slot];
            !candidate.spec().effects.are_harmless()
                && self.state_of(slot, error(slot)).0 == EffectState::Unknown
        };
        // Of one candidate the result says so.
        if self.candidates.len() > 1 && (0..self.candidates.len()).any(may_have_run) {
            self.in_doubt.store(true, Ordering::Relaxed);
        }
        let recorder = self.recorder.take()?;
        self.has_waited_for_lock = recorder.waits_for_lock();
        let rows = recorder.take_rows();
        let ends = rows.into_iter().map(|(slot, id)| self.end_of(slot, id, error(slot))).collect();
        Some(EndedRows { recorder, ends })
    }

    fn end_of(&self, slot: usize, id: String, error: Option<&HubError>) -> EffectEnd {
        let (state, text) = self.state_of(slot, error);
        // People read the ledger; what was sent is known by its digest.
        let error = text.map(|text| scrubbed_text(&text).into_owned());
        let repeatable = state == EffectState::Failed && self.run.proves_nothing_happened(slot);
        EffectEnd { id, state, error, repeatable }
    }

    /// What became of an attempt, and why it did not succeed.
    fn state_of(&self, slot: usize, error: Option<&HubError>) -> (EffectState, Option<String>) {
        let not_sent = |why: &str| (EffectState::NotSent, Some(why.to_owned()));
        let failed = |why: &str| (EffectState::Failed, Some(why.to_owned()));
        let unknown = |why: &str| (EffectState::Unknown, Some(why.to_owned()));
        let nothing_happened = self.run.proves_nothing_happened(slot);
        match (self.run.fate(slot), error) {
            (Fate::Succeeded, _) => (EffectState::Done, None),
            (_, error) if self.run.never_sent(slot) => {
                not_sent(error.map_or("it was not started", |error| &error.message))
            }
            (Fate::Failed, Some(error)) if nothing_happened || error.outcome == Outcome::Failed => {
                failed(&error.message)
            }
            (Fate::Failed, error) => unknown(error.map_or("it failed", |error| &error.message)),
            (Fate::TimedOut, _) => unknown("it timed out"),
            _ => unknown("it was cancelled"),
        }
    }
}
