//! Counts the changes of what a server offers in addition to tools, so that a list from before a change is not believed.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub struct OfferChanges {
    resources: AtomicU64,
    prompts: AtomicU64,
}

impl OfferChanges {
    pub fn resources(&self) {
        self.resources.fetch_add(1, Ordering::AcqRel);
    }

    pub fn prompts(&self) {
        self.prompts.fetch_add(1, Ordering::AcqRel);
    }

    /// Announcements may have been missed.
    pub fn all(&self) {
        self.resources();
        self.prompts();
    }

    /// How often the resources, with their templates, may have changed.
    pub fn of_resources(&self) -> u64 {
        self.resources.load(Ordering::Acquire)
    }

    pub fn of_prompts(&self) -> u64 {
        self.prompts.load(Ordering::Acquire)
    }
}
