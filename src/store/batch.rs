//! What waits to be written, each thing once: newer lists replace older ones, new calls come on top of those that wait.

use super::file::File;
use super::lists::{ListKey, StoredList};
use super::pins::PinChange;
use super::results::KeptResult;
use super::uses::Use;
use super::{candidates, lists, pins, results, schema, uses};
use crate::stats::{Delta, Key, Record};
use std::collections::HashMap;
use std::sync::Arc;

/// Uses that wait; more than a hub remembers are not worth writing.
const MOST_USES: usize = 1_024;

#[derive(Default)]
pub struct Batch {
    pub stats: HashMap<Key, Delta>,
    pub lists: HashMap<ListKey, StoredList>,
    pub uses: Vec<Use>,
    pub results: Vec<KeptResult>,
    pub pins: Vec<(Arc<str>, Arc<str>, PinChange)>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.stats.is_empty()
            && self.lists.is_empty()
            && self.uses.is_empty()
            && self.results.is_empty()
            && self.pins.is_empty()
    }

    pub fn learn(&mut self, learnt: Vec<(Key, Delta)>) {
        for (key, delta) in learnt {
            self.stats.entry(key).or_default().then(&delta);
        }
    }

    /// Keeps a result for writing, as long as all that wait are not larger than the room for them.
    pub fn keep(&mut self, result: KeptResult, room: u64) {
        self.results.push(result);
        let mut bytes: u64 = self.results.iter().map(|one| one.text.len() as u64).sum();
        let surplus = self.results.iter().take_while(|oldest| {
            let too_much = bytes > room;
            bytes -= if too_much { oldest.text.len() as u64 } else { 0 };
            too_much
        });
        let surplus = surplus.count();
        self.results.drain(..surplus);
    }

    /// Puts what came later behind what could not be written.
    pub fn then(&mut self, later: Batch, room: u64) {
        self.learn(later.stats.into_iter().collect());
        self.lists.extend(later.lists);
        self.uses.extend(later.uses);
        let surplus = self.uses.len().saturating_sub(MOST_USES);
        self.uses.drain(..surplus);
        later.results.into_iter().for_each(|result| self.keep(result, room));
        self.pins.extend(later.pins);
    }

    /// Writes all of it or nothing; gives back the numbers as they stand then.
    pub fn write(&self, file: &mut File, room: u64) -> rusqlite::Result<Vec<(Key, Record)>> {
        let work = schema::begin(&mut file.connection)?;
        let saved = candidates::save(&work, &self.stats)?;
        lists::save(&work, &self.lists)?;
        uses::save(&work, &self.uses)?;
        results::save(&work, &self.results, room)?;
        pins::save(&work, &self.pins)?;
        work.commit().map(|()| saved)
    }
}
