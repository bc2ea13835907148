//! The recordings of one tool or model, in the order in which the calls began, and which of them a call gets.
//!
//! Equal calls get their recordings in this order, those of their own hub first. Whether calls with other arguments have an order too depends on the
//! cassette: see [`is_sequential`].

use super::reading::Recording;
use crate::canonical::{count_differences, first_difference};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// So many unused recordings are compared with a call that has none, to find the nearest one.
const COMPARED: usize = 200;
/// More differences than this count as this many.
const MOST_DIFFERENCES: usize = 50;

#[derive(Default)]
pub(super) struct Lane {
    recordings: Vec<Arc<Recording>>,
    used: Vec<bool>,
    /// All before it are used.
    head: usize,
    by_arguments: HashMap<[u8; 32], EqualCalls>,
    by_hub: HashMap<([u8; 32], Option<i64>), EqualCalls>,
    /// Whether calls come in the order in which they were recorded, whatever their arguments.
    is_ordered: bool,
}

/// The places of the recordings with the same arguments.
#[derive(Default)]
struct EqualCalls {
    places: Vec<usize>,
    /// All before it are used.
    head: usize,
}

/// Whether the calls of a cassette were made one after another. Where calls overlapped, several parts of the program ran side
/// by side, and which of them calls a tool first is a matter of time: it says nothing about what the program does, and is
/// another order in the next run. The candidates of one call, and those that were given up, are no such parts.
pub(super) fn is_sequential(calls: &[Arc<Recording>]) -> bool {
    let mut calls: Vec<&Recording> =
        calls.iter().map(|call| &**call).filter(|call| !call.was_stopped()).collect();
    calls.sort_by_key(|call| call.began);
    let mut open: Vec<&Recording> = Vec::new();
    calls.into_iter().all(|call| {
        open.retain(|other| other.ended > call.began);
        let is_alone = open.iter().all(|other| call.execution.is_some() && other.execution == call.execution);
        open.push(call);
        is_alone
    })
}

impl EqualCalls {
    /// The first that is not used.
    fn unused(&mut self, used: &[bool]) -> Option<usize> {
        while self.places.get(self.head).is_some_and(|at| used[*at]) {
            self.head += 1;
        }
        self.places.get(self.head).copied()
    }
}

impl Lane {
    pub fn new(mut recordings: Vec<Arc<Recording>>, is_ordered: bool) -> Self {
        recordings.sort_by_key(|recording| recording.began);
        let mut by_arguments: HashMap<[u8; 32], EqualCalls> = HashMap::new();
        let mut by_hub: HashMap<_, EqualCalls> = HashMap::new();
        for (at, recording) in recordings.iter().enumerate() {
            by_arguments.entry(recording.digest).or_default().places.push(at);
            by_hub.entry((recording.digest, recording.hub)).or_default().places.push(at);
        }
        Lane { used: vec![false; recordings.len()], recordings, head: 0, by_arguments, by_hub, is_ordered }
    }

    /// The next recording with these arguments, if it is its turn.
    pub fn next(&mut self, digest: &[u8; 32], hub: Option<i64>) -> Option<Arc<Recording>> {
        let at = self.unused_place(digest, hub)?;
        // A candidate that was given up may not start at all when another one answers at once.
        let mut passed = (self.head..at).filter(|before| !self.used[*before]);
        if self.is_ordered && !passed.all(|before| self.recordings[before].was_stopped()) {
            return None;
        }
        Some(self.take(at))
    }

    /// The next recording with these arguments; if all are used, the last one again.
    pub fn any(&mut self, digest: &[u8; 32], hub: Option<i64>) -> Option<Arc<Recording>> {
        let equal = match self.by_hub.get_mut(&(*digest, hub)) {
            Some(own) => own,
            None => self.by_arguments.get_mut(digest)?,
        };
        let at = equal.unused(&self.used).or_else(|| equal.places.last().copied())?;
        Some(self.take(at))
    }

    /// A hub whose number differs, because several were made at once, gets the recordings of another one. Where calls came one
    /// after another, their order says which one it is.
    fn unused_place(&mut self, digest: &[u8; 32], hub: Option<i64>) -> Option<usize> {
        let own = self.by_hub.get_mut(&(*digest, hub)).filter(|_| !self.is_ordered);
        own.and_then(|own| own.unused(&self.used))
            .or_else(|| self.by_arguments.get_mut(digest)?.unused(&self.used))
    }

    /// Whether there is one with these arguments that is not used, or may be used again.
    pub fn has(&self, digest: &[u8; 32], is_repeated: bool) -> bool {
        let equal = self.by_arguments.get(digest);
        equal.is_some_and(|equal| is_repeated || equal.places.iter().any(|at| !self.used[*at]))
    }

    fn take(&mut self, at: usize) -> Arc<Recording> {
        self.used[at] = true;
        while self.used.get(self.head) == Some(&true) {
            self.head += 1;
        }
        self.recordings[at].clone()
    }

    /// Those that a program that behaves as it was recorded must have used: a candidate that was given up may not start at all
    /// when another one answers at once.
    pub fn left_over(&self) -> impl Iterator<Item = &Arc<Recording>> {
        self.unused().filter(|recording| !recording.was_stopped())
    }

    fn unused(&self) -> impl Iterator<Item = &Arc<Recording>> {
        self.recordings.iter().zip(&self.used).filter(|(_, used)| !**used).map(|(recording, _)| recording)
    }

    /// Why no recording fits: what was expected, or the nearest recording and where it differs.
    pub fn why_not(&self, arguments: &Value, digest: &[u8; 32]) -> String {
        let nearest = self
            .unused()
            .take(COMPARED)
            .min_by_key(|one| count_differences(&one.arguments, arguments, MOST_DIFFERENCES));
        let Some(nearest) = nearest else {
            return format!("all {} recorded calls of it were replayed already", self.recordings.len());
        };
        let expected = self.recordings.get(self.head).filter(|_| nearest.digest == *digest);
        if let Some(expected) = expected {
            let difference = first_difference(&expected.arguments, arguments).unwrap_or_default();
            return format!(
                "it is recorded in line {}, but the call in line {} comes before it ({difference})",
                nearest.line, expected.line
            );
        }
        let difference = first_difference(&nearest.arguments, arguments).unwrap_or_default();
        format!("the nearest recording is in line {}: {difference}", nearest.line)
    }
}
