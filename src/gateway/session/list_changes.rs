//! When the tools that a caller sees have changed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use toolhub_engine::hub::Hub;
use toolhub_engine::served::{Upstreams, View};

/// Changes come in groups, such as the tools of a server; clients hear of a group once.
const SETTLING: Duration = Duration::from_millis(50);

/// Waits for changes of what a view shows. Changes of other tools are not reported, because the caller must not know them.
pub struct ListChanges {
    changes: watch::Receiver<u64>,
    seen: u64,
    /// When the group of changes that has begun is over.
    settled_at: Option<Instant>,
}

impl ListChanges {
    /// From now on.
    pub fn new(hub: &Hub, upstreams: &dyn Upstreams, view: &View) -> Self {
        let changes = upstreams.changes();
        ListChanges { changes, seen: fingerprint(hub, view), settled_at: None }
    }

    /// Returns after the next change; false when there will be none. Dropping the future loses no change.
    pub async fn next(&mut self, hub: &Hub, view: &View) -> bool {
        loop {
            let settled_at = match self.settled_at {
                Some(at) => at,
                None if self.changes.changed().await.is_err() => return false,
                None => *self.settled_at.insert(Instant::now() + SETTLING),
            };
            tokio::time::sleep_until(settled_at).await;
            self.settled_at = None;
            self.changes.mark_unchanged();
            let now = fingerprint(hub, view);
            if std::mem::replace(&mut self.seen, now) != now {
                return true;
            }
        }
    }
}

/// Differs when the list of tools that the view shows differs.
fn fingerprint(hub: &Hub, view: &View) -> u64 {
    let snapshot = hub.registry.snapshot();
    let mut hasher = DefaultHasher::new();
    for tool in view.tools(&snapshot) {
        (tool.name, tool.changed_at()).hash(&mut hasher);
    }
    hasher.finish()
}
