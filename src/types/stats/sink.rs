//! The candidates with unsaved calls, and the stored statistics of all candidates.
//!
//! The hot path writes here at most once per candidate between two saves: a call adds to counts that the candidate holds
//! itself, and only the first call since the last save puts the candidate on the list.

use super::{CandidateStats, Record};
use crate::model::Source;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// The number of removed candidates that are remembered: a program that keeps registering new names must not fill the
/// memory. Forgotten ones are still in the file.
const MAX_REMOVED: usize = 100_000;

/// Identifies a candidate, in this process and in the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StatsKey {
    pub tool: Arc<str>,
    pub source: Source,
    pub server: Option<Arc<str>>,
    /// Counts the candidates of one name, source and server; the first one has 1.
    pub variant: u32,
}

#[derive(Default)]
struct KnownCandidate {
    record: Option<Box<Record>>,
    live: Weak<CandidateStats>,
}

type UnsavedCandidate = (StatsKey, Arc<CandidateStats>);

pub struct StatsSink {
    known: Mutex<HashMap<StatsKey, KnownCandidate>>,
    /// At this size of `known`, removed candidates are dropped from it.
    clean_at: AtomicUsize,
    /// `None` once nothing is saved any more.
    unsaved: Mutex<Option<Vec<UnsavedCandidate>>>,
    /// Called when there is something to save.
    wake: Box<dyn Fn() + Send + Sync>,
}

impl StatsSink {
    pub fn new(known: Vec<(StatsKey, Record)>, wake: Box<dyn Fn() + Send + Sync>) -> Arc<Self> {
        let entry =
            |(key, record)| (key, KnownCandidate { record: Some(Box::new(record)), live: Weak::new() });
        let known: HashMap<StatsKey, KnownCandidate> = known.into_iter().map(entry).collect();
        let clean_at = AtomicUsize::new(known.len() + MAX_REMOVED);
        Arc::new(StatsSink {
            known: Mutex::new(known),
            clean_at,
            unsaved: Mutex::new(Some(Vec::new())),
            wake,
        })
    }

    /// Saves these statistics from now on; they start with what is known about the candidate.
    pub fn track(self: &Arc<Self>, key: StatsKey, stats: &Arc<CandidateStats>) {
        if stats.unsaved.get().is_some() {
            return;
        }
        let record = {
            let mut known = self.known.lock();
            if known.len() >= self.clean_at.load(Ordering::Relaxed) {
                forget_removed(&mut known);
                self.clean_at.store(2 * known.len() + MAX_REMOVED, Ordering::Relaxed);
            }
            let entry = known.entry(key.clone()).or_default();
            entry.live = Arc::downgrade(stats);
            entry.record.as_deref().cloned()
        };
        let (sink, live) = (self.clone(), Arc::downgrade(stats));
        let notify = move || live.upgrade().into_iter().for_each(|stats| sink.put(key.clone(), stats));
        stats.track(Box::new(notify), record);
    }

    fn put(&self, key: StatsKey, stats: Arc<CandidateStats>) {
        let first = match &mut *self.unsaved.lock() {
            Some(unsaved) => {
                unsaved.push((key, stats));
                unsaved.len() == 1
            }
            None => false,
        };
        if first {
            (self.wake)();
        }
    }

    /// The calls since the last time.
    pub fn take(&self) -> Vec<(StatsKey, Record)> {
        let unsaved = self.unsaved.lock().as_mut().map(std::mem::take).unwrap_or_default();
        unsaved.into_iter().filter_map(|(key, stats)| Some((key, stats.take_unsaved()?))).collect()
    }

    /// Takes over the statistics as the file has them after a save, with the calls of other processes.
    pub fn saved(&self, key: StatsKey, record: Record) {
        let live = {
            let mut known = self.known.lock();
            let entry = known.entry(key).or_default();
            entry.record = Some(Box::new(record.clone()));
            entry.live.upgrade()
        };
        if let Some(stats) = live {
            stats.absorb(record);
        }
    }

    /// Saves nothing from now on.
    pub fn close(&self) {
        *self.unsaved.lock() = None;
    }
}

/// Drops candidates without statistics first; if that is not enough, all removed ones.
fn forget_removed(known: &mut HashMap<StatsKey, KnownCandidate>) {
    known.retain(|_, one| one.record.is_some() || one.live.strong_count() > 0);
    if known.len() > MAX_REMOVED {
        known.retain(|_, one| one.live.strong_count() > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> StatsKey {
        StatsKey {
            tool: Arc::from(format!("tool {number}")),
            source: Source::Tools,
            server: None,
            variant: 1,
        }
    }

    #[test]
    fn names_that_come_and_go_do_not_fill_the_memory() {
        let sink = StatsSink::new(vec![(key(0), Record::default())], Box::new(|| ()));
        let stays = Arc::new(CandidateStats::default());
        sink.track(key(1), &stays);
        for number in 2..2 * MAX_REMOVED {
            sink.track(key(number), &Arc::new(CandidateStats::default()));
        }
        let known = sink.known.lock();
        assert!(known.len() < MAX_REMOVED + 10, "{}", known.len());
        assert!(known.contains_key(&key(0)), "its statistics are known");
        assert!(known.get(&key(1)).is_some_and(|one| one.live.strong_count() > 0), "it is registered");
    }
}
