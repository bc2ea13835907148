//! L2, who is there: candidates by name and by capability.
//!
//! Readers take an immutable [`Snapshot`] with one atomic load and are never blocked by registration; writers take
//! turns, share structure with the snapshot before (persistent maps), and publish the next one.

mod candidate;
pub mod capability;
mod journal;
mod near;
mod snapshot;

pub use candidate::{Candidate, CandidateKey};
pub use near::nearest;
pub use snapshot::{NameEntry, Snapshot};

use crate::model::Source;
use crate::stats::StatsSink;
use arc_swap::ArcSwap;
use journal::Journal;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// More than a server lists in its life, and few enough for as many servers.
const RESERVED: u64 = 1 << 32;

#[derive(Default)]
pub struct Registry {
    current: ArcSwap<Snapshot>,
    /// Writers take turns here, and note what they did.
    writer: Mutex<Journal>,
    next_id: AtomicU64,
    /// Where candidates have their numbers from, when those outlive the process.
    stats_sink: OnceLock<Arc<StatsSink>>,
}

/// Which candidates of a name are meant; `None` matches all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    pub source: Option<Source>,
    pub server: Option<&'a str>,
}

impl Filter<'_> {
    pub fn matches(&self, candidate: &Candidate) -> bool {
        self.source.is_none_or(|source| candidate.source == source)
            && self.server.is_none_or(|server| candidate.server.as_deref() == Some(server))
    }
}

impl Registry {
    /// Saves the statistics of all candidates registered from now on. The first sink stays.
    pub fn keep_numbers(&self, sink: Arc<StatsSink>) {
        let _ = self.stats_sink.set(sink);
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// A borrowed snapshot for the hot path: no reference count is touched.
    pub fn load(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.current.load()
    }

    /// The newest snapshot, and the names that changed after a version of before; `None` when that is too long ago.
    pub fn changes_since(&self, version: u64) -> (Arc<Snapshot>, Option<Vec<Arc<str>>>) {
        let journal = self.writer.lock();
        (self.snapshot(), journal.since(version))
    }

    /// The number that makes a new candidate's place in the registration order.
    pub fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The numbers of all candidates that somebody will bring later: they stand where it stood when it came.
    pub fn reserve_ids(&self) -> Range<u64> {
        let first = self.next_id.fetch_add(RESERVED, Ordering::Relaxed);
        first..first + RESERVED
    }

    /// Adds a candidate; one of the same name, source and server is replaced and hands its statistics on.
    pub fn insert(&self, candidate: Candidate) -> Arc<Candidate> {
        self.change(|next, journal| self.add(next, journal, candidate))
    }

    /// Adds many at once: they are seen together, and cost less than one by one.
    pub fn insert_all(&self, candidates: Vec<Candidate>) {
        if candidates.is_empty() {
            return;
        }
        self.change(|next, journal| {
            for candidate in candidates {
                self.add(next, journal, candidate);
            }
        });
    }

    /// Publishes what `make` makes of the snapshot, in turn with other writers.
    ///
    /// The last snapshot goes when the turn is over: a tool that goes with it may be code of the user (a Python object with
    /// a finalizer), which waits for who knows whom, and registers tools itself.
    fn change<T>(&self, make: impl FnOnce(&mut Snapshot, &mut Journal) -> T) -> T {
        let mut journal = self.writer.lock();
        let mut next = Snapshot::clone(&self.current.load());
        let made = make(&mut next, &mut journal);
        let last = self.current.swap(Arc::new(next));
        drop(journal);
        drop(last);
        made
    }

    fn add(&self, next: &mut Snapshot, journal: &mut Journal, candidate: Candidate) -> Arc<Candidate> {
        let candidate = next.insert(candidate);
        if let Some(sink) = self.stats_sink.get() {
            sink.track(candidate.stats_key(), &candidate.stats);
            next.recall(&candidate);
        }
        journal.note(next.version(), candidate.spec().name.clone());
        candidate
    }

    /// Removes the candidates of a name that match; says how many there were.
    pub fn remove(&self, name: &str, filter: Filter<'_>) -> usize {
        let is_meant = |entry: &Arc<NameEntry>| entry.candidates.iter().any(|one| filter.matches(one));
        if !self.load().get(name).is_some_and(is_meant) {
            return 0;
        }
        self.change(|next, journal| {
            let removed = next.remove(name, filter);
            if removed > 0 {
                journal.note(next.version(), Arc::from(name));
            }
            removed
        })
    }

    /// Forgets everything; the version still increases.
    pub fn clear(&self) {
        self.change(|next, journal| {
            *next = Snapshot::emptied(next);
            journal.forget(next.version());
        });
    }
}
