//! What has worked: counts, latency and health of each candidate, in memory.
//!
//! One [`CandidateStats`] lives beside each candidate. Nothing is allocated until its first call, so that
//! 100,000 registered tools cost nothing here; a record is one short lock.

mod breaker;
mod sketch;

pub use breaker::{Breaker, BreakerPolicy, BreakerState};
pub use sketch::LatencySketch;

use crate::error::ErrorKind;
use parking_lot::Mutex;
use std::time::{Duration, Instant, SystemTime};

/// Weight of the newest call in the running averages: about the last ten calls count.
const EWMA_WEIGHT: f64 = 0.2;

/// Success rates are compared in steps of 10 %, latencies in powers of four: finer differences are noise, and
/// ordering by noise would make the choice flap from call to call.
const SUCCESS_BANDS: f64 = 10.0;

#[derive(Default)]
pub struct CandidateStats {
    inner: Mutex<Option<Box<Inner>>>,
}

struct Inner {
    calls: u64,
    successes: u64,
    failures: [u64; ErrorKind::ALL.len()],
    success_rate: f64,
    latency_ms: Option<f64>,
    sketch: LatencySketch,
    last_success: Option<SystemTime>,
    breaker: Breaker,
}

impl Default for Inner {
    fn default() -> Self {
        Inner {
            calls: 0,
            successes: 0,
            failures: [0; ErrorKind::ALL.len()],
            success_rate: 1.0,
            latency_ms: None,
            sketch: LatencySketch::default(),
            last_success: None,
            breaker: Breaker::default(),
        }
    }
}

/// What a candidate looks like to the one who orders them. Smaller is better, field by field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Health {
    pub resting: bool,
    failure_band: u8,
    latency_band: u8,
}

/// A readable copy of the numbers.
#[derive(Clone, Debug)]
pub struct StatsView {
    pub calls: u64,
    pub successes: u64,
    pub failures: Vec<(ErrorKind, u64)>,
    pub success_rate: f64,
    pub latency_ewma_ms: Option<f64>,
    pub latency_p50_ms: Option<f64>,
    pub latency_p95_ms: Option<f64>,
    pub last_success: Option<SystemTime>,
    pub breaker: BreakerState,
}

impl CandidateStats {
    /// Called when an attempt starts; a resting candidate that is tried all the same becomes a probe.
    pub fn begin(&self, now: Instant) {
        if let Some(inner) = self.inner.lock().as_mut() {
            inner.breaker.begin(now);
        }
    }

    /// An attempt that began and will never be recorded: it says nothing, and the way is free for another probe.
    pub fn abandon(&self) {
        if let Some(inner) = self.inner.lock().as_mut() {
            inner.breaker.inconclusive();
        }
    }

    /// Called once when an attempt has ended. A cancelled attempt says nothing about the candidate.
    pub fn record(
        &self,
        ended: Result<(), ErrorKind>,
        latency: Duration,
        now: Instant,
        policy: &BreakerPolicy,
    ) {
        let mut guard = self.inner.lock();
        let inner = guard.get_or_insert_default();
        inner.calls += 1;
        match ended {
            Ok(()) => {
                let ms = latency.as_secs_f64() * 1e3;
                inner.successes += 1;
                inner.last_success = Some(SystemTime::now());
                inner.success_rate += EWMA_WEIGHT * (1.0 - inner.success_rate);
                inner.latency_ms = Some(inner.latency_ms.map_or(ms, |old| old + EWMA_WEIGHT * (ms - old)));
                inner.sketch.add(latency);
                inner.breaker.success();
            }
            Err(kind) => {
                inner.failures[kind as usize] += 1;
                if kind.blames_candidate() {
                    inner.success_rate -= EWMA_WEIGHT * inner.success_rate;
                    inner.breaker.failure(now, policy);
                } else {
                    inner.breaker.inconclusive();
                }
            }
        }
    }

    /// How many calls have succeeded.
    pub fn successes(&self) -> u64 {
        self.inner.lock().as_ref().map_or(0, |inner| inner.successes)
    }

    pub fn health(&self, now: Instant) -> Health {
        match self.inner.lock().as_ref() {
            None => Health::default(),
            Some(inner) => Health {
                resting: inner.breaker.state(now) == BreakerState::Resting,
                failure_band: ((1.0 - inner.success_rate) * SUCCESS_BANDS).round() as u8,
                latency_band: inner.latency_ms.map_or(0, |ms| (ms.max(1.0).log2() / 2.0) as u8),
            },
        }
    }

    pub fn view(&self, now: Instant) -> StatsView {
        let guard = self.inner.lock();
        let empty = Inner::default();
        let inner = guard.as_deref().unwrap_or(&empty);
        StatsView {
            calls: inner.calls,
            successes: inner.successes,
            failures: ErrorKind::ALL
                .iter()
                .map(|kind| (*kind, inner.failures[*kind as usize]))
                .filter(|(_, count)| *count > 0)
                .collect(),
            success_rate: inner.success_rate,
            latency_ewma_ms: inner.latency_ms,
            latency_p50_ms: inner.sketch.quantile(0.5).map(|d| d.as_secs_f64() * 1e3),
            latency_p95_ms: inner.sketch.quantile(0.95).map(|d| d.as_secs_f64() * 1e3),
            last_success: inner.last_success,
            breaker: inner.breaker.state(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn failures_of_the_caller_do_not_spoil_health() {
        let (stats, now, policy) = (CandidateStats::default(), Instant::now(), BreakerPolicy::default());
        for _ in 0..50 {
            stats.record(Err(ErrorKind::InvalidArguments), ms(1), now, &policy);
            stats.record(Err(ErrorKind::Cancelled), ms(1), now, &policy);
        }
        assert_eq!(stats.health(now), Health::default());
        assert_eq!(stats.view(now).calls, 100);
    }

    #[test]
    fn failing_and_slow_candidates_order_behind() {
        let (now, policy) = (Instant::now(), BreakerPolicy::default());
        let (good, slow, bad) =
            (CandidateStats::default(), CandidateStats::default(), CandidateStats::default());
        for _ in 0..3 {
            good.record(Ok(()), ms(1), now, &policy);
            slow.record(Ok(()), ms(400), now, &policy);
            bad.record(Err(ErrorKind::ToolError), ms(1), now, &policy);
        }
        assert!(good.health(now) < slow.health(now));
        assert!(slow.health(now) < bad.health(now));
    }

    #[test]
    fn the_view_counts_by_kind() {
        let (stats, now, policy) = (CandidateStats::default(), Instant::now(), BreakerPolicy::default());
        stats.record(Ok(()), ms(10), now, &policy);
        stats.record(Err(ErrorKind::Timeout), ms(30), now, &policy);
        let view = stats.view(now);
        assert_eq!((view.calls, view.successes), (2, 1));
        assert_eq!(view.failures, vec![(ErrorKind::Timeout, 1)]);
        assert!(view.latency_p50_ms.is_some_and(|p| (8.0..13.0).contains(&p)));
        assert!(view.last_success.is_some());
    }
}
