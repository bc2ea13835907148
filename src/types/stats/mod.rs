//! What has worked: the counts, latency and health of each candidate, in memory.
//!
//! Each candidate has one [`CandidateStats`]. It allocates nothing until the first call, so 100,000 registered tools cost
//! nothing here; recording a call takes one short lock. With a [`StatsSink`] the statistics start with what is known from
//! earlier processes, and changes are collected for the store.
//!
//! Several processes may call the same candidate at the same time. So the store never writes totals, only what is new: no
//! call is lost, in whatever order processes add theirs. This works for running averages too: several samples are one step
//! `old × keep + add`.

mod sink;

pub use sink::{StatsKey, StatsSink};

use crate::error::ErrorKind;
use crate::model::FOREVER;
use parking_lot::{Mutex, MutexGuard};
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
        let at = SystemTime::now();
        let mut guard = self.inner.lock();
        let inner = guard.get_or_insert_default();
        match ended {
            Ok(()) => {
                inner.successes_here += 1;
                inner.breaker.success();
            }
            Err(kind) if kind.blames_candidate() => inner.breaker.failure(now, policy),
            Err(_) => inner.breaker.inconclusive(),
        }
        self.change(guard, |record| record.add(ended, latency, at));
    }

    /// Changes what is known, and what is not saved of it yet.
    fn change(&self, mut guard: MutexGuard<'_, Option<Box<StatsState>>>, change: impl Fn(&mut Record)) {
        let inner = guard.get_or_insert_default();
        change(&mut inner.record);
        let Some(notify) = self.unsaved.get() else { return };
        let is_first = inner.unsaved.is_none();
        change(inner.unsaved.get_or_insert_default());
        drop(guard);
        if is_first {
            notify();
        }
    }

    /// Makes it the preferred candidate of its name, which only a store remembers.
    pub fn mark_preferred(&self) {
        if self.unsaved.get().is_some() {
            let now = SystemTime::now();
            self.change(self.inner.lock(), |record| record.preferred_since = Some(now));
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

    /// Starts with the stored statistics, and calls `notify` when there is something to save. Only the first function counts.
    fn track(&self, notify: Box<dyn Fn() + Send + Sync>, known: Option<Record>) {
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
    fn absorb(&self, mut record: Record) {
        let mut guard = self.inner.lock();
        let inner = guard.get_or_insert_default();
        if let Some(unsaved) = &inner.unsaved {
            record.then(unsaved);
        }
        inner.record = record;
    }

    /// Takes the unsaved calls, to be saved now.
    fn take_unsaved(&self) -> Option<Record> {
        let mut guard = self.inner.lock();
        let inner = guard.as_mut()?;
        let mut delta = *inner.unsaved.take()?;
        delta.cooldown = inner.breaker.saved(Instant::now(), SystemTime::now());
        Some(delta)
    }
}

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

    /// Adds an attempt that has ended.
    pub fn add(&mut self, ended: Result<(), ErrorKind>, latency: Duration, at: SystemTime) {
        self.calls += 1;
        match ended {
            Ok(()) => {
                self.successes += 1;
                self.last_success = Some(at);
                self.failure_rate.add(0.0);
                self.latency_ms.add(latency.as_secs_f64() * 1e3);
                self.sketch.add(latency);
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

const PER_OCTAVE: f64 = 4.0;
const BUCKETS: usize = 116;
const WINDOW: u32 = 2048;

/// A bounded sketch of latencies: a histogram on a logarithmic scale. Four buckets per octave from 1 µs to about 9 minutes: any
/// quantile is within 10 % of the exact value, memory is fixed, and old values fade because all counts are halved whenever the
/// window is full.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencySketch {
    counts: [u16; BUCKETS],
    total: u32,
}

impl Default for LatencySketch {
    fn default() -> Self {
        LatencySketch { counts: [0; BUCKETS], total: 0 }
    }
}

impl LatencySketch {
    pub fn add(&mut self, latency: Duration) {
        if self.total >= WINDOW {
            self.fade();
        }
        let micros = latency.as_secs_f64() * 1e6;
        let index = (micros.max(1.0).log2() * PER_OCTAVE).round() as usize;
        self.counts[index.min(BUCKETS - 1)] += 1;
        self.total += 1;
    }

    fn fade(&mut self) {
        self.total = 0;
        for count in &mut self.counts {
            *count /= 2;
            self.total += u32::from(*count);
        }
    }

    /// Adds the values of another sketch.
    pub fn absorb(&mut self, other: &LatencySketch) {
        if self.total + other.total > WINDOW {
            self.fade();
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.total = self.counts.iter().map(|count| u32::from(*count)).sum();
        if self.total > WINDOW {
            self.fade();
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.counts.iter().flat_map(|count| count.to_le_bytes()).collect()
    }

    /// Reads what [`Self::to_bytes`] wrote; anything else gives an empty sketch.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut sketch = LatencySketch::default();
        if bytes.len() == 2 * BUCKETS {
            for (count, pair) in sketch.counts.iter_mut().zip(bytes.chunks_exact(2)) {
                *count = u16::from_le_bytes([pair[0], pair[1]]).min(WINDOW as u16);
            }
            sketch.total = sketch.counts.iter().map(|count| u32::from(*count)).sum();
        }
        while sketch.total > WINDOW {
            sketch.fade();
        }
        sketch
    }

    /// The latency at quantile `q`; `None` without values.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        if self.total == 0 {
            return None;
        }
        let rank = (q.clamp(0.0, 1.0) * f64::from(self.total - 1)).round() as u32;
        let mut seen = 0u32;
        let index = self.counts.iter().position(|count| {
            seen += u32::from(*count);
            seen > rank
        })?;
        Some(Duration::from_secs_f64((index as f64 / PER_OCTAVE).exp2() * 1e-6))
    }
}

/// The longest cooldown taken over from another process: the clock may have been set back since.
const LONGEST_SAVED: Duration = Duration::from_secs(3_600);

#[derive(Clone, Copy, Debug)]
pub struct BreakerPolicy {
    /// Consecutive failures that suspend a candidate; 0 turns the breaker off.
    pub threshold: u32,
    /// The first cooldown; each further one is twice as long.
    pub rest: Duration,
    pub longest_rest: Duration,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        BreakerPolicy { threshold: 5, rest: Duration::from_secs(5), longest_rest: Duration::from_secs(300) }
    }
}

crate::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum BreakerState {
        Closed = "closed",
        /// Not called while another candidate can be.
        Resting = "resting",
        /// The cooldown is over: the next call is the probe.
        HalfOpen = "half_open",
    }
}

/// The circuit breaker: a candidate that keeps failing is suspended, then probed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Breaker {
    failures_in_a_row: u32,
    rests: u32,
    rests_until: Option<Instant>,
    probing: bool,
}

