//! Which names changed lately, so that whoever keeps something beside the registry need not compare everything.

use std::collections::VecDeque;
use std::sync::Arc;

/// More changes than this at once are found as quickly by comparing.
const KEPT: usize = 1_024;

#[derive(Default)]
pub(super) struct Journal {
    changes: VecDeque<(u64, Arc<str>)>,
    /// Every change after this version is there.
    complete_from: u64,
}

impl Journal {
    pub fn note(&mut self, version: u64, name: Arc<str>) {
        if self.changes.len() == KEPT
            && let Some((oldest, _)) = self.changes.pop_front()
        {
            self.complete_from = oldest;
        }
        self.changes.push_back((version, name));
    }

    /// Everything changed at once.
    pub fn forget(&mut self, version: u64) {
        self.changes.clear();
        self.complete_from = version;
    }

    /// The names that changed after a version; `None` when that is too long ago to be known.
    pub fn since(&self, version: u64) -> Option<Vec<Arc<str>>> {
        let first = self.changes.partition_point(|(at, _)| *at <= version);
        (version >= self.complete_from)
            .then(|| self.changes.range(first..).map(|(_, name)| name.clone()).collect())
    }
}
