//! L2, calls on a cassette: recorded while they run, or replayed without running.
//!
//! A *cassette* is one process-wide switch, off by default; when it is off a call pays for one load of a flag. Recording and
//! replaying happen at one place, around the tool, when a call is about to run:
//!
//! ```text
//!                  ┌─ Recorded(OpenCall): each candidate that is called gets a `OpenRecording`, which writes one line
//! Cassette::call(key) ─┼─ Replayed(recordings): each recording takes the place of a tool, see `ReplayTool`
//!                  └─ Err(MissedCall): nothing runs; nothing that was recorded fits
//! ```
//!
//! A replay finds a call by its key ([`toolhub_registry::identity`]), in the recorded order of start among calls of that key. Candidates
//! that another one beat are left out, the others answer in their order: there is no race. While a cassette is in, no results are
//! shared either, so each call has its own recording. With another definition of its tool a call is answered too, and the end
//! of the replay says so.
//!
//! A cassette belongs to the process that put it in. A fork has a copy of it: what it does is not recorded, and in a replay it
//! gets its answers from the copy, so that nothing runs.
//!
//! The file is NDJSON in the format of `docs/reference/events.md`, which the audit log has too. Secrets are taken out of
//! everything before it is written, and out of the key of a replayed call before it is looked up.

mod line;
mod reading;
mod recorder;
mod replayer;

pub use line::{LineKind, OuterCall, RecordedAnswer, VERSION, read_timestamp, timestamp};
pub use reading::{Recording, read_events};
pub use recorder::{OpenCall, OpenRecording, Recorder, finish_cut};
pub use replayer::{ReplayEnd, ReplayMode, ReplayTool, ReplayedCall, Replayer, recording_of};

use arc_swap::ArcSwapOption;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use toolhub_registry::identity::CallIdentity;
use toolhub_types::error::{HubError, Result};

/// Whether there is a cassette at all: usually there is none, and a call looks no further.
pub static IS_ON: AtomicBool = AtomicBool::new(false);
static CURRENT: ArcSwapOption<Cassette> = ArcSwapOption::const_empty();

/// What happens to calls at present.
pub struct Cassette {
    /// The only hub that is meant; `None` for all.
    hub: Option<u64>,
    mode: CassetteMode,
    /// The process that put it in.
    process: u32,
}

/// What a cassette does.
pub enum CassetteMode {
    Record(Arc<Recorder>),
    Replay(Box<Replayer>),
}

/// What becomes of a call, or of a question to a model, that a recording fits.
pub enum OnCassette<T> {
    Recorded(T),
    Replayed(ReplayedCall),
}

/// A call that no recording fits. It counts when a tool would be called: arguments that do not fit are refused before.
pub struct MissedCall {
    cassette: Arc<Cassette>,
    error: HubError,
    is_counted: AtomicBool,
}

impl MissedCall {
    pub fn new(cassette: Arc<Cassette>, error: HubError) -> Arc<Self> {
        Arc::new(MissedCall { cassette, error, is_counted: AtomicBool::new(false) })
    }

    /// A tool would be called now. However many candidates there are, it is one miss.
    pub fn count(&self) -> HubError {
        if let CassetteMode::Replay(replayer) = &self.cassette.mode
            && !self.is_counted.swap(true, Ordering::Relaxed)
        {
            replayer.missed(&self.error);
        }
        self.error.clone()
    }
}

impl Cassette {
    pub fn mode(&self) -> &CassetteMode {
        &self.mode
    }

    /// Whether this process put it in, and not one that this is a fork of.
    fn is_own(&self) -> bool {
        self.process == std::process::id()
    }

    /// Whether it answers calls, so that nothing happens.
    pub fn is_replay(&self) -> bool {
        matches!(self.mode, CassetteMode::Replay(_))
    }

