//! What outlives the calls of a hub: rows in the ledger, what the hub has learnt in its store, and calls on a cassette.
//!
//! Nothing happens in a replay, so nothing of it is left for real calls: runs and approvals are in a ledger of the replay, which
//! is in memory and begins empty; statistics are those of the recordings ([`toolhub_store::cassette::ReplayTool`]).

use super::Hub;
use super::planned::PlannedRun;
use crate::execute::{Answer, Fate, Rules, Run};
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolhub_context::search::Uses;
use toolhub_registry::Candidate;
use toolhub_registry::identity::{CallDefinition, CallIdentity};
use toolhub_registry::select::Candidates;
use toolhub_store::cassette::{
    Cassette, MissedCall, OnCassette, OpenRecording, Recording, ReplayTool, ReplayedCall,
};
use toolhub_store::ledger::Ledger;
use toolhub_store::{Store, real_place};
use toolhub_text::canonical::digest_of;
use toolhub_text::message;
use toolhub_text::secret::scrubbed_text;
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip};
use toolhub_types::model::Strategy;
use toolhub_types::principal::Principal;
use toolhub_types::tool::{OnProgress, both};

/// Of a handle while a cassette is in: as many as another one has.
const TAPED_DIGITS: usize = 16;

impl Hub {
    /// The ledger at present: that of the hub, or while a cassette answers its calls that of the replay.
    pub fn ledger(&self) -> Arc<Ledger> {
        self.replay_ledger().unwrap_or_else(|| self.own_ledger().clone())
    }

    /// The ledger of the hub: in the file of the store, or in memory.
    pub(super) fn own_ledger(&self) -> &Arc<Ledger> {
        self.own_ledger.get_or_init(|| match self.store() {
            Some(store) => Ledger::of(store.clone()),
            None => Ledger::new(self.store_path.get().cloned()),
        })
    }

    /// Notes that the store is in this file but cannot be used.
    pub fn go_without_store(&self, path: &std::path::Path) {
        // Only the first store counts.
        let _ = self.store_path.set(real_place(path));
    }

    /// Whether the ledger was needed so far.
    pub fn has_ledger(&self) -> bool {
        self.own_ledger.get().is_some()
    }

    /// Writes what is queued, and closes the ledger. False if that took too long.
    pub fn close_ledger(&self, patience: Duration) -> bool {
        self.own_ledger.get().is_none_or(|ledger| ledger.close(patience))
    }

    /// What these candidates are.
    pub fn definition(&self, candidates: &[Arc<Candidate>]) -> CallDefinition {
        CallDefinition::new(candidates.iter().map(|one| one.definition().clone()).collect())
    }
}

impl Hub {
    /// Starts from the content of the store, and writes new statistics to it. Call it before anything is registered; the
    /// first store stays.
    pub fn keep_in(&self, store: Arc<Store>) {
        if self.store.set(store.clone()).is_ok() {
            let _ = self.store_path.set(store.path.clone());
            self.registry.persist_stats(store.stats.clone());
            self.texts.keep_in(store.clone());
            self.uses.lock().restore(store.take_uses().into_iter());
        }
    }

    /// Whether pins were accepted once that this hub does not know.
    pub fn pins_are_lost(&self) -> bool {
        self.store().map_or(self.store_path.get().is_some(), |store| store.pins_are_lost())
    }

    pub fn store(&self) -> Option<&Arc<Store>> {
        self.store.get()
    }

    /// Sees what was used for the last queries, and forgets all tools.
    pub fn clear(&self) {
        let snapshot = self.registry.load();
        let mut uses = self.uses.lock();
        uses.credit_successes(|name| {
            snapshot.get(name).map_or(0, |entry| super::search::successes(entry, None))
        });
        self.keep_uses(&mut uses);
        drop((uses, snapshot));
        self.registry.clear();
    }

    pub(super) fn keep_uses(&self, uses: &mut Uses) {
        let new = uses.take_unsaved();
        if let Some(store) = self.store() {
            store.save_uses(new);
        }
    }

    /// The ledger of the present replay; `None` if calls are real.
    pub(super) fn replay_ledger(&self) -> Option<Arc<Ledger>> {
        let cassette = self.cassette().filter(|cassette| cassette.is_replay())?;
        let mut slot = self.replayed.lock();
        if let Some((known, ledger)) = &*slot
            && std::ptr::eq(known.as_ptr(), Arc::as_ptr(&cassette))
        {
            return Some(ledger.clone());
        }
        let ledger = Ledger::new(None);
        let before = slot.replace((Arc::downgrade(&cassette), ledger.clone()));
        drop(slot);
        drop(before);
        Some(ledger)
    }