impl Breaker {
    pub fn state(&self, now: Instant) -> BreakerState {
        match self.rests_until {
            None => BreakerState::Closed,
            // One probe at a time: while it runs, the candidate stays suspended for other calls.
            Some(until) if now < until || self.probing => BreakerState::Resting,
            Some(_) => BreakerState::HalfOpen,
        }
    }

    /// Its state for the next process.
    pub fn saved(&self, now: Instant, today: SystemTime) -> SavedCooldown {
        let until = self.rests_until.map(|until| today + until.saturating_duration_since(now));
        SavedCooldown { failures_in_a_row: self.failures_in_a_row, rests: self.rests, until }
    }

    /// The state that an earlier process left.
    pub fn restored(saved: &SavedCooldown, now: Instant, today: SystemTime) -> Self {
        let left = |until: SystemTime| until.duration_since(today).unwrap_or_default().min(LONGEST_SAVED);
        Breaker {
            failures_in_a_row: saved.failures_in_a_row,
            rests: saved.rests,
            rests_until: saved.until.map(|until| now + left(until)),
            probing: false,
        }
    }

    pub fn begin(&mut self, now: Instant) {
        self.probing |= self.state(now) == BreakerState::HalfOpen;
    }

    pub fn success(&mut self) {
        *self = Breaker::default();
    }

    /// The attempt ended with no evidence for or against the candidate.
    pub fn inconclusive(&mut self) {
        self.probing = false;
    }

    pub fn failure(&mut self, now: Instant, policy: &BreakerPolicy) {
        let probe = std::mem::take(&mut self.probing);
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        // Calls that were in flight when the cooldown began are part of the same outage: one outage, one cooldown.
        if !probe && self.rests_until.is_some_and(|until| now < until) {
            return;
        }
        if policy.threshold > 0 && self.failures_in_a_row >= policy.threshold {
            let rest =
                policy.rest.saturating_mul(1 << self.rests.min(16)).min(policy.longest_rest).min(FOREVER);
            self.rests += 1;
            self.rests_until = Some(now + rest);
        }
    }
}

#[cfg(test)]
mod tests;
