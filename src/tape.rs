//! L2, calls on tape: recorded while they run, or replayed without running.
//!
//! A *tape* is one process-wide switch, off by default; when it is off a call pays for one load of a flag. A call belongs to
//! the tape that [`current`] gives when it is planned, and a question to a model to that of the moment. When a candidate
//! has passed its checks and limits and is about to be called, [`Tape::begin`] answers with one of three things:
//!
//! ```text
//!              ┌─ Recording(Taping): the call runs; `Taping::end` writes one line, dropping it writes "stopped"
//! begin(call) ─┼─ Replayed(Recording): nothing runs; this was recorded
//!              └─ Missed(HubError): nothing runs; nothing that was recorded fits
//! ```
//!
//! A tool that a recording answers does not run, so the calls inside it are not made: see `nested`. What a program would leave
//! to chance comes out as it was recorded: see [`Tape::draw`].
//!
//! The file is NDJSON in the format of `docs/reference/events.md`, which the audit log has too. Secrets are taken out of
//! everything before it is written, and out of the arguments of a replayed call before they are compared.

mod chance;
mod clock;
mod difference;
mod lanes;
mod line;
mod nested;
mod reading;
mod recorder;
mod replayer;

pub use clock::{read_timestamp, timestamp};
pub use difference::{first_difference, first_difference_in};
pub use line::{CallOnTape, LineKind, TapedAnswer, VERSION};
pub use nested::OuterCall;
pub use reading::{Recording, read_events};
pub use recorder::{Recorder, Taping, finish_cut};
pub use replayer::{ReplayEnd, ReplayMode, Replayer};

use crate::error::HubError;
use arc_swap::ArcSwapOption;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_ON: AtomicBool = AtomicBool::new(false);
static CURRENT: ArcSwapOption<Tape> = ArcSwapOption::const_empty();

/// What happens to calls at present.
pub struct Tape {
    /// The address of the only hub that is meant; `None` for all.
    hub: Option<usize>,
    deck: Deck,
}

/// What a tape does.
pub enum Deck {
    Record(Arc<Recorder>),
    Replay(Replayer),
}

/// What becomes of a call.
pub enum TapeStart {
    Recording(Taping),
    Replayed(Arc<Recording>),
    Missed(HubError),
}

/// The tape for calls of this hub, or of any; `None` if there is none.
#[inline]
pub fn current(hub: Option<usize>) -> Option<Arc<Tape>> {
    if !IS_ON.load(Ordering::Relaxed) {
        return None;
    }
    CURRENT.load_full().filter(|tape| tape.hub.is_none() || tape.hub == hub)
}

/// Puts a tape in. There is one at a time in a process.
pub fn start(deck: Deck, hub: Option<usize>) -> Result<(), String> {
    let tape = Arc::new(Tape { hub, deck });
    let before = CURRENT.compare_and_swap(&None::<Arc<Tape>>, Some(tape));
    if let Some(running) = &*before {
        let doing = match &running.deck {
            Deck::Record(recorder) => format!("records to '{}'", recorder.path().display()),
            Deck::Replay(replayer) => format!("replays '{}'", replayer.path().display()),
        };
        return Err(format!("This process already {doing}; end that first."));
    }
    IS_ON.store(true, Ordering::Relaxed);
    Ok(())
}

/// Takes the tape out. Calls that are under way end up in it all the same, until it is closed.
pub fn stop() -> Option<Arc<Tape>> {
    IS_ON.store(false, Ordering::Relaxed);
    CURRENT.swap(None)
}

/// The list of tools that this server gave when the calls were recorded, if calls are replayed; the error is for a server
/// of which no list was recorded.
pub fn recorded_list(server: &str) -> Option<Result<String, HubError>> {
    match &current_of_any()?.deck {
        Deck::Record(_) => None,
        Deck::Replay(replayer) => Some(replayer.list(server)),
    }
}

/// Writes down what a server has listed, if calls are recorded.
pub fn record_list(server: &str, tools: impl FnOnce() -> String) {
    if let Some(Deck::Record(recorder)) = current_of_any().as_deref().map(|tape| &tape.deck) {
        recorder.list(server, &tools());
    }
}

/// Writes down a question of a server and its answer, if calls are recorded.
pub fn record_question(server: &str, method: &str, params: &Value, answer: &Value) {
    if let Some(Deck::Record(recorder)) = current_of_any().as_deref().map(|tape| &tape.deck) {
        recorder.question(server, method, params, answer);
    }
}

/// Whether calls are replayed, so that nothing may be started.
pub fn is_replaying() -> bool {
    matches!(current_of_any().as_deref().map(|tape| &tape.deck), Some(Deck::Replay(_)))
}

/// Whether questions are written down, so that they have to be kept until they are answered.
pub fn is_recording() -> bool {
    matches!(current_of_any().as_deref().map(|tape| &tape.deck), Some(Deck::Record(_)))
}

/// Servers do not know their hub.
fn current_of_any() -> Option<Arc<Tape>> {
    IS_ON.load(Ordering::Relaxed).then(|| CURRENT.load_full()).flatten()
}

impl Tape {
    pub fn deck(&self) -> &Deck {
        &self.deck
    }

    /// Whether it answers calls, so that nothing happens.
    pub fn is_replay(&self) -> bool {
        matches!(self.deck, Deck::Replay(_))
    }

    /// Begins a call: it is recorded, replayed, or missed.
    pub fn begin(&self, call: CallOnTape<'_>) -> TapeStart {
        match &self.deck {
            Deck::Record(recorder) => TapeStart::Recording(recorder.begin(call)),
            Deck::Replay(replayer) => match replayer.take(call) {
                Ok(recording) => TapeStart::Replayed(recording),
                Err(miss) => TapeStart::Missed(miss),
            },
        }
    }

    /// Whether a recording answers a call of this provider with these arguments.
    pub fn answers(&self, name: &str, candidate: &str, arguments: &Value) -> bool {
        match &self.deck {
            Deck::Record(_) => false,
            Deck::Replay(replayer) => replayer.has(name, candidate, arguments),
        }
    }

    /// The error of a replayed call that nothing answers any more.
    pub fn unanswered(&self, recording: &Recording) -> Option<HubError> {
        match &self.deck {
            Deck::Record(_) => None,
            Deck::Replay(replayer) => Some(replayer.unanswered(recording)),
        }
    }

    /// What stands for chance: 64 hexadecimal digits, the same for the same parts in a recording and its replays. `None` for a
    /// cassette of an earlier version.
    pub fn draw(&self, parts: &[&str]) -> Option<String> {
        match &self.deck {
            Deck::Record(recorder) => Some(recorder.chance().draw(parts)),
            Deck::Replay(replayer) => replayer.chance().map(|chance| chance.draw(parts)),
        }
    }

    /// How long a replayed answer has to wait.
    pub fn delay(&self, recording: &Recording) -> Option<std::time::Duration> {
        match &self.deck {
            Deck::Replay(replayer) if replayer.mode() == ReplayMode::Timed => Some(recording.took()),
            _ => None,
        }
    }
}
