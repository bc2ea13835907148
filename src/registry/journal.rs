//! The names that changed recently, so that an index can catch up without comparing everything.

use std::collections::VecDeque;
use std::sync::Arc;

/// Above this number of changes, comparing everything is as fast.
const CAPACITY: usize = 1_024;

#[derive(Default)]
pub(super) struct Journal {
    changes: VecDeque<(u64, Arc<str>)>,
    /// Every change after this version is recorded.
    complete_from: u64,
}

impl Journal {
    pub fn note(&mut self, version: u64, name: Arc<str>) {
        if self.changes.len() == CAPACITY
            && let Some((oldest, _)) = self.changes.pop_front()
        {
            self.complete_from = oldest;
        }
        self.changes.push_back((version, name));
    }

    /// Records that everything changed.
    pub fn forget(&mut self, version: u64) {
        self.changes.clear();
        self.complete_from = version;
    }

    /// The names that changed after a version; `None` when the journal does not reach back so far.
    pub fn since(&self, version: u64) -> Option<Vec<Arc<str>>> {
        let first = self.changes.partition_point(|(at, _)| *at <= version);
        (version >= self.complete_from)
            .then(|| self.changes.range(first..).map(|(_, name)| name.clone()).collect())
    }
}
