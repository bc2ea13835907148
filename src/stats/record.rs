//! The numbers of one candidate, and changes of them that can be kept apart and added up.
//!
//! Several processes may learn about the same candidate at the same time. So what is written to the store is never "the
//! numbers are these" but a [`Delta`], "these calls came on top"; whoever applies it, and in which order, no call is lost.
//! That works for running averages too: a few samples are one step `old × keep + add`.

use super::sketch::LatencySketch;
use crate::error::ErrorKind;
use std::time::{Duration, SystemTime};

/// Weight of the newest call in the running averages: about the last ten calls count.
const EWMA_WEIGHT: f64 = 0.2;

pub type Counts = [u64; ErrorKind::ALL.len()];

/// What calls of one candidate have shown, in this process and before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub calls: u64,
    pub successes: u64,
    /// By kind of error.
    pub failures: Counts,
    pub success_rate: f64,
    pub latency_ms: Option<f64>,
    pub sketch: LatencySketch,
    pub last_success: Option<SystemTime>,
    /// When it became the one of its name that is asked first.
    pub led_at: Option<SystemTime>,
    pub rest: SavedRest,
}

/// What calls have added since somebody last looked.
#[derive(Clone, Debug, Default)]
pub struct Delta {
    calls: u64,
    successes: u64,
    failures: Counts,
    success_rate: Drift,
    latency_ms: Drift,
    sketch: LatencySketch,
    last_success: Option<SystemTime>,
    pub led_at: Option<SystemTime>,
    /// The breaker as it stands; the last one who says something is right.
    pub rest: SavedRest,
}

/// A circuit breaker that outlives its process: with the time of the day instead of that of a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SavedRest {
    pub failures_in_a_row: u32,
    pub rests: u32,
    pub until: Option<SystemTime>,
}

/// How one ended attempt counts.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub ended: Result<(), ErrorKind>,
    pub latency: Duration,
    pub at: SystemTime,
}

/// Steps of a running average, as one step.
#[derive(Clone, Copy, Debug)]
struct Drift {
    keep: f64,
    add: f64,
    /// Where they lead when there is nothing to begin with: the first value of all is the average, not a fifth of it.
    alone: Option<f64>,
}

impl Default for Drift {
    fn default() -> Self {
        Drift { keep: 1.0, add: 0.0, alone: None }
    }
}

impl Drift {
    fn add(&mut self, value: f64) {
        self.then(Drift { keep: 1.0 - EWMA_WEIGHT, add: EWMA_WEIGHT * value, alone: Some(value) });
    }

    fn then(&mut self, later: Drift) {
        *self = Drift {
            keep: self.keep * later.keep,
            add: self.add * later.keep + later.add,
            alone: later.apply(self.alone),
        };
    }

    fn apply(self, old: Option<f64>) -> Option<f64> {
        old.map(|old| old * self.keep + self.add).or(self.alone)
    }
}

impl Default for Record {
    fn default() -> Self {
        Record {
            calls: 0,
            successes: 0,
            failures: [0; ErrorKind::ALL.len()],
            success_rate: 1.0,
            latency_ms: None,
            sketch: LatencySketch::default(),
            last_success: None,
            led_at: None,
            rest: SavedRest::default(),
        }
    }
}

impl Record {
    pub fn add(&mut self, sample: &Sample) {
        self.calls += 1;
        match sample.ended {
            Ok(()) => {
                let ms = sample.latency.as_secs_f64() * 1e3;
                self.successes += 1;
                self.last_success = Some(sample.at);
                self.success_rate += EWMA_WEIGHT * (1.0 - self.success_rate);
                self.latency_ms = Some(self.latency_ms.map_or(ms, |old| old + EWMA_WEIGHT * (ms - old)));
                self.sketch.add(sample.latency);
            }
            Err(kind) => {
                self.failures[kind as usize] += 1;
                if kind.blames_candidate() {
                    self.success_rate -= EWMA_WEIGHT * self.success_rate;
                }
            }
        }
    }

    pub fn apply(&mut self, delta: &Delta) {
        self.calls = self.calls.saturating_add(delta.calls);
        self.successes = self.successes.saturating_add(delta.successes);
        add_counts(&mut self.failures, &delta.failures);
        self.success_rate = delta.success_rate.apply(Some(self.success_rate)).unwrap_or(1.0).clamp(0.0, 1.0);
        self.latency_ms = delta.latency_ms.apply(self.latency_ms);
        self.sketch.absorb(&delta.sketch);
        self.last_success = self.last_success.max(delta.last_success);
        self.led_at = self.led_at.max(delta.led_at);
        self.rest = delta.rest;
    }
}

impl Delta {
    pub fn add(&mut self, sample: &Sample) {
        self.calls += 1;
        match sample.ended {
            Ok(()) => {
                self.successes += 1;
                self.last_success = Some(sample.at);
                self.success_rate.add(1.0);
                self.latency_ms.add(sample.latency.as_secs_f64() * 1e3);
                self.sketch.add(sample.latency);
            }
            Err(kind) => {
                self.failures[kind as usize] += 1;
                if kind.blames_candidate() {
                    self.success_rate.add(0.0);
                }
            }
        }
    }

    /// Puts a later change behind this one.
    pub fn then(&mut self, later: &Delta) {
        self.calls += later.calls;
        self.successes += later.successes;
        add_counts(&mut self.failures, &later.failures);
        self.success_rate.then(later.success_rate);
        self.latency_ms.then(later.latency_ms);
        self.sketch.absorb(&later.sketch);
        self.last_success = self.last_success.max(later.last_success);
        self.led_at = self.led_at.max(later.led_at);
        self.rest = later.rest;
    }
}

fn add_counts(counts: &mut Counts, more: &Counts) {
    for (count, more) in counts.iter_mut().zip(more) {
        *count = count.saturating_add(*more);
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
            let (mut pieces, mut piece) = (Vec::new(), Delta::default());
            for (sample, cut) in samples.iter().zip(cuts) {
                whole.add(sample);
                piece.add(sample);
                if cut {
                    pieces.push(std::mem::take(&mut piece));
                }
            }
            pieces.push(piece);
            let (mut kept, mut waiting) = (Record::default(), Delta::default());
            for (piece, join) in pieces.iter().zip(joins) {
                waiting.then(piece);
                if !join {
                    kept.apply(&std::mem::take(&mut waiting));
                }
            }
            kept.apply(&waiting);
            prop_assert_eq!((kept.calls, kept.successes, kept.failures), (whole.calls, whole.successes, whole.failures));
            prop_assert!(close(kept.success_rate, whole.success_rate));
            prop_assert_eq!(kept.latency_ms.is_some(), whole.latency_ms.is_some());
            prop_assert!(close(kept.latency_ms.unwrap_or(0.0), whole.latency_ms.unwrap_or(0.0)));
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
                let mut delta = Delta::default();
                samples.iter().for_each(|sample| delta.add(sample));
                kept.apply(&delta);
            }
            let failures: u64 = kept.failures.iter().sum();
            prop_assert_eq!(kept.calls as usize, ours.len() + theirs.len());
            prop_assert_eq!(kept.successes + failures, kept.calls);
            prop_assert!((0.0..=1.0).contains(&kept.success_rate));
            prop_assert!(kept.latency_ms.is_none_or(|ms| (0.0..=10_000.0).contains(&ms)));
        }
    }
}
