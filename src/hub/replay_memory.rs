//! What a hub knows and learns while a tape answers its calls.
//!
//! Nothing happens in a replay, so nothing of it may be left for calls that are made afterwards: no call of a run, no
//! approval that was used up, no statistics, no cached result. `Hub::tape` is the one place that decides it: a call that
//! begins while a tape answers has a [`ReplayMemory`] in place of what the hub keeps, whichever driver makes it. It begins
//! empty and goes with the tape, so each replay of a program starts like the first one.
//!
//! ```text
//! call ─► Hub::tape ─┬─ no tape: the ledger, registry and cache of the hub
//!                    ├─ a tape that records: the ledger of the hub, and TapeLearning, which begins empty and passes on to the hub
//!                    └─ a tape that answers: ReplayMemory: a ledger in memory, a copy of the registry with statistics of
//!                       its own (TapeLearning), a number that keeps its cached results apart
//! ```

use crate::error::{ErrorKind, HubError, Outcome, clip};
use crate::registry::{Candidate, SeparateStats, Snapshot};
use crate::store::ledger::Ledger;
use crate::tape::{HubTape, Tape};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// The tape that a call belongs to from its beginning to its end, even if it is taken out meanwhile.
#[derive(Clone)]
pub struct CallTape {
    pub tape: HubTape,
    /// What the call knows and learns of candidates.
    pub learning: Arc<TapeLearning>,
    /// What the call knows and learns, if the tape answers it.
    pub memory: Option<Arc<ReplayMemory>>,
}

/// The statistics of candidates while a tape is in. They begin empty in a recording too, because a replay cannot know what the
/// hub had learnt before it.
pub struct TapeLearning {
    /// No other tape of this process has it. It keeps cached results apart.
    pub number: u64,
    registry: Mutex<SeparateRegistry>,
}

/// Takes the place of what a hub keeps while a tape answers its calls.
pub struct ReplayMemory {
    /// No other replay of this process has it.
    pub number: u64,
    pub ledger: Arc<Ledger>,
}

struct SeparateRegistry {
    stats: SeparateStats,
    /// The copy of the newest snapshot that was asked for, and that snapshot.
    copy: Option<(Arc<Snapshot>, Arc<Snapshot>)>,
}

/// What the calls of a hub share while a tape is in.
#[derive(Clone)]
pub(super) struct TapeMemory {
    pub learning: Arc<TapeLearning>,
    pub replay: Option<Arc<ReplayMemory>>,
}

/// The memory of the last tape of a hub.
pub(super) type TapeSlot = Mutex<Option<(Weak<Tape>, TapeMemory)>>;

static NUMBERS: AtomicU64 = AtomicU64::new(1);

impl TapeMemory {
    pub fn new(tape: &Tape) -> Self {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let is_replay = tape.is_replay();
        // What is recorded has happened, so the hub learns it too.
        let stats = if is_replay { SeparateStats::default() } else { SeparateStats::passing_on() };
        let registry = Mutex::new(SeparateRegistry { stats, copy: None });
        TapeMemory {
            learning: Arc::new(TapeLearning { number, registry }),
            replay: is_replay.then(|| Arc::new(ReplayMemory { number, ledger: Ledger::new(None) })),
        }
    }
}

impl TapeLearning {
    /// A snapshot with the statistics of this tape.
    pub(super) fn snapshot(&self, of: &Arc<Snapshot>) -> Arc<Snapshot> {
        let mut registry = self.registry.lock();
        let SeparateRegistry { stats, copy } = &mut *registry;
        if let Some((known, made)) = copy
            && Arc::ptr_eq(known, of)
        {
            return made.clone();
        }
        let made = Arc::new(of.with_stats(stats));
        // Dropped without the lock: a tool that goes with it may run code of the user.
        let before = copy.replace((of.clone(), made.clone()));
        drop(registry);
        drop(before);
        made
    }

    /// A candidate that is not registered, with the statistics of this tape.
    pub(super) fn candidate(&self, of: &Arc<Candidate>) -> Arc<Candidate> {
        self.registry.lock().stats.candidate(of)
    }
}

/// The error of a call that was being prepared when a replay began or ended.
pub fn between_tapes(tool: &str) -> HubError {
    let text = format!(
        "Tool '{}' was not called: a replay began or ended while the call was prepared. Make the call again.",
        clip(tool)
    );
    HubError::new(ErrorKind::NotAllowed, text).with_outcome(Outcome::NotSent)
}
