//! L2, which tools fit these words.
//!
//! ```text
//! registry ─► text (fields, words) ─► index        query ─► terms ─► rank ─► hits ─► with the opinion of vectors
//! ```
//!
//! Registration does not wait for any of this: the index catches up at the next search, with the tools that changed.

mod dictionary;
mod index;
mod lexicon;
mod query;
mod rank;
mod stop;
mod synonyms;
mod text;
mod usage;
mod vectors;
mod weights;
mod words;

#[cfg(test)]
mod tests;

pub use usage::{Topic, Uses};
pub use vectors::{Unseen, Vectors, proposed};

use crate::registry::capability::CapabilityRules;
use crate::registry::{Registry, Snapshot};
use index::Index;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use query::Query;
use std::sync::Arc;

/// A tool that fits, and how well: more is better; scores of different queries do not compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub name: Arc<str>,
    pub score: f32,
}

#[derive(Default)]
pub struct Search {
    /// Only the first search after a change writes, and only as long as reading the changed tools takes.
    index: RwLock<Index>,
}

impl Search {
    /// The `k` tools that fit the words best, best first; tools without any of the words are not among them.
    pub fn search(&self, registry: &Registry, rules: &CapabilityRules, words: &str, k: usize) -> Vec<Hit> {
        let capabilities = rules.extract("", words);
        let (_snapshot, index) = self.current(registry);
        let query = Query::read(words, capabilities.iter().map(String::as_str), &index);
        let best = rank::best(&index, &query, k);
        best.into_iter()
            .filter_map(|(slot, score)| Some(Hit { name: index.document(slot)?.name.clone(), score }))
            .collect()
    }

    /// The index, no older than what was registered before this call. What comes with it is to be kept for longer than the
    /// index: when it goes, tools may go with it, and these may be code of the user that must not run under a lock.
    fn current(&self, registry: &Registry) -> (Option<Arc<Snapshot>>, RwLockReadGuard<'_, Index>) {
        let wanted = registry.load().version();
        let index = self.index.read();
        if index.version() >= wanted {
            return (None, index);
        }
        drop(index);
        let mut index = self.index.write();
        let followed = (index.version() < wanted).then(|| index.follow(registry));
        (followed, RwLockWriteGuard::downgrade(index))
    }
}
