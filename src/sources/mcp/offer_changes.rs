//! What a server listed last in addition to its tools, and the changes since: a list from before a change is not used.

use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use toolhub_engine::offers::OfferSignals;
use toolhub_types::model::{ChangedOffer, OfferKind};

/// The offers of one kind, and the number of changes that they include.
#[derive(Debug)]
pub struct OfferList {
    pub offers: Vec<Value>,
    changes: u64,
}

/// The changes of one server.
pub struct OfferChanges {
    server: Arc<str>,
    resources: AtomicU64,
    prompts: AtomicU64,
    listed: Mutex<HashMap<OfferKind, Arc<OfferList>>>,
    signals: OfferSignals,
}

impl OfferChanges {
    pub fn new(server: Arc<str>, signals: OfferSignals) -> Self {
        let (resources, prompts) = (AtomicU64::new(0), AtomicU64::new(0));
        OfferChanges { server, resources, prompts, listed: Mutex::default(), signals }
    }

    /// The content of a resource has changed.
    pub fn updated(&self, uri: &str) {
        self.signals.send(&self.server, ChangedOffer::Content(Arc::from(uri)));
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
        self.signals.send(&self.server, ChangedOffer::List(kind));
    }

    /// A change may have been missed: what was listed is not used any more.
    pub fn forget(&self, kind: OfferKind) {
        self.of(kind).fetch_add(1, Ordering::AcqRel);
    }

    /// How often the offers may have changed. Resources and their templates change together.
    pub fn count(&self, kind: OfferKind) -> u64 {
        self.of(kind).load(Ordering::Acquire)
    }

    /// Keeps a list that was requested when there were this many changes.
    pub fn keep(&self, kind: OfferKind, offers: Vec<Value>, changes: u64) -> Arc<OfferList> {
        let list = Arc::new(OfferList { offers, changes });
        self.listed.lock().insert(kind, list.clone());
        list
    }

    /// What was listed last, unless it may have changed since.
    pub fn known(&self, kind: OfferKind) -> Option<Arc<OfferList>> {
        self.listed.lock().get(&kind).filter(|list| list.changes == self.count(kind)).cloned()
    }
}
