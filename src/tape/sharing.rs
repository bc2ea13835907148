//! Calls that may share a result on tape.
//!
//! Whether a call joined another one in flight, or found a cached result, depends on when it was made. A replay answers at
//! once, so it cannot find out again: it does what was recorded.

use super::Deck;
use super::hub_tape::HubTape;
use crate::canonical::digest;
use crate::secret::scrubbed;
use serde_json::Value;
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

/// A call that may share a result, on a tape.
pub struct SharedCall {
    tape: HubTape,
    what: String,
    arguments: Value,
    digest: [u8; 32],
}

impl SharedCall {
    pub(super) fn new(tape: HubTape, what: &str, arguments: &str) -> Self {
        let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments));
        let arguments = scrubbed(arguments);
        SharedCall { tape, what: what.to_owned(), digest: digest(&arguments), arguments }
    }

    /// Where the result came from when this was recorded; `None` if that is not known, or this is being recorded.
    pub fn recorded(&self) -> Option<Sharing> {
        match &self.tape.tape.deck {
            Deck::Replay(replayer) => replayer.shared(&self.what, &self.digest, self.tape.hub),
            Deck::Record(_) => None,
        }
    }

    /// The place of this call among all that is recorded. Taken where it is decided what it shares, and written afterwards.
    pub fn moment(&self) -> Option<u64> {
        match &self.tape.tape.deck {
            Deck::Record(recorder) => Some(recorder.moment()),
            Deck::Replay(_) => None,
        }
    }

    /// Writes down where the result comes from.
    pub fn decided(&self, sharing: Sharing, moment: u64) {
        if let Deck::Record(recorder) = &self.tape.tape.deck {
            recorder.shared((&self.what, &self.arguments), self.tape.hub, sharing, moment);
        }
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
