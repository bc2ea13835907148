//! What a hub has learnt, kept in a store over restarts.

use super::Hub;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use toolhub_context::search::Uses;
use toolhub_store::{Store, Use};

impl Hub {
    /// Starts from the content of the store, and writes new statistics to it. Call it before anything is registered; the
    /// first store stays.
    pub fn keep_in(&self, store: Arc<Store>) {
        if self.store.set(store.clone()).is_ok() {
            self.record_in(store.path());
            self.registry.persist_stats(store.stats().clone());
            self.texts.keep_in(store.clone());
            let uses = store.take_uses().into_iter().map(|one| (one.words, one.tool));
            self.uses.lock().restore(uses);
        }
    }

    /// Whether pins were accepted once that this hub does not know.
    pub fn pins_are_lost(&self) -> bool {
        self.has_no_store.load(Ordering::Relaxed) || self.store().is_some_and(|store| store.pins_are_lost())
    }

    pub fn store(&self) -> Option<&Arc<Store>> {
        self.store.get()
    }

    /// Sees what was used for the last queries, and forgets all tools.
    pub fn clear(&self) {
        self.settle_uses();
        self.registry.clear();
    }

    /// Sees what was used for the queries so far, so that it can be kept.
    pub fn settle_uses(&self) {
        let snapshot = self.registry.load();
        let mut uses = self.uses.lock();
        uses.credit_successes(|name| {
            snapshot.get(name).map_or(0, |entry| super::search::successes(entry, None))
        });
        self.keep_uses(&mut uses);
    }

    pub(super) fn keep_uses(&self, uses: &mut Uses) {
        let new = uses.take_unsaved();
        if let Some(store) = self.store() {
            store.save_uses(new.into_iter().map(|(words, tool)| Use { words, tool }).collect());
        }
    }
}
