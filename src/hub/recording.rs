//! Recording effects: which attempts need a row in the ledger, what it holds, and how it ends.

use super::Hub;
use super::effects::{CallRecord, EffectRecorder, EndedRows, LedgerMode, MOST_DEFINITIONS, not_recorded};
use super::planned::PlannedRun;
use crate::error::{HubError, Outcome};
use crate::execute::{BeforeSend, Fate};
use crate::identity::{CallDefinition, CandidateDefinition};
use crate::registry::Candidate;
use crate::secret::scrubbed_text;
use crate::store::ledger::{EffectEnd, EffectState, Ledger};
use crate::store::real_place;
use crate::tape::recording_of;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::oneshot;

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

    /// Whether the ledger was needed so far.
    pub fn has_ledger(&self) -> bool {
        self.recording.ledger.get().is_some()
    }

    /// Writes what is queued, and closes the ledger. False if that took too long.
    pub fn close_ledger(&self, patience: Duration) -> bool {
        self.recording.ledger.get().is_none_or(|ledger| ledger.close(patience))
    }

    /// What records the effects of these candidates; `None` if there is nothing to record.
    pub(super) fn recorder(
        &self,
        candidates: &[Arc<Candidate>],
        principal: Option<&Arc<str>>,
    ) -> Option<Arc<EffectRecorder>> {
        let is_wanted = self.options.ledger != LedgerMode::Off && self.recording.path.get().is_some();
        let may_act = || candidates.iter().any(|one| !one.spec().effects.are_harmless());
        (is_wanted && may_act()).then(|| self.new_recorder(self.own_ledger().clone(), principal, None))
    }

    fn new_recorder(
        &self,
        ledger: Arc<Ledger>,
        principal: Option<&Arc<str>>,
        record: Option<CallRecord>,
    ) -> Arc<EffectRecorder> {
        let principal = principal.map(|id| id.to_string()).unwrap_or_default();
        Arc::new(EffectRecorder::new(ledger, self.options.ledger, principal, record))
    }

    /// Records a run of candidates as a call of a run.
    pub fn record_as(&self, planned: &mut PlannedRun, principal: Option<&Arc<str>>, record: CallRecord) {
        planned.recorder = Some(self.new_recorder(self.ledger(), principal, Some(record)));
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
        arguments: &Arc<str>,
    ) -> Option<BeforeSend> {
        let recorder = plan.recorder.clone().filter(|_| plan.needs_row(slot))?;
        let candidate = plan.candidates[slot].clone();
        let (definition, arguments) = (self.tool_definition(&candidate), arguments.clone());
        Some(Arc::new(move || {
            let (written, is_written) = oneshot::channel();
            let notify = Box::new(move |result| drop(written.send(result)));
            recorder.write((slot, &candidate), &definition.digest, arguments.to_string(), notify);
            let name = candidate.spec().name.clone();
            Box::pin(
                async move { is_written.await.unwrap_or_else(|_| Err(not_recorded(&name, "it is closed"))) },
            )
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
        let recorder = self.recorder.take()?;
        let rows = recorder.take_rows();
        let ends = rows.into_iter().map(|(slot, id)| self.end_of(slot, id, error(slot))).collect();
        Some(EndedRows::new(recorder, ends))
    }

    fn end_of(&self, slot: usize, id: String, error: Option<&HubError>) -> EffectEnd {
        let not_sent = |why: &str| (EffectState::NotSent, Some(why.to_owned()));
        let failed = |why: &str| (EffectState::Failed, Some(why.to_owned()));
        let unknown = |why: &str| (EffectState::Unknown, Some(why.to_owned()));
        let nothing_happened = self.run.proves_nothing_happened(slot);
        let (state, text) = match (self.run.fate(slot), error) {
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
        };
        // People read the ledger; what was sent is known by its digest.
        let error = text.map(|text| scrubbed_text(&text).into_owned());
        EffectEnd { id, state, error, repeatable: state == EffectState::Failed && nothing_happened }
    }
}

impl Hub {
    /// Notes that the store is in this file but cannot be used.
    pub fn go_without_store(&self, path: &std::path::Path) {
        self.record_in(&real_place(path));
        self.has_no_store.store(true, Ordering::Relaxed);
    }
}
