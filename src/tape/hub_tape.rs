//! The tape as one hub sees it.

use super::deck::{Deck, Tape, TapeStart};
use super::line::CallOnTape;
use super::reading::Recording;
use super::replayer::ReplayMode;
use super::sharing::Sharing;
use crate::canonical::digest;
use crate::error::HubError;
use crate::secret::scrubbed;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// The tape that a call of one hub belongs to.
#[derive(Clone)]
pub struct HubTape {
    pub(super) tape: Arc<Tape>,
    /// The number of the hub on this tape; `None` for a question to a model.
    pub(super) hub: Option<i64>,
}

impl HubTape {
    pub fn tape(&self) -> &Arc<Tape> {
        &self.tape
    }

    /// Whether it answers calls, so that nothing happens.
    pub fn is_replay(&self) -> bool {
        self.tape.is_replay()
    }

    /// Begins a call: it is recorded, replayed, or missed.
    pub fn begin(&self, call: CallOnTape<'_>) -> TapeStart {
        match &self.tape.deck {
            Deck::Record(recorder) => TapeStart::Recording(recorder.begin(call, self.hub)),
            Deck::Replay(replayer) => match replayer.take(call, self.hub) {
                Ok(recording) => TapeStart::Replayed(recording),
                Err(miss) => TapeStart::Missed(miss),
            },
        }
    }

    /// A call of `what` that may share the result of an equal one. `arguments` is JSON.
    pub fn sharing(&self, what: &str, arguments: &str) -> SharedCall {
        SharedCall::new(self.clone(), what, arguments)
    }

    /// Whether a recording answers a call of this provider with these arguments.
    pub fn answers(&self, name: &str, candidate: &str, arguments: &Value) -> bool {
        match &self.tape.deck {
            Deck::Record(_) => false,
            Deck::Replay(replayer) => replayer.has(name, candidate, arguments),
        }
    }

    /// The error of a replayed call that nothing answers any more.
    pub fn unanswered(&self, recording: &Recording) -> Option<HubError> {
        match &self.tape.deck {
            Deck::Record(_) => None,
            Deck::Replay(replayer) => Some(replayer.unanswered(recording)),
        }
    }

    /// What stands for chance: 64 hexadecimal digits, the same for the same parts in a recording and its replays. `None` for a
    /// cassette of an earlier version.
    pub fn draw(&self, parts: &[&str]) -> Option<String> {
        match &self.tape.deck {
            Deck::Record(recorder) => Some(recorder.chance().draw(parts)),
            Deck::Replay(replayer) => replayer.chance().map(|chance| chance.draw(parts)),
        }
    }

    /// How long a replayed answer has to wait.
    pub fn delay(&self, recording: &Recording) -> Option<Duration> {
        match &self.tape.deck {
            Deck::Replay(replayer) if replayer.mode() == ReplayMode::Timed => Some(recording.took()),
            _ => None,
        }
    }

    /// Whether another candidate of the recorded call answered before this one, and has not in this replay.
    pub fn is_early(&self, recording: &Recording) -> bool {
        match &self.tape.deck {
            Deck::Replay(replayer) => replayer.is_early(recording),
            Deck::Record(_) => false,
        }
    }
}

/// A call that may share a result, on a tape.
pub struct SharedCall {
    tape: HubTape,
    what: String,
    arguments: Value,
    digest: [u8; 32],
}

impl SharedCall {
    fn new(tape: HubTape, what: &str, arguments: &str) -> Self {
        let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments));
        let arguments = scrubbed(arguments);
        SharedCall { tape, what: what.to_owned(), digest: digest(&arguments), arguments }
    }

    /// Where the result came from when this was recorded; `None` if that is not known, or this is being recorded.
    pub fn recorded(&self) -> Option<Sharing> {
        match &self.tape.tape.deck {
            Deck::Replay(replayer) => replayer.shared(&self.what, &self.digest, self.tape.hub),
            Deck::Record(_) => None,
        }
    }

    /// The place of this call among all that is recorded. Taken where it is decided what it shares, and written afterwards.
    pub fn moment(&self) -> Option<u64> {
        match &self.tape.tape.deck {
            Deck::Record(recorder) => Some(recorder.moment()),
            Deck::Replay(_) => None,
        }
    }

    /// Writes down where the result comes from.
    pub fn decided(&self, sharing: Sharing, moment: u64) {
        if let Deck::Record(recorder) = &self.tape.tape.deck {
            recorder.shared((&self.what, &self.arguments), self.tape.hub, sharing, moment);
        }
    }
}
