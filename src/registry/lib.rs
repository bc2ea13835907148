//! L2, the registered candidates, by name and by capability.
//!
//! Readers take an immutable [`Snapshot`] with one atomic load and are never blocked by registration. Writers are
//! serialised; each builds the next snapshot from persistent maps that share structure with the last one.

pub mod identity;
pub mod route;
pub mod schema;
pub mod select;

mod candidate;
pub mod capability;
mod namesakes;
mod snapshot;

pub use candidate::{Candidate, Filter, NameEntry, ReplaceRule, ShownTexts};
pub use namesakes::UsersWord;
pub use snapshot::{ListedNames, Snapshot, nearest};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;
use toolhub_types::stats::StatsSink;

/// 2³² ids per server leave room for 2³² servers in a u64.
const RESERVED: u64 = 1 << 32;

#[derive(Default)]
pub struct Registry {
    current: ArcSwap<Snapshot>,
    /// Held by the writer.
    writer: Mutex<()>,
    next_id: AtomicU64,
    /// The version of the newest snapshot, for those that wait for a change.
    changes: watch::Sender<u64>,
    /// Loads and saves the statistics of candidates, when the hub has a store.
    stats_sink: OnceLock<Arc<StatsSink>>,
}

impl Registry {
    /// A registry in which tools of servers are candidates of one name where the user says so.
    pub fn with_word(users_word: UsersWord) -> Self {
        Registry { current: ArcSwap::from_pointee(Snapshot::with_word(users_word)), ..Registry::default() }
    }

    /// Saves the statistics of all candidates registered from now on. Only the first sink is used.
    pub fn persist_stats(&self, sink: Arc<StatsSink>) {
        let _ = self.stats_sink.set(sink);
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// A borrowed snapshot for the hot path: no reference count is touched.
    pub fn load(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.current.load()
    }

    /// Fires after each change, with the version of the snapshot. Several changes may be seen as one.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The id of a new candidate. Ids are the registration order.
    pub fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Reserves ids for candidates that are registered later, so that a server's tools keep the position of the server.
    pub fn reserve_ids(&self) -> Range<u64> {
        let first = self.next_id.fetch_add(RESERVED, Ordering::Relaxed);
        first..first + RESERVED
    }

    /// Adds a candidate. If it is the same tool as one that is there, it replaces that one and takes over its statistics.
    pub fn insert(&self, candidate: Candidate) -> Arc<Candidate> {
        self.register(candidate, ReplaceRule::Same).0
    }

    /// Adds a candidate; returns it and those that it replaces. It takes over the statistics of the first of them.
    pub fn register(
        &self,
        candidate: Candidate,
        replacement: ReplaceRule,
    ) -> (Arc<Candidate>, Vec<Arc<Candidate>>) {
        self.change(|next| self.add(next, candidate, replacement))
    }

    /// Adds many candidates in one snapshot.
    pub fn insert_all(&self, candidates: Vec<Candidate>) {
        if candidates.is_empty() {
            return;
        }
        self.change(|next| {
            for candidate in candidates {
                self.add(next, candidate, ReplaceRule::Same);
            }
        });
    }

    /// Publishes a changed copy of the snapshot.
    ///
    /// The old snapshot is dropped outside the lock: that may drop tools, and a Python tool's finalizer runs user code, which
    /// may register tools itself.
    fn change<T>(&self, make: impl FnOnce(&mut Snapshot) -> T) -> T {
        let writing = self.writer.lock();
        let mut next = Snapshot::clone(&self.current.load());
        let made = make(&mut next);
        let version = next.version();
        let last = self.current.swap(Arc::new(next));
        // Under the lock, so that the versions are published in order.
        self.changes.send_replace(version);
        drop(writing);
        drop(last);
        made
    }

    fn add(
        &self,
        next: &mut Snapshot,
        candidate: Candidate,
        replacement: ReplaceRule,
    ) -> (Arc<Candidate>, Vec<Arc<Candidate>>) {
        let (candidate, replaced) = next.insert(candidate, replacement);
        if let Some(sink) = self.stats_sink.get() {
            sink.track(candidate.stats_key(), &candidate.stats);
            next.restore_preference(&candidate);
        }
        (candidate, replaced)
    }

    /// Removes the matching candidates of a name and returns their number.
    pub fn remove(&self, name: &str, filter: Filter<'_>) -> usize {
        self.remove_where(name, |candidate| filter.matches(candidate))
    }

    /// Removes the candidates of a name that match and returns their number.
    pub fn remove_where(&self, name: &str, matches: impl Fn(&Candidate) -> bool) -> usize {
        if !self.load().family(name).is_some_and(|entry| entry.candidates.iter().any(|one| matches(one))) {
            return 0;
        }
        self.change(|next| next.remove(name, &matches))
    }

    /// Removes the candidates that match of those that a call of this name may use, and returns their number. If they belong to
    /// different tools, it removes nothing and returns what the name stands for.
    pub fn unregister(&self, name: &str, fits: impl Fn(&Candidate) -> bool) -> Result<usize, Arc<NameEntry>> {
        let Some(entry) = self.snapshot().find(name) else { return Ok(0) };
        let meant: Vec<_> = entry.candidates.iter().filter(|one| fits(one)).collect();
        if !entry.tools.is_empty() && !entry.tools.iter().any(|tool| meant.iter().all(|one| tool.has(one))) {
            return Err(entry);
        }
        let is_meant = |one: &Candidate| meant.iter().any(|meant| meant.id == one.id);
        Ok(meant.first().map_or(0, |first| self.remove_where(&first.spec().name, is_meant)))
    }

    /// Removes everything; the version still increases.
    pub fn clear(&self) {
        self.change(|next| *next = next.emptied());
    }
}
