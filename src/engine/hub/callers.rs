//! What each caller of a served hub has used. What one caller finds and reads depends on its own use alone; the health of
//! providers (breakers, which one answers first) is that of all calls, see
//! `docs/decisions/2026-11-16-statistics-by-caller.md`.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use toolhub_context::search::Uses;
use toolhub_registry::{Candidate, NameEntry};
use toolhub_types::error::ErrorKind;
use toolhub_types::stats::{BreakerPolicy, CandidateStats, StatsKey};

/// The callers that are known at once; the one that was away longest makes room.
const MOST_CALLERS: usize = 500;
/// The providers that are counted for each; others are not.
const MOST_CANDIDATES: usize = 200;
/// A caller's failures suspend no provider.
const NO_BREAKER: BreakerPolicy =
    BreakerPolicy { threshold: 0, rest: Duration::ZERO, longest_rest: Duration::ZERO };

/// The callers of a served hub, by the id of their principal.
#[derive(Default)]
pub(super) struct KnownCallers {
    records: Mutex<HashMap<Arc<str>, Arc<CallerRecord>>>,
    /// Counts the visits of all callers.
    visits: AtomicU64,
}

/// The use of one caller.
pub struct CallerRecord {
    stats: Mutex<HashMap<StatsKey, Arc<CandidateStats>>>,
    pub(super) uses: Mutex<Uses>,
    last_visit: AtomicU64,
}

impl KnownCallers {
    /// The record of a caller, made if there is none. `None` for the anonymous caller, whose use is that of the hub.
    pub(super) fn visit(&self, id: &str) -> Option<Arc<CallerRecord>> {
        if id.is_empty() {
            return None;
        }
        let visit = self.visits.fetch_add(1, Ordering::Relaxed);
        let mut records = self.records.lock();
        if let Some(record) = records.get(id) {
            record.last_visit.store(visit, Ordering::Relaxed);
            return Some(record.clone());
        }
        if records.len() >= MOST_CALLERS {
            let visited = |record: &CallerRecord| record.last_visit.load(Ordering::Relaxed);
            let longest = records.iter().min_by_key(|(_, record)| visited(record)).map(|(id, _)| id.clone());
            longest.and_then(|longest| records.remove(&longest));
        }
        let (stats, uses) = (Mutex::default(), Mutex::new(Uses::of_caller()));
        let record = Arc::new(CallerRecord { stats, uses, last_visit: AtomicU64::new(visit) });
        records.insert(Arc::from(id), record.clone());
        Some(record)
    }

    /// The record of a caller, if there is one.
    pub(super) fn find(&self, id: &str) -> Option<Arc<CallerRecord>> {
        self.records.lock().get(id).cloned()
    }

    pub(super) fn clear(&self) {
        self.records.lock().clear();
    }
}

impl CallerRecord {
    /// Counts one ended attempt.
    pub(super) fn record(
        &self,
        candidate: &Candidate,
        ended: Result<(), ErrorKind>,
        latency: Duration,
        now: Instant,
    ) {
        let stats = {
            let mut all = self.stats.lock();
            let key = candidate.stats_key();
            match all.get(&key) {
                Some(stats) => stats.clone(),
                None if all.len() >= MOST_CANDIDATES => return,
                None => all.entry(key).or_default().clone(),
            }
        };
        stats.record(ended, latency, now, &NO_BREAKER);
    }

    /// The statistics of this caller's calls of a provider.
    pub fn stats_of(&self, candidate: &Candidate) -> Arc<CandidateStats> {
        self.stats.lock().get(&candidate.stats_key()).cloned().unwrap_or_default()
    }

    /// How often this caller has called a tool with success.
    pub(super) fn successes(&self, entry: &NameEntry) -> u64 {
        entry.candidates.iter().map(|candidate| self.stats_of(candidate).successes()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_bounded_and_the_one_that_was_away_longest_makes_room() {
        let callers = KnownCallers::default();
        for number in 0..MOST_CALLERS {
            callers.visit(&format!("jwt:{number}"));
        }
        callers.visit("jwt:0");
        callers.visit("jwt:new");
        assert_eq!(callers.records.lock().len(), MOST_CALLERS);
        assert!(callers.find("jwt:0").is_some() && callers.find("jwt:new").is_some());
        assert!(callers.find("jwt:1").is_none());
        assert!(callers.visit("").is_none());
    }
}
