//! What calls share, on tape.
//!
//! Whether a call joined another one in flight, or found a cached result, depends on when it was made. A replay answers at
//! once, so it cannot find out again: it does what was recorded.

use std::collections::{HashMap, VecDeque};

/// Where the result of a call that may share one came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// It was made, and others may share it.
    Lead,
    /// From an equal call in flight.
    Follow,
    /// From the cache.
    Cache,
}

impl Sharing {
    const ALL: [Sharing; 3] = [Sharing::Lead, Sharing::Follow, Sharing::Cache];

    pub(super) fn name(self) -> &'static str {
        match self {
            Sharing::Lead => "lead",
            Sharing::Follow => "follow",
            Sharing::Cache => "cache",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// A recorded decision.
#[derive(Debug)]
pub(super) struct RecordedSharing {
    pub what: String,
    pub digest: [u8; 32],
    pub hub: Option<i64>,
    pub sharing: Sharing,
    pub moment: u64,
}

/// The name, the digest of the arguments, the hub.
type SharingKey = (String, [u8; 32], Option<i64>);

/// The recorded decisions, for each call in the order in which equal ones were made.
#[derive(Default)]
pub(super) struct SharingLanes(HashMap<SharingKey, VecDeque<Sharing>>);

impl SharingLanes {
    pub fn new(mut recorded: Vec<RecordedSharing>) -> Self {
        recorded.sort_by_key(|one| one.moment);
        let mut lanes: HashMap<SharingKey, VecDeque<Sharing>> = HashMap::new();
        for one in recorded {
            lanes.entry((one.what, one.digest, one.hub)).or_default().push_back(one.sharing);
        }
        SharingLanes(lanes)
    }

    pub fn next(&mut self, what: &str, digest: &[u8; 32], hub: Option<i64>) -> Option<Sharing> {
        self.0.get_mut(&(what.to_owned(), *digest, hub))?.pop_front()
    }
}
