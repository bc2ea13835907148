//! The recordings of one tool or model, in the order in which the calls began, and which of them a call gets.

use super::difference::{count_differences, first_difference};
use super::reading::Recording;
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
    /// The places of the recordings with the same arguments.
    by_arguments: HashMap<[u8; 32], Vec<usize>>,
}

impl Lane {
    pub fn new(mut recordings: Vec<Arc<Recording>>) -> Self {
        recordings.sort_by_key(|recording| recording.began);
        let mut by_arguments: HashMap<[u8; 32], Vec<usize>> = HashMap::new();
        for (at, recording) in recordings.iter().enumerate() {
            by_arguments.entry(recording.digest).or_default().push(at);
        }
        Lane { used: vec![false; recordings.len()], recordings, head: 0, by_arguments }
    }

    /// The next recording, if its arguments are these. Calls that ran at the same time when they were recorded have no order
    /// among themselves.
    pub fn next(&mut self, digest: &[u8; 32]) -> Option<Arc<Recording>> {
        let mut passed = u64::MAX;
        for at in self.head..self.recordings.len() {
            let recording = &self.recordings[at];
            if recording.began > passed {
                return None;
            }
            if self.used[at] {
                continue;
            }
            if recording.digest == *digest {
                return Some(self.take(at));
            }
            if !recording.was_stopped() {
                passed = passed.min(recording.ended);
            }
        }
        None
    }

    /// Any unused recording with these arguments; if all are used, the last one again.
    pub fn any(&mut self, digest: &[u8; 32]) -> Option<Arc<Recording>> {
        let places = self.by_arguments.get(digest)?;
        let at = places.iter().copied().find(|at| !self.used[*at]).or_else(|| places.last().copied())?;
        Some(self.take(at))
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
