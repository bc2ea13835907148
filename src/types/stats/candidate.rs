//! The statistics of one candidate.

use super::breaker::{Breaker, BreakerPolicy, BreakerState};
use super::record::{Record, Sample};
use crate::error::ErrorKind;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// Success rates are compared in steps of 10 %, latencies in powers of four: finer differences are noise, and
/// ordering by noise would make the choice flap from call to call.
const SUCCESS_BANDS: f64 = 10.0;

#[derive(Default)]
pub struct CandidateStats {
    inner: Mutex<Option<Box<StatsState>>>,
    /// Called when there is something to save.
    unsaved: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// Calls that were given up and still run.
    abandoned: AtomicUsize,
}

/// A call that was given up and still runs; dropped when it ends.
pub struct AbandonedCall(Arc<CandidateStats>);

impl Drop for AbandonedCall {
    fn drop(&mut self) {
        self.0.abandoned.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct StatsState {
    record: Record,
    breaker: Breaker,
    /// Successes of this process alone.
    successes_here: u64,
    /// What is not saved yet.
    unsaved: Option<Box<Record>>,
}

/// What the order of candidates depends on. Smaller is better, field by field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Health {
    pub resting: bool,
    failure_band: u8,
    latency_band: u8,
}

/// A readable copy of the statistics.
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
    /// Calls that were given up and still run.
    pub abandoned: usize,
}

impl CandidateStats {
    /// How many calls were given up and still run.
    pub fn abandoned(&self) -> usize {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Counts a call that was given up, until it ends.
    pub fn count_abandoned(self: &Arc<Self>) -> AbandonedCall {
        self.abandoned.fetch_add(1, Ordering::Relaxed);
        AbandonedCall(self.clone())
    }

    /// Called when an attempt starts. A suspended candidate that is tried anyway becomes a probe.
    pub fn begin(&self, now: Instant) {
        if let Some(inner) = self.inner.lock().as_mut() {
            inner.breaker.begin(now);
        }
    }

    /// Called for an attempt that will never be recorded: it counts for nothing, and another probe may start.
    pub fn abandon(&self) {
        if let Some(inner) = self.inner.lock().as_mut() {
            inner.breaker.inconclusive();
        }
    }

    /// Called once when an attempt has ended. A cancelled attempt does not count for or against the candidate.
    pub fn record(
        &self,
        ended: Result<(), ErrorKind>,
        latency: Duration,
        now: Instant,
        policy: &BreakerPolicy,
    ) {
        let sample = Sample { ended, latency, at: SystemTime::now() };
        let mut guard = self.inner.lock();
        let inner = guard.get_or_insert_default();
        inner.record.add(&sample);
        match ended {
            Ok(()) => {
                inner.successes_here += 1;
                inner.breaker.success();
            }
            Err(kind) if kind.blames_candidate() => inner.breaker.failure(now, policy),
            Err(_) => inner.breaker.inconclusive(),
        }
        if let Some(notify) = self.unsaved.get() {
            let is_first = inner.unsaved.is_none();
            inner.unsaved.get_or_insert_default().add(&sample);
            drop(guard);
            if is_first {
                notify();
            }
        }
    }

    /// Makes it the preferred candidate of its name.
    pub fn mark_preferred(&self) {
        let Some(notify) = self.unsaved.get() else { return };
        let mut guard = self.inner.lock();
        let inner = guard.get_or_insert_default();
        let is_first = inner.unsaved.is_none();
        let now = Some(SystemTime::now());
        inner.record.preferred_since = now;
        inner.unsaved.get_or_insert_default().preferred_since = now;
        drop(guard);
        if is_first {
            notify();
        }
    }

    /// When it last became the preferred candidate of its name, if that is stored.
    pub fn preferred_since(&self) -> Option<SystemTime> {
        self.inner.lock().as_ref().and_then(|inner| inner.record.preferred_since)
    }

    /// The number of successful calls of this process.
    pub fn successes(&self) -> u64 {
        self.inner.lock().as_ref().map_or(0, |inner| inner.successes_here)
    }

    pub fn health(&self, now: Instant) -> Health {
        match self.inner.lock().as_ref() {
            None => Health::default(),
            Some(inner) => Health {
                resting: inner.breaker.state(now) == BreakerState::Resting,
                failure_band: ((1.0 - inner.record.success_rate()) * SUCCESS_BANDS).round() as u8,
                latency_band: inner.record.latency_ms().map_or(0, |ms| (ms.max(1.0).log2() / 2.0) as u8),
            },
        }
    }

    pub fn view(&self, now: Instant) -> StatsView {
        let guard = self.inner.lock();
        let empty = StatsState::default();
        let inner = guard.as_deref().unwrap_or(&empty);
        let record = &inner.record;
        StatsView {
            calls: record.calls,
            successes: record.successes,
            failures: ErrorKind::ALL
                .iter()
                .map(|kind| (*kind, record.failures[*kind as usize]))
                .filter(|(_, count)| *count > 0)
                .collect(),
            success_rate: record.success_rate(),
            latency_ewma_ms: record.latency_ms(),
            latency_p50_ms: record.sketch.quantile(0.5).map(|d| d.as_secs_f64() * 1e3),
            latency_p95_ms: record.sketch.quantile(0.95).map(|d| d.as_secs_f64() * 1e3),
            last_success: record.last_success,
            breaker: inner.breaker.state(now),
            abandoned: self.abandoned(),
        }
    }

    pub(super) fn is_tracked(&self) -> bool {
        self.unsaved.get().is_some()
    }

    /// Starts with the stored statistics, and calls `notify` when there is something to save. Only the first function counts.
    pub(super) fn track(&self, notify: Box<dyn Fn() + Send + Sync>, known: Option<Record>) {
        if self.unsaved.set(notify).is_err() {
            return;
        }
        if let Some(known) = known {
            let mut guard = self.inner.lock();
            let inner = guard.get_or_insert_default();
            inner.breaker = Breaker::restored(&known.cooldown, Instant::now(), SystemTime::now());
            inner.record = known;
        }
    }

    /// Takes over the statistics of all processes, and adds the unsaved calls of this one.
    pub(super) fn absorb(&self, mut record: Record) {
        let mut guard = self.inner.lock();
        let inner = guard.get_or_insert_default();
        if let Some(unsaved) = &inner.unsaved {
            record.then(unsaved);
        }
        inner.record = record;
    }

    /// Takes the unsaved calls, to be saved now.
    pub(super) fn take_unsaved(&self) -> Option<Record> {
        let mut guard = self.inner.lock();
        let inner = guard.as_mut()?;
        let mut delta = *inner.unsaved.take()?;
        delta.cooldown = inner.breaker.saved(Instant::now(), SystemTime::now());
        Some(delta)
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