    /// The handle of a text that was cut while a cassette is in: the model sees it, so a replay needs the same one. The text of a
    /// replay has no secrets.
    pub(super) fn cassette_handle(&self, text: &str, reader: Option<&Principal>) -> Option<String> {
        self.cassette()?;
        let digest = digest_of(&[reader.map_or("", |reader| &*reader.id), &scrubbed_text(text)]);
        Some(format!("r_{}", &digest["sha256:".len()..][..TAPED_DIGITS]))
    }
}

impl PlannedRun {
    /// Lets a cassette record the run, or answer in its place.
    pub fn put_on_cassette(
        &mut self,
        cassette: &Arc<Cassette>,
        identity: Option<&CallIdentity>,
        now: Instant,
    ) {
        let on_cassette = identity.map(|identity| cassette.call(identity));
        match on_cassette {
            Some(Ok(OnCassette::Recorded(call))) => self.recorded = Some(call),
            Some(Ok(OnCassette::Replayed(call))) => self.answer_from(call, now),
            Some(Err(miss)) => self.miss(miss),
            None if cassette.is_replay() => {
                self.miss(MissedCall::new(cassette.clone(), not_on_cassette(&self.what)));
            }
            None => {}
        }
    }

    /// Recordings take the place of the candidates, in their order: there is no race.
    fn answer_from(&mut self, call: ReplayedCall, now: Instant) {
        let candidate = |recording: Arc<Recording>| {
            let is_it = |one: &&Arc<Candidate>| {
                *one.spec().name == *recording.name && one.label() == recording.candidate
            };
            let of = self.candidates.iter().find(is_it).unwrap_or(&self.candidates[0]);
            ReplayTool::candidate(of, recording, call.is_timed)
        };
        let candidates: Candidates = call.recordings.into_iter().map(candidate).collect();
        let timeout = (0..self.candidates.len()).map(|slot| self.run.timeout(slot)).max();
        let deadline = self.run.deadline_at().map(|at| at.saturating_duration_since(self.run.begun()));
        (self.candidates, self.is_replayed) = (candidates, true);
        let rules = Rules {
            strategy: if self.strategy == Strategy::All { Strategy::All } else { Strategy::Fallback },
            batch: self.candidates.len(),
            healthy: self.candidates.len(),
            hedge_after: None,
            guarded: false,
            deadline,
            grace: Duration::ZERO,
        };
        let begun = self.run.begun();
        let timeouts = self.candidates.iter().map(|_| timeout.unwrap_or_default());
        self.run = Run::new(rules, timeouts, now);
        self.run.count_from(begun, now);
        self.entry = None;
    }

    /// Who hears the progress of a candidate: its caller and with it its recording, and the calls that follow the run.
    pub fn heard(&self, slot: usize, told: Option<OnProgress>) -> Option<OnProgress> {
        let recorded = told.as_ref().and(self.recordings.get(&slot)).map(OpenRecording::listener);
        [recorded, told, self.followers.clone()].into_iter().flatten().reduce(both)
    }

    /// Writes down what the candidates came to that are being recorded; `answer` is that of one that was not stopped.
    pub fn write_recordings(&mut self, answer: impl Fn(&Self, usize) -> Option<Answer>) {
        for (slot, recording) in std::mem::take(&mut self.recordings) {
            let ended = self.run.ended(slot).unwrap_or_else(Instant::now);
            let is_stopped = self.run.fate(slot) == Fate::Stopped;
            let answer = if is_stopped { None } else { answer(self, slot) };
            recording.end_at(&answer, !self.run.never_sent(slot), ended);
        }
    }

    /// No recording fits. The candidates check the arguments as ever, and nothing runs.
    fn miss(&mut self, miss: Arc<MissedCall>) {
        self.candidates = self.candidates.iter().map(|one| Arc::new(one.apart())).collect();
        self.entry = None;
        self.missed = Some(miss);
    }
}

/// The error of a call that was being prepared when a replay began.
fn not_on_cassette(tool: &str) -> HubError {
    let text = message!(
        "Tool '{}' was not called: a replay began while the call was prepared. Make the call again.",
        clip(tool)
    );
    HubError::new(ErrorKind::NotAllowed, text).with_outcome(Outcome::NotSent)
}
