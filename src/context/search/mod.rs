//! L2, search: the tools that match a query.
//!
//! ```text
//! registry ─► text (fields, words) ─► index        query ─► terms ─► rank ─► hits ─► combined with vectors
//! ```
//!
//! Registration does not update the index; the next search does, for the tools that changed.

mod bilingual;
mod deeds;
mod dictionary;
mod index;
mod intent;
mod lexicon;
mod objects;
mod opposites;
mod query;
mod rank;
mod tables;
mod text;
mod usage;
mod vectors;
mod weights;
mod word_vectors;
mod words;

#[cfg(test)]
mod tests;

pub use bilingual::DICTIONARY;
pub use deeds::{Deed, deeds_in, meanings, names_more};
pub use index::ToolPart;
pub use objects::{DoneCalls, unreached};
pub use opposites::sides;
pub use usage::{Topic, Uses};
pub use vectors::{Unseen, Vectors, proposed};
pub use word_vectors::WORD_VECTORS;

use index::Index;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use query::Query;
use std::sync::Arc;
use toolhub_registry::capability::CapabilityRules;
use toolhub_registry::{Registry, Snapshot};

/// A matching tool. Scores are comparable within one query only.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub name: Arc<str>,
    pub score: f32,
}

#[derive(Default)]
pub struct Search {
    /// `None`: all tools.
    part: Option<Arc<dyn ToolPart>>,
    /// Only the first search after a change takes the write lock, to read the changed tools.
    index: RwLock<Index>,
}

impl Search {
    /// A search in a part of the tools.
    pub fn of_part(part: Arc<dyn ToolPart>) -> Self {
        Search { part: Some(part), index: RwLock::default() }
    }

    /// The `k` best tools, best first. Tools that contain none of the words are left out.
    pub fn search(&self, registry: &Registry, rules: &CapabilityRules, words: &str, k: usize) -> Vec<Hit> {
        let capabilities = rules.extract("", words);
        let (_snapshot, index) = self.current(registry);
        let query = Query::read(words, capabilities.iter().map(String::as_str), &index);
        rank::best(&index, &query, k)
    }

    /// The index, up to date with all registrations before this call. Drop the snapshot after the guard: dropping it may drop
    /// tools, and their finalizers are user code that must not run under a lock.
    fn current(&self, registry: &Registry) -> (Option<Arc<Snapshot>>, RwLockReadGuard<'_, Index>) {
        let wanted = registry.load().version();
        let index = self.index.read();
        if index.version >= wanted {
            return (None, index);
        }
        drop(index);
        let mut index = self.index.write();
        let followed = (index.version < wanted).then(|| index.follow(registry, self.part.as_deref()));
        (followed, RwLockWriteGuard::downgrade(index))
    }
}