    /// A call that is about to run; the error is for one that no recording fits.
    pub fn call(self: &Arc<Self>, identity: &CallIdentity) -> Result<OnCassette<OpenCall>, Arc<MissedCall>> {
        match &self.mode {
            CassetteMode::Record(recorder) => Ok(OnCassette::Recorded(recorder.open(identity.key.clone()))),
            CassetteMode::Replay(replayer) => {
                let replayed = replayer.call(identity).map(OnCassette::Replayed);
                replayed.map_err(|miss| MissedCall::new(self.clone(), miss))
            }
        }
    }

    /// A question to a model, which a tool asks if there is one around it.
    pub fn question(
        &self,
        model: &str,
        request: Value,
        inside: Option<&OuterCall>,
    ) -> Result<OnCassette<OpenRecording>> {
        match &self.mode {
            CassetteMode::Record(recorder) => Ok(OnCassette::Recorded(recorder.ask(model, request, inside))),
            CassetteMode::Replay(replayer) => replayer.ask(model, request).map(OnCassette::Replayed),
        }
    }
}

/// The cassette for calls of this hub, or for what belongs to none; `None` if there is none.
pub fn current(hub: Option<u64>) -> Option<Arc<Cassette>> {
    current_of_any().filter(|cassette| cassette.hub.is_none() || cassette.hub == hub)
}

/// Puts a cassette in. There is one at a time in a process.
pub fn start(mode: CassetteMode, hub: Option<u64>) -> Result<(), String> {
    let cassette = Arc::new(Cassette { hub, mode, process: std::process::id() });
    // A copy of the cassette of another process is none of this one.
    let foreign = CURRENT.load_full().filter(|cassette| !cassette.is_own());
    let before = CURRENT.compare_and_swap(&foreign, Some(cassette));
    if let Some(running) = before.as_ref().filter(|running| running.is_own()) {
        let doing = match &running.mode {
            CassetteMode::Record(recorder) => format!("records to '{}'", recorder.path().display()),
            CassetteMode::Replay(replayer) => format!("replays '{}'", replayer.path().display()),
        };
        return Err(format!("This process already {doing}; end that first."));
    }
    IS_ON.store(true, Ordering::Relaxed);
    Ok(())
}

/// Takes the cassette out. Calls that are under way end up in it all the same, until it is closed. `None` if there is none, or
/// it is that of another process.
pub fn stop() -> Option<Arc<Cassette>> {
    IS_ON.store(false, Ordering::Relaxed);
    CURRENT.swap(None).filter(|cassette| cassette.is_own())
}

/// The list of tools that this server gave when the calls were recorded, if calls are replayed; the error is for a server
/// of which no list was recorded.
pub fn recorded_list(server: &str) -> Option<Result<String>> {
    match &current_of_any()?.mode {
        CassetteMode::Record(_) => None,
        CassetteMode::Replay(replayer) => Some(replayer.list(server)),
    }
}

/// Writes down what a server has listed, if calls are recorded.
pub fn record_list(server: &str, tools: impl FnOnce() -> String) {
    if let Some(recorder) = recorder() {
        recorder.list(server, &tools());
    }
}

/// Writes down a question of a server and its answer, if calls are recorded.
pub fn record_question(server: &str, method: &str, params: &Value, answer: &Value) {
    if let Some(recorder) = recorder() {
        recorder.question(server, method, params, answer);
    }
}

/// Whether calls are replayed, so that nothing may be started.
pub fn is_replaying() -> bool {
    current_of_any().is_some_and(|cassette| cassette.is_replay())
}

/// Whether questions are written down, so that they have to be kept until they are answered.
pub fn is_recording() -> bool {
    recorder().is_some()
}

fn recorder() -> Option<Arc<Recorder>> {
    match &current_of_any()?.mode {
        CassetteMode::Record(recorder) => Some(recorder.clone()),
        CassetteMode::Replay(_) => None,
    }
}

/// Servers do not know their hub.
fn current_of_any() -> Option<Arc<Cassette>> {
    let cassette = IS_ON.load(Ordering::Relaxed).then(|| CURRENT.load_full()).flatten();
    cassette.filter(|cassette| cassette.is_replay() || cassette.is_own())
}
