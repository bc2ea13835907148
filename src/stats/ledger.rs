//! Which candidates have learnt something that is not saved yet, and what was saved about them before.
//!
//! The hot path writes here at most once for each candidate between two savings: a call adds to numbers that the candidate
//! holds itself, and only the first one since the last saving puts the candidate on the list.

use super::{CandidateStats, Delta, Record};
use crate::model::Source;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// So many candidates are remembered besides those that there are: a program that makes up new names all the time would
/// fill the memory with those that are gone. What is forgotten is still in the file.
const MOST_GONE: usize = 100_000;

/// Whose numbers these are, in this process and in the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub tool: Arc<str>,
    pub source: Source,
    pub server: Option<Arc<str>>,
}

#[derive(Default)]
struct Known {
    record: Option<Box<Record>>,
    live: Weak<CandidateStats>,
}

pub struct Ledger {
    known: Mutex<HashMap<Key, Known>>,
    /// With so many it is looked which of them are gone.
    look_at: AtomicUsize,
    /// `None` once nobody saves any more.
    unsaved: Mutex<Option<Vec<Arc<CandidateStats>>>>,
    /// Told when there is something to save.
    bell: Box<dyn Fn() + Send + Sync>,
}

impl Ledger {
    pub fn new(known: Vec<(Key, Record)>, bell: Box<dyn Fn() + Send + Sync>) -> Arc<Self> {
        let entry = |(key, record)| (key, Known { record: Some(Box::new(record)), live: Weak::new() });
        let known: HashMap<Key, Known> = known.into_iter().map(entry).collect();
        let look_at = AtomicUsize::new(known.len() + MOST_GONE);
        Arc::new(Ledger { known: Mutex::new(known), look_at, unsaved: Mutex::new(Some(Vec::new())), bell })
    }

    /// From now on these numbers are saved; they begin with what is known about the candidate.
    pub fn track(self: &Arc<Self>, key: Key, stats: &Arc<CandidateStats>) {
        if stats.is_followed() {
            return;
        }
        let record = {
            let mut known = self.known.lock();
            if known.len() >= self.look_at.load(Ordering::Relaxed) {
                forget_gone(&mut known);
                self.look_at.store(2 * known.len() + MOST_GONE, Ordering::Relaxed);
            }
            let entry = known.entry(key.clone()).or_default();
            entry.live = Arc::downgrade(stats);
            entry.record.as_deref().cloned()
        };
        stats.follow(self, key, record);
    }

    pub(super) fn put(&self, stats: Arc<CandidateStats>) {
        let first = match &mut *self.unsaved.lock() {
            Some(unsaved) => {
                unsaved.push(stats);
                unsaved.len() == 1
            }
            None => false,
        };
        if first {
            (self.bell)();
        }
    }

    /// What has been learnt since the last time.
    pub fn take(&self) -> Vec<(Key, Delta)> {
        let unsaved = self.unsaved.lock().as_mut().map(std::mem::take).unwrap_or_default();
        unsaved.iter().filter_map(|stats| stats.take_unsaved()).collect()
    }

    /// The numbers as they stand after saving, with what other processes have seen: from now on they are ours too.
    pub fn saved(&self, key: Key, record: Record) {
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

    /// All that was saved, as far as it is known here.
    pub fn known(&self) -> Vec<(Key, Record)> {
        let known = self.known.lock();
        let saved = known.iter().filter_map(|(key, one)| one.record.as_deref().map(|it| (key, it)));
        saved.map(|(key, record)| (key.clone(), record.clone())).collect()
    }

    /// Nobody saves any more.
    pub fn close(&self) {
        *self.unsaved.lock() = None;
    }
}

/// Those of whom nothing is known go first; if that is not enough, all that are gone.
fn forget_gone(known: &mut HashMap<Key, Known>) {
    known.retain(|_, one| one.record.is_some() || one.live.strong_count() > 0);
    if known.len() > MOST_GONE {
        known.retain(|_, one| one.live.strong_count() > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        Key { tool: Arc::from(format!("tool {number}")), source: Source::Tools, server: None }
    }

    #[test]
    fn names_that_come_and_go_do_not_fill_the_memory() {
        let ledger = Ledger::new(vec![(key(0), Record::default())], Box::new(|| ()));
        let stays = Arc::new(CandidateStats::default());
        ledger.track(key(1), &stays);
        for number in 2..2 * MOST_GONE {
            ledger.track(key(number), &Arc::new(CandidateStats::default()));
        }
        let known = ledger.known.lock();
        assert!(known.len() < MOST_GONE + 10, "{}", known.len());
        assert!(known.contains_key(&key(0)), "its numbers are known");
        assert!(known.get(&key(1)).is_some_and(|one| one.live.strong_count() > 0), "it is there");
    }
}
