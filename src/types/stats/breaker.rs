//! The circuit breaker: a candidate that keeps failing is suspended, then probed.

use super::record::SavedCooldown;
use crate::model::FOREVER;
use std::time::{Duration, Instant, SystemTime};

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
mod tests {
    use super::*;

    fn policy() -> BreakerPolicy {
        BreakerPolicy { threshold: 2, rest: Duration::from_secs(10), longest_rest: Duration::from_secs(30) }
    }

    #[test]
    fn rests_after_failures_in_a_row_then_probes_once() {
        let (mut breaker, t0) = (Breaker::default(), Instant::now());
        breaker.failure(t0, &policy());
        assert_eq!(breaker.state(t0), BreakerState::Closed);
        breaker.failure(t0, &policy());
        assert_eq!(breaker.state(t0), BreakerState::Resting);
        let later = t0 + Duration::from_secs(10);
        assert_eq!(breaker.state(later), BreakerState::HalfOpen);
        breaker.begin(later);
        assert_eq!(breaker.state(later), BreakerState::Resting, "a second probe must wait");
        breaker.success();
        assert_eq!(breaker.state(later), BreakerState::Closed);
    }

    #[test]
    fn a_failed_probe_rests_twice_as_long_up_to_the_limit() {
        let (mut breaker, mut now) = (Breaker::default(), Instant::now());
        breaker.failure(now, &policy());
        for rest in [10, 20, 30, 30] {
            breaker.failure(now, &policy());
            assert_eq!(breaker.state(now + Duration::from_secs(rest - 1)), BreakerState::Resting);
            now += Duration::from_secs(rest);
            assert_eq!(breaker.state(now), BreakerState::HalfOpen);
        }
    }

    #[test]
    fn a_cancelled_probe_leaves_the_way_free_for_the_next() {
        let (mut breaker, t0) = (Breaker::default(), Instant::now());
        breaker.failure(t0, &policy());
        breaker.failure(t0, &policy());
        let later = t0 + Duration::from_secs(11);
        breaker.begin(later);
        breaker.inconclusive();
        assert_eq!(breaker.state(later), BreakerState::HalfOpen);
    }

    #[test]
    fn a_rest_outlives_its_process() {
        let (mut breaker, t0, today) = (Breaker::default(), Instant::now(), SystemTime::now());
        breaker.failure(t0, &policy());
        breaker.failure(t0, &policy());
        let saved = breaker.saved(t0, today);
        let restored = |after| {
            let later = today + Duration::from_secs(after);
            Breaker::restored(&saved, t0, later)
        };
        assert_eq!(restored(9).state(t0), BreakerState::Resting);
        assert_eq!(restored(9).state(t0 + Duration::from_secs(2)), BreakerState::HalfOpen);
        assert_eq!(restored(60).state(t0), BreakerState::HalfOpen);
        let mut failed_again = restored(60);
        failed_again.begin(t0);
        failed_again.failure(t0, &policy());
        assert_eq!(
            failed_again.state(t0 + Duration::from_secs(19)),
            BreakerState::Resting,
            "the second rest"
        );
        assert_eq!(Breaker::restored(&SavedCooldown::default(), t0, today).state(t0), BreakerState::Closed);
    }

    #[test]
    fn a_success_between_failures_starts_the_count_again() {
        let (mut breaker, t0) = (Breaker::default(), Instant::now());
        for _ in 0..10 {
            breaker.failure(t0, &policy());
            breaker.success();
        }
        assert_eq!(breaker.state(t0), BreakerState::Closed);
    }
}
