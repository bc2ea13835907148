//! Counts the changes of what a server offers in addition to tools, so that a list from before a change is not used.

use crate::model::{OfferChange, OfferKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::broadcast;

/// How many changes may wait for a slow listener. One that misses some looks at everything again.
const MOST_WAITING: usize = 256;

/// Tells of the changes that servers announce. All servers of a hub share it.
#[derive(Clone)]
pub struct OfferSignals(broadcast::Sender<OfferChange>);

impl Default for OfferSignals {
    fn default() -> Self {
        OfferSignals(broadcast::Sender::new(MOST_WAITING))
    }
}

impl OfferSignals {
    pub fn watch(&self) -> broadcast::Receiver<OfferChange> {
        self.0.subscribe()
    }

    pub fn send(&self, change: OfferChange) {
        // There may be no listener.
        let _ = self.0.send(change);
    }
}

/// The changes of one server.
pub struct OfferChanges {
    server: Arc<str>,
    resources: AtomicU64,
    prompts: AtomicU64,
    signals: OfferSignals,
}

impl OfferChanges {
    pub fn new(server: Arc<str>, signals: OfferSignals) -> Self {
        OfferChanges { server, resources: AtomicU64::new(0), prompts: AtomicU64::new(0), signals }
    }

    /// The content of a resource has changed.
    pub fn updated(&self, uri: &str) {
        let (uri, server) = (Arc::from(uri), self.server.clone());
        self.signals.send(OfferChange::Content { uri, server });
    }

    fn of(&self, kind: OfferKind) -> &AtomicU64 {
        match kind {
            OfferKind::Resources | OfferKind::ResourceTemplates => &self.resources,
            OfferKind::Prompts => &self.prompts,
        }
    }

    /// The server has announced a change.
    pub fn announce(&self, kind: OfferKind) {
        self.forget(kind);
        self.signals.send(OfferChange::List { kind, server: self.server.clone() });
    }

    /// A change may have been missed: what was listed is not used any more.
    pub fn forget(&self, kind: OfferKind) {
        self.of(kind).fetch_add(1, Ordering::AcqRel);
    }

    /// How often the offers may have changed. Resources and their templates change together.
    pub fn count(&self, kind: OfferKind) -> u64 {
        self.of(kind).load(Ordering::Acquire)
    }
}
