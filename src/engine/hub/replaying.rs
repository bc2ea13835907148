//! The tape that the calls of a hub belong to, and what takes the place of the hub's own while a tape answers.
//!
//! Nothing happens in a replay, so nothing of it is left for real calls: runs and approvals are in a ledger of the replay, which
//! is in memory and begins empty; statistics are those of the recordings ([`toolhub_store::tape::ReplayTool`]).

use super::Hub;
use super::planned::PlannedRun;
use super::result_texts::tape_handle;
use crate::execute::{Rules, Run};
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolhub_registry::Candidate;
use toolhub_registry::identity::CallIdentity;
use toolhub_registry::select::Candidates;
use toolhub_store::ledger::Ledger;
use toolhub_store::tape::{self, CallOnTape, MissedCall, Recording, ReplayTool, ReplayedCall, Tape};
use toolhub_text::canonical::digest_of;
use toolhub_text::message;
use toolhub_text::secret::scrubbed_text;
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip};
use toolhub_types::model::Strategy;
use toolhub_types::principal::Principal;

impl Hub {
    /// The tape that is in.
    pub fn tape(&self) -> Option<Arc<Tape>> {
        tape::current(Some(self.number))
    }

    /// The ledger of the present replay; `None` if calls are real.
    pub(super) fn replay_ledger(&self) -> Option<Arc<Ledger>> {
        let tape = self.tape().filter(|tape| tape.is_replay())?;
        let mut slot = self.recording.replayed.lock();
        if let Some((known, ledger)) = &*slot
            && std::ptr::eq(known.as_ptr(), Arc::as_ptr(&tape))
        {
            return Some(ledger.clone());
        }
        let ledger = Ledger::new(None);
        let before = slot.replace((Arc::downgrade(&tape), ledger.clone()));
        drop(slot);
        drop(before);
        Some(ledger)
    }

    /// Ends the ledger of the last replay, and its thread.
    pub(super) fn forget_replay(&self) {
        let before = self.recording.replayed.lock().take();
        drop(before);
    }

    /// The handle of a text that was cut while a tape is in: the model sees it, so a replay needs the same one. The text of a
    /// replay has no secrets.
    pub(super) fn taped_handle(&self, text: &str, reader: Option<&Principal>) -> Option<String> {
        self.tape()?;
        let reader = reader.map_or("", |reader| &*reader.id);
        Some(tape_handle(&digest_of(&[reader, &scrubbed_text(text)])))
    }
}

impl PlannedRun {
    /// Lets a tape record the run, or answer in its place.
    pub fn put_on_tape(&mut self, tape: &Arc<Tape>, identity: Option<&CallIdentity>, now: Instant) {
        let on_tape = identity.map(|identity| tape.call(identity));
        match on_tape {
            Some(CallOnTape::Recorded(call)) => self.recorded = Some(Arc::new(call)),
            Some(CallOnTape::Replayed(call)) => self.answer_from(call, now),
            Some(CallOnTape::Missed(miss)) => self.miss(miss),
            None if tape.is_replay() => {
                self.miss(MissedCall::new(tape.clone(), not_on_tape(&self.what)));
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
        self.candidates = candidates;
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

    /// No recording fits. The candidates check the arguments as ever, and nothing runs.
    fn miss(&mut self, miss: MissedCall) {
        self.candidates = self.candidates.iter().map(|one| Arc::new(one.apart())).collect();
        self.entry = None;
        self.missed = Some(Arc::new(miss));
    }

    /// Whether recordings answer.
    pub fn is_replayed(&self) -> bool {
        self.candidates.first().is_some_and(|one| tape::recording_of(one).is_some())
    }
}

/// The error of a call that was being prepared when a replay began.
fn not_on_tape(tool: &str) -> HubError {
    let text = message!(
        "Tool '{}' was not called: a replay began while the call was prepared. Make the call again.",
        clip(tool)
    );
    HubError::new(ErrorKind::NotAllowed, text).with_outcome(Outcome::NotSent)
}
