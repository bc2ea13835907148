//! L2, calls on tape: recorded while they run, or replayed without running.
//!
//! A *tape* is one process-wide switch, off by default; when it is off a call pays for one load of a flag. A call belongs to
//! the tape that [`current`] gives when it is planned, and a question to a model to that of the moment. When a candidate
//! has passed its checks and limits and is about to be called, [`HubTape::begin`] answers with one of three things:
//!
//! ```text
//!              ┌─ Recording(Taping): the call runs; `Taping::end` writes one line, dropping it writes "stopped"
//! begin(call) ─┼─ Replayed(Recording): nothing runs; this was recorded
//!              └─ Missed(HubError): nothing runs; nothing that was recorded fits
//! ```
//!
//! A call that may share the result of an equal one (`single_flight`, `cache_ttl`) asks [`HubTape::sharing`] first: a
//! recording writes down whether it shared, and a replay does the same again, since its answers come sooner.
//!
//! A tape belongs to the process that put it in. A fork has a copy of it: what it does is not recorded, and in a replay it
//! gets its answers from the copy, so that nothing runs.
//!
//! A tool that a recording answers does not run, so the calls inside it are not made: see `nested`. What a program would leave
//! to chance comes out as it was recorded: see [`HubTape::draw`].
//!
//! The file is NDJSON in the format of `docs/reference/events.md`, which the audit log has too. Secrets are taken out of
//! everything before it is written, and out of the arguments of a replayed call before they are compared.

mod chance;
mod clock;
mod deck;
mod hub_numbers;
mod hub_tape;
mod lanes;
mod line;
mod nested;
mod reading;
mod recorder;
mod replayer;
mod sharing;

pub use clock::{read_timestamp, timestamp};
pub use deck::{Deck, Tape, TapeStart};
pub use hub_numbers::number_hub;
pub use hub_tape::{HubTape, SharedCall};
pub use line::{CallOnTape, LineKind, OuterCall, TapedAnswer, VERSION};
pub use reading::{Recording, read_events};
pub use recorder::{Recorder, Taping, finish_cut};
pub use replayer::{ReplayEnd, ReplayMode, Replayer};
pub use sharing::Sharing;

use crate::error::HubError;
use arc_swap::ArcSwapOption;
use hub_numbers::HubNumbers;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_ON: AtomicBool = AtomicBool::new(false);
static CURRENT: ArcSwapOption<Tape> = ArcSwapOption::const_empty();

/// The tape for calls of this hub, or for what belongs to none; `None` if there is none.
#[inline]
pub fn current(hub: Option<u64>) -> Option<HubTape> {
    if !IS_ON.load(Ordering::Relaxed) {
        return None;
    }
    let tape = current_of_any().filter(|tape| tape.hub.is_none() || tape.hub == hub)?;
    let hub = hub.map(|hub| tape.hubs.number(hub));
    Some(HubTape { tape, hub })
}

/// Puts a tape in. There is one at a time in a process.
pub fn start(deck: Deck, hub: Option<u64>) -> Result<(), String> {
    let tape = Arc::new(Tape { hub, deck, hubs: HubNumbers::new(), process: std::process::id() });
    // A copy of the tape of another process is none of this one.
    let foreign = CURRENT.load_full().filter(|tape| !tape.is_own());
    let before = CURRENT.compare_and_swap(&foreign, Some(tape));
    if let Some(running) = before.as_ref().filter(|running| running.is_own()) {
        let doing = match &running.deck {
            Deck::Record(recorder) => format!("records to '{}'", recorder.path().display()),
            Deck::Replay(replayer) => format!("replays '{}'", replayer.path().display()),
        };
        return Err(format!("This process already {doing}; end that first."));
    }
    IS_ON.store(true, Ordering::Relaxed);
    Ok(())
}

/// Takes the tape out. Calls that are under way end up in it all the same, until it is closed. `None` if there is none, or
/// it is that of another process.
pub fn stop() -> Option<Arc<Tape>> {
    IS_ON.store(false, Ordering::Relaxed);
    CURRENT.swap(None).filter(|tape| tape.is_own())
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
    let tape = IS_ON.load(Ordering::Relaxed).then(|| CURRENT.load_full()).flatten();
    tape.filter(|tape| tape.is_replay() || tape.is_own())
}
