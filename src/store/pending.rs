//! The pending changes: a newer list replaces an older one, new calls add to pending ones.

use super::identity::{self, StoreIdentity};
use super::lists::{ListKey, StoredList};
use super::pins::PinChange;
use super::results::KeptResult;
use super::uses::Use;
use super::{candidates, lists, pins, results, schema, uses};
use rusqlite::Connection;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use toolhub_types::stats::{Record, StatsDelta, StatsKey};

/// A hub remembers this many uses, so more pending ones are not worth writing.
const MAX_USES: usize = 1_024;

#[derive(Default)]
pub struct PendingChanges {
    pub stats: HashMap<StatsKey, StatsDelta>,
    pub lists: HashMap<ListKey, StoredList>,
    pub uses: Vec<Use>,
    pub results: Vec<KeptResult>,
    pub pins: Vec<(Arc<str>, Arc<str>, PinChange)>,
}

/// The result of writing a batch.
pub struct WrittenChanges {
    /// The statistics as the file has them now, with the calls of other processes.
    pub stats: Vec<(StatsKey, Record)>,
    /// Handles that another result has already.
    pub refused_results: Vec<String>,
    /// The store with the pins, to be noted.
    pub counted: Option<StoreIdentity>,
}

impl PendingChanges {
    pub fn is_empty(&self) -> bool {
        self.stats.is_empty()
            && self.lists.is_empty()
            && self.uses.is_empty()
            && self.results.is_empty()
            && self.pins.is_empty()
    }

    pub fn learn(&mut self, learnt: Vec<(StatsKey, StatsDelta)>) {
        for (key, delta) in learnt {
            self.stats.entry(key).or_default().then(&delta);
        }
    }

    /// Adds a result, and drops the oldest pending ones while all together exceed `limit` bytes.
    pub fn keep(&mut self, result: KeptResult, limit: u64) {
        self.results.push(result);
        let mut bytes: u64 = self.results.iter().map(|one| one.text.len() as u64).sum();
        let surplus = self.results.iter().take_while(|oldest| {
            let too_much = bytes > limit;
            bytes -= if too_much { oldest.text.len() as u64 } else { 0 };
            too_much
        });
        let surplus = surplus.count();
        self.results.drain(..surplus);
    }

    /// Adds later changes to those that could not be written.
    pub fn append(&mut self, later: PendingChanges, limit: u64) {
        self.learn(later.stats.into_iter().collect());
        self.lists.extend(later.lists);
        self.uses.extend(later.uses);
        let surplus = self.uses.len().saturating_sub(MAX_USES);
        self.uses.drain(..surplus);
        later.results.into_iter().for_each(|result| self.keep(result, limit));
        self.pins.extend(later.pins);
    }

    /// Writes everything or nothing.
    pub fn write(
        &self,
        store: &Path,
        connection: &mut Connection,
        limit: u64,
    ) -> rusqlite::Result<WrittenChanges> {
        // A pin has to survive a power cut.
        let mode = if self.pins.is_empty() { "normal" } else { "full" };
        connection.pragma_update(None, "synchronous", mode)?;
        let work = schema::begin(connection)?;
        let counted = if self.pins.is_empty() { None } else { identity::count(store, &work)? };
        let stats = candidates::save(&work, &self.stats)?;
        lists::save(&work, &self.lists)?;
        uses::save(&work, &self.uses)?;
        let refused_results = results::save(&work, &self.results, limit)?;
        pins::save(&work, &self.pins)?;
        work.commit().map(|()| WrittenChanges { stats, refused_results, counted })
    }
}
