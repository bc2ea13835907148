//! When to try again: pauses that grow, differ from each other, and are limited in sum.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(30);

/// The pause before try number `count` (from 1): doubling, and anywhere between half and all of it, so that many clients
/// of one server do not come back together.
pub fn pause(count: u32) -> Duration {
    let whole = FIRST.saturating_mul(1 << count.saturating_sub(1).min(10)).min(LONGEST);
    whole.mul_f64(0.5 + fastrand::f64() / 2.0)
}

/// How a server's connections have fared: rests after repeated failures.
#[derive(Debug, Default)]
pub struct Fortune {
    /// Failures in a row: attempts that failed, and connections that did not live long.
    failures: u32,
    rests_until: Option<Instant>,
}

/// A connection that lived so long was a good one.
const GOOD_LIFE: Duration = Duration::from_secs(10);

impl Fortune {
    pub fn failed(&mut self, now: Instant) {
        self.failures += 1;
        // The first failure may be chance: the next caller tries at once.
        self.rests_until = (self.failures > 1).then(|| now + pause(self.failures - 1));
    }

    pub fn lost(&mut self, lived: Duration, now: Instant) {
        match lived >= GOOD_LIFE {
            true => *self = Fortune::default(),
            false => self.failed(now),
        }
    }

    /// For how long nobody should try.
    pub fn rest(&self, now: Instant) -> Option<Duration> {
        self.rests_until.and_then(|until| until.checked_duration_since(now)).filter(|rest| !rest.is_zero())
    }

    pub fn failures(&self) -> u32 {
        self.failures
    }
}

/// Repeats may be at most a part of all calls, however many fail: a server in trouble is not buried.
#[derive(Debug)]
pub struct Budget(f64);

const FULL: f64 = 10.0;
const EARNED_BY_A_CALL: f64 = 0.1;

impl Default for Budget {
    fn default() -> Self {
        Budget(FULL)
    }
}

impl Budget {
    pub fn called(&mut self) {
        self.0 = (self.0 + EARNED_BY_A_CALL).min(FULL);
    }

    /// Takes one repeat, if there is one left.
    pub fn spend(&mut self) -> bool {
        let enough = self.0 >= 1.0;
        self.0 -= f64::from(u8::from(enough));
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_does_not_rest_and_the_later_ones_rest_longer() {
        let now = Instant::now();
        let mut fortune = Fortune::default();
        fortune.failed(now);
        assert_eq!(fortune.rest(now), None);
        fortune.failed(now);
        let first = fortune.rest(now).unwrap_or_default();
        assert!(first >= FIRST / 2 && first <= FIRST, "{first:?}");
        (0..20).for_each(|_| fortune.failed(now));
        assert!(fortune.rest(now).unwrap_or_default() >= LONGEST / 2);
        assert_eq!(fortune.rest(now + LONGEST), None);
    }

    #[test]
    fn a_long_life_makes_good_for_everything() {
        let now = Instant::now();
        let mut fortune = Fortune::default();
        (0..5).for_each(|_| fortune.failed(now));
        fortune.lost(GOOD_LIFE, now);
        assert_eq!((fortune.failures(), fortune.rest(now)), (0, None));
        fortune.lost(Duration::from_secs(1), now);
        assert_eq!(fortune.failures(), 1);
    }

    #[test]
    fn repeats_are_a_tenth_of_the_calls_in_the_long_run() {
        let mut budget = Budget::default();
        let spent = (0..1000)
            .filter(|_| {
                budget.called();
                budget.spend()
            })
            .count();
        assert!((100..=111).contains(&spent), "{spent}");
    }
}
