//! Which tape a call belongs to, and what the hub uses in place of its own while a tape answers.

use super::Hub;
use super::replay_memory::{CallTape, ReplayMemory, TapeMemory};
use super::result_texts::drawn_handle;
use crate::principal::Principal;
use crate::secret::scrubbed_text;
use crate::store::ledger::{ApprovalAnswer, ApprovalQuestion, LedgerFailure};
use crate::tape::{self, Tape};
use std::sync::Arc;

impl Hub {
    /// The tape for a call that begins now.
    pub(super) fn tape(&self) -> Option<CallTape> {
        let tape = tape::current(Some(self.number))?;
        let TapeMemory { learning, replay: memory } = self.tape_memory(tape.tape());
        Some(CallTape { tape, learning, memory })
    }

    /// What calls that begin now know and learn, if a tape answers them.
    pub fn replaying(&self) -> Option<Arc<ReplayMemory>> {
        self.tape()?.memory
    }

    /// Ends the memory of the last tape, and its thread.
    pub(super) fn forget_replay(&self) {
        let before = self.recording.taped.lock().take();
        drop(before);
    }

    fn tape_memory(&self, tape: &Arc<Tape>) -> TapeMemory {
        let mut slot = self.recording.taped.lock();
        if let Some((known, memory)) = &*slot
            && std::ptr::eq(known.as_ptr(), Arc::as_ptr(tape))
        {
            return memory.clone();
        }
        let memory = TapeMemory::new(tape);
        let before = slot.replace((Arc::downgrade(tape), memory.clone()));
        drop(slot);
        drop(before);
        memory
    }

    /// The handle of a text that was cut while a tape is in: the model sees it, so a replay needs the same one. The text of a
    /// replay has no secrets.
    pub(super) fn taped_handle(&self, text: &str, reader: Option<&Principal>) -> Option<String> {
        let tape = self.tape()?.tape;
        let reader = reader.map_or("", |reader| &*reader.id);
        tape.draw(&["handle", reader, &scrubbed_text(text)]).map(|digits| drawn_handle(&digits))
    }

    /// What shuffles the candidates of a capability while a tape is in: a replay chooses as its recording did, in whichever
    /// order calls come.
    pub(super) fn taped_order(&self, tape: &Option<CallTape>, tag: &str) -> Option<fastrand::Rng> {
        let digits = tape.as_ref()?.tape.draw(&["order", tag])?;
        let drawn = u64::from_str_radix(digits.get(..16)?, 16).ok()?;
        Some(fastrand::Rng::with_seed(self.options.seed.unwrap_or(drawn)))
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
