//! What a hub knows and learns while a tape answers its calls.
//!
//! Nothing happens in a replay, so nothing of it may be left for calls that are made afterwards: no call of a run, no
//! approval that was used up, no statistics, no cached result. `Hub::tape` is the one place that decides it: a call that
//! begins while a tape answers has a [`ReplayMemory`] in place of what the hub keeps, whichever driver makes it. It begins
//! empty and goes with the tape, so each replay of a program starts like the first one.
//!
//! ```text
//! call ─► Hub::tape ─┬─ no tape, or one that records: the ledger, registry and cache of the hub
//!                    └─ a tape that answers: ReplayMemory: a ledger in memory, a copy of the registry with statistics of
//!                       its own, a number that keeps its cached results apart
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
    /// What the call knows and learns, if the tape answers it.
    pub memory: Option<Arc<ReplayMemory>>,
}

/// Takes the place of what a hub keeps while a tape answers its calls.
pub struct ReplayMemory {
    /// No other replay of this process has it.
    pub number: u64,
    pub ledger: Arc<Ledger>,
    registry: Mutex<SeparateRegistry>,
}

#[derive(Default)]
struct SeparateRegistry {
    stats: SeparateStats,
    /// The copy of the newest snapshot that was asked for, and that snapshot.
    copy: Option<(Arc<Snapshot>, Arc<Snapshot>)>,
}

/// The memory of the last replay of a hub.
pub(super) type ReplaySlot = Mutex<Option<(Weak<Tape>, Arc<ReplayMemory>)>>;

static NUMBERS: AtomicU64 = AtomicU64::new(1);

impl ReplayMemory {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(ReplayMemory {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            ledger: Ledger::new(None),
            registry: Mutex::default(),
        })
    }

    /// A snapshot with the statistics of this replay.
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

    /// A candidate that is not registered, with the statistics of this replay.
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
