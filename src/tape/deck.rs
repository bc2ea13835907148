//! The tape itself: what is recorded to, or replayed from.

use super::hub_numbers::HubNumbers;
use super::reading::Recording;
use super::recorder::{Recorder, Taping};
use super::replayer::Replayer;
use crate::error::HubError;
use std::sync::Arc;

/// What happens to calls at present.
pub struct Tape {
    /// The only hub that is meant; `None` for all.
    pub(super) hub: Option<u64>,
    pub(super) deck: Deck,
    pub(super) hubs: HubNumbers,
    /// The process that put it in.
    pub(super) process: u32,
}

/// What a tape does.
pub enum Deck {
    Record(Arc<Recorder>),
    Replay(Box<Replayer>),
}

/// What becomes of a call.
pub enum TapeStart {
    Recording(Taping),
    Replayed(Arc<Recording>),
    Missed(HubError),
}

impl Tape {
    pub fn deck(&self) -> &Deck {
        &self.deck
    }

    /// Whether this process put it in, and not one that this is a fork of.
    pub(super) fn is_own(&self) -> bool {
        self.process == std::process::id()
    }

    /// Whether it answers calls, so that nothing happens.
    pub fn is_replay(&self) -> bool {
        matches!(self.deck, Deck::Replay(_))
    }
}
