//! The counts of one candidate: of all its calls, or of new ones that are added to those before.
//!
//! Several processes may call the same candidate at the same time. So the store never writes totals, only what is new: no
//! call is lost, in whatever order processes add theirs. This works for running averages too: several samples are one step
//! `old × keep + add`.

use super::sketch::LatencySketch;
use crate::error::ErrorKind;
use std::time::{Duration, SystemTime};

/// Weight of the newest call in the running averages: about the last ten calls count.
const EWMA_WEIGHT: f64 = 0.2;

pub type FailureCounts = [u64; ErrorKind::ALL.len()];

/// The calls of one candidate: all of them, over this process and earlier ones, or those since the last save.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    pub calls: u64,
    pub successes: u64,
    /// By kind of error.
    pub failures: FailureCounts,
    /// Of 1 for a failure and 0 for a success; before the first call it is 0.
    pub failure_rate: RunningAverage,
    pub latency_ms: RunningAverage,
    pub sketch: LatencySketch,
    pub last_success: Option<SystemTime>,
    /// When it became the preferred candidate of its name.
    pub preferred_since: Option<SystemTime>,
    /// The state of the breaker; the last writer wins.
    pub cooldown: SavedCooldown,
}

/// The state of a circuit breaker for the next process, with wall-clock time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SavedCooldown {
    pub failures_in_a_row: u32,
    pub rests: u32,
    pub until: Option<SystemTime>,
}

/// One finished attempt.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub ended: Result<(), ErrorKind>,
    pub latency: Duration,
    pub at: SystemTime,
}

/// Several steps of an exponentially weighted moving average, combined into one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunningAverage {
    keep: f64,
    add: f64,
    /// The result without an old value: the first value is the average, not a fifth of it.
    alone: Option<f64>,
}

impl Default for RunningAverage {
    fn default() -> Self {
        RunningAverage { keep: 1.0, add: 0.0, alone: None }
    }
}

impl RunningAverage {
    /// The average that was kept of earlier values.
    pub fn kept(value: f64) -> Self {
        RunningAverage { keep: 0.0, add: value, alone: Some(value) }
    }

    fn add(&mut self, value: f64) {
        self.then(RunningAverage { keep: 1.0 - EWMA_WEIGHT, add: EWMA_WEIGHT * value, alone: Some(value) });
    }

    fn then(&mut self, later: RunningAverage) {
        *self = RunningAverage {
            keep: self.keep * later.keep,
            add: self.add * later.keep + later.add,
            alone: self.alone.map(|old| old * later.keep + later.add).or(later.alone),
        };
    }
}

impl Record {
    pub fn success_rate(&self) -> f64 {
        (1.0 - self.failure_rate.add).clamp(0.0, 1.0)
    }

    pub fn latency_ms(&self) -> Option<f64> {
        self.latency_ms.alone
    }

    pub fn add(&mut self, sample: &Sample) {
        self.calls += 1;
        match sample.ended {
            Ok(()) => {
                self.successes += 1;
                self.last_success = Some(sample.at);
                self.failure_rate.add(0.0);
                self.latency_ms.add(sample.latency.as_secs_f64() * 1e3);
                self.sketch.add(sample.latency);
            }
            Err(kind) => {
                self.failures[kind as usize] += 1;
                if kind.blames_candidate() {
                    self.failure_rate.add(1.0);
                }
            }
        }
    }

    /// Adds later calls.
    pub fn then(&mut self, later: &Record) {
        self.calls = self.calls.saturating_add(later.calls);
        self.successes = self.successes.saturating_add(later.successes);
        for (count, more) in self.failures.iter_mut().zip(&later.failures) {
            *count = count.saturating_add(*more);
        }
        self.failure_rate.then(later.failure_rate);
        self.latency_ms.then(later.latency_ms);
        self.sketch.absorb(&later.sketch);
        self.last_success = self.last_success.max(later.last_success);
        self.preferred_since = self.preferred_since.max(later.preferred_since);
        self.cooldown = later.cooldown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> impl Strategy<Value = Sample> {
        let ended = prop_oneof![
            3 => Just(Ok(())),
            1 => prop::sample::select(ErrorKind::ALL).prop_map(Err),
        ];
        (ended, 1u64..10_000_000).prop_map(|(ended, micros)| Sample {
            ended,
            latency: Duration::from_micros(micros),
            at: SystemTime::UNIX_EPOCH + Duration::from_micros(micros),
        })
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(1.0)
    }

    proptest! {
        /// However calls are cut into pieces, and the pieces joined before they are applied: the numbers are those of
        /// counting call by call.
        #[test]
        fn pieces_come_to_the_same(
            samples in prop::collection::vec(sample(), 0..60),
            cuts in prop::collection::vec(any::<bool>(), 60),
            joins in prop::collection::vec(any::<bool>(), 60),
        ) {
            let mut whole = Record::default();
            let (mut pieces, mut piece) = (Vec::new(), Record::default());
            for (sample, cut) in samples.iter().zip(cuts) {
                whole.add(sample);
                piece.add(sample);
                if cut {
                    pieces.push(std::mem::take(&mut piece));
                }
            }
            pieces.push(piece);
            let (mut kept, mut waiting) = (Record::default(), Record::default());
            for (piece, join) in pieces.iter().zip(joins) {
                waiting.then(piece);
                if !join {
                    kept.then(&std::mem::take(&mut waiting));
                }
            }
            kept.then(&waiting);
            prop_assert_eq!((kept.calls, kept.successes, kept.failures), (whole.calls, whole.successes, whole.failures));
            prop_assert!(close(kept.success_rate(), whole.success_rate()));
            prop_assert_eq!(kept.latency_ms().is_some(), whole.latency_ms().is_some());
            prop_assert!(close(kept.latency_ms().unwrap_or(0.0), whole.latency_ms().unwrap_or(0.0)));
            prop_assert_eq!(kept.sketch, whole.sketch);
        }

        /// Two processes that write in turns: every call of both is counted, and the averages stay between the extremes.
        #[test]
        fn two_writers_lose_nothing(
            ours in prop::collection::vec(sample(), 1..30),
            theirs in prop::collection::vec(sample(), 1..30),
        ) {
            let mut kept = Record::default();
            for samples in [&ours, &theirs] {
                let mut delta = Record::default();
                samples.iter().for_each(|sample| delta.add(sample));
                kept.then(&delta);
            }
            let failures: u64 = kept.failures.iter().sum();
            prop_assert_eq!(kept.calls as usize, ours.len() + theirs.len());
            prop_assert_eq!(kept.successes + failures, kept.calls);
            prop_assert!((0.0..=1.0).contains(&kept.success_rate()));
            prop_assert!(kept.latency_ms().is_none_or(|ms| (0.0..=10_000.0).contains(&ms)));
        }
    }
}
