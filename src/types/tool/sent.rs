//! Whether anything of an attempt was sent: the one answer to that question.
//!
//! ```text
//!        begin            end
//! open ────────► sent ──────────► over: it may have happened
//!   ▲  ◄──────── │
//!   │    reopen
//!   └────────────── end ────────► withdrawn: nothing was sent, and nothing will be
//! ```
//!
//! Whoever writes the first byte or calls the function begins, immediately before it does so. Whoever decides (a timeout, a
//! deadline, a cancellation, the closing of the hub) ends. They may be on two threads: the first one wins, and both know.

use crate::sync::atomic::{AtomicU8, Ordering};

const SENT: u8 = 1;
const ENDED: u8 = 2;

/// One for each attempt.
#[derive(Debug)]
pub struct SentFlag(AtomicU8);

/// Whether something may be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Nothing was sent before.
    First,
    /// Something was: this is another try, or another message of the same call.
    Again,
    /// The attempt has ended, and nothing may be sent any more.
    Refused,
}

impl Default for SentFlag {
    fn default() -> Self {
        SentFlag(AtomicU8::new(0))
    }
}

impl SentFlag {
    /// To be asked immediately before something is sent.
    pub fn begin(&self) -> Begin {
        match self.0.compare_exchange(0, SENT, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Begin::First,
            Err(SENT) => Begin::Again,
            Err(_) => Begin::Refused,
        }
    }

    pub fn may_begin(&self) -> bool {
        self.begin() != Begin::Refused
    }

    /// What was about to be sent, for the first time, was not: no byte of it left.
    pub fn reopen(&self) {
        let _ = self.0.compare_exchange(SENT, 0, Ordering::AcqRel, Ordering::Acquire);
    }

    /// The attempt is over, whatever ended it. True if nothing was sent; then nothing will be.
    pub fn end(&self) -> bool {
        self.0.fetch_or(ENDED, Ordering::AcqRel) & SENT == 0
    }

    pub fn was_sent(&self) -> bool {
        self.0.load(Ordering::Acquire) & SENT != 0
    }
}
