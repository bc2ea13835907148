//! Which candidates have learnt something that is not saved yet, and what was saved about them before.
//!
//! The hot path writes here at most once for each candidate between two savings: a call adds to numbers that the candidate
//! holds itself, and only the first one since the last saving puts the candidate on the list.

use super::{CandidateStats, Delta, Record};
use crate::model::Source;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

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
    /// `None` once nobody saves any more.
    unsaved: Mutex<Option<Vec<Arc<CandidateStats>>>>,
    /// Told when there is something to save.
    bell: Box<dyn Fn() + Send + Sync>,
}

impl Ledger {
    pub fn new(known: Vec<(Key, Record)>, bell: Box<dyn Fn() + Send + Sync>) -> Arc<Self> {
        let entry = |(key, record)| (key, Known { record: Some(Box::new(record)), live: Weak::new() });
        let known = known.into_iter().map(entry).collect();
        Arc::new(Ledger { known: Mutex::new(known), unsaved: Mutex::new(Some(Vec::new())), bell })
    }

    /// From now on these numbers are saved; they begin with what is known about the candidate.
    pub fn track(self: &Arc<Self>, key: Key, stats: &Arc<CandidateStats>) {
        if stats.is_followed() {
            return;
        }
        let record = {
            let mut known = self.known.lock();
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

    /// Nobody saves any more.
    pub fn close(&self) {
        *self.unsaved.lock() = None;
    }
}
