//! Which tape a call belongs to, and what the hub uses in place of its own while a tape answers.

use super::Hub;
use super::replay_memory::{CallTape, ReplayMemory};
use crate::store::ledger::{ApprovalAnswer, ApprovalQuestion, LedgerFailure};
use crate::tape::{self, Tape};
use std::sync::Arc;

impl Hub {
    /// The tape for a call that begins now.
    pub(super) fn tape(&self) -> Option<CallTape> {
        let tape = tape::current(Some(self.number))?;
        let memory = tape.is_replay().then(|| self.replay_memory(tape.tape()));
        Some(CallTape { tape, memory })
    }

    /// What calls that begin now know and learn, if a tape answers them.
    pub fn replaying(&self) -> Option<Arc<ReplayMemory>> {
        self.tape()?.memory
    }

    /// Ends the memory of the last replay, and its thread.
    pub(super) fn forget_replay(&self) {
        let before = self.recording.replay.lock().take();
        drop(before);
    }

    fn replay_memory(&self, tape: &Arc<Tape>) -> Arc<ReplayMemory> {
        let mut slot = self.recording.replay.lock();
        if let Some((known, memory)) = &*slot
            && std::ptr::eq(known.as_ptr(), Arc::as_ptr(tape))
        {
            return memory.clone();
        }
        let memory = ReplayMemory::new();
        let before = slot.replace((Arc::downgrade(tape), memory.clone()));
        drop(slot);
        drop(before);
        memory
    }

    /// Uses the approval of a call up, or asks for one. In a replay an answer that was given before it counts, and can be used
    /// afterwards all the same.
    pub fn ask_approval(
        &self,
        replay: Option<&Arc<ReplayMemory>>,
        question: ApprovalQuestion,
        done: Box<dyn FnOnce(Result<ApprovalAnswer, LedgerFailure>) + Send>,
    ) {
        let Some(replay) = replay else { return self.own_ledger().ask_approval(question, done) };
        let ledger = replay.ledger.clone();
        if !self.has_own_ledger() {
            return ledger.ask_approval(question, done);
        }
        let digest = question.digest.clone();
        let asked = move |known: Result<_, LedgerFailure>| {
            ledger.ask_approval_knowing(known.ok().flatten(), question, done);
        };
        self.own_ledger().decided_approval(digest, Box::new(asked));
    }
}
