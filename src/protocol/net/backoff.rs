//! How long to wait before trying again.

use std::time::Duration;

/// Waits that double from `first` up to `ceiling`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub ceiling: Duration,
}

impl Backoff {
    pub const fn new(first: Duration, ceiling: Duration) -> Self {
        Self { first, ceiling }
    }

    /// The wait before retry number `retry` (from 0). A server may ask for a longer wait, never for a shorter one:
    /// `Retry-After: 0` must not cause a storm.
    pub fn wait(&self, retry: u32, asked: Option<Duration>) -> Duration {
        let doubled = self.first.saturating_mul(2u32.saturating_pow(retry));
        doubled.min(self.ceiling).max(asked.unwrap_or_default())
    }

    /// The same for clients that may have failed together: the upper half of the wait is left to `chance`, from 0 to 1,
    /// so that they do not come back together.
    pub fn spread(&self, retry: u32, chance: f64, asked: Option<Duration>) -> Duration {
        let half = self.wait(retry, None) / 2;
        // Anything outside the range counts as the longest wait; NaN would panic in the multiplication.
        let chance = if (0.0..=1.0).contains(&chance) { chance } else { 1.0 };
        (half + half.mul_f64(chance)).max(asked.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));

    #[test]
    fn waits_double_up_to_the_ceiling_and_heed_only_longer_requests() {
        let wait =
            |retry, asked: Option<u64>| BACKOFF.wait(retry, asked.map(Duration::from_millis)).as_millis();
        assert_eq!([wait(0, Some(0)), wait(1, None), wait(2, Some(2000))], [200, 400, 2000]);
        assert_eq!([wait(4, None), wait(5, None), wait(u32::MAX, None)], [3200, 5000, 5000]);
        assert_eq!(wait(0, Some(60_000)), 60_000);
    }

    proptest! {
        #[test]
        fn a_spread_wait_is_bounded_from_both_sides(
            retry in any::<u32>(), chance in prop::num::f64::ANY, asked in prop::option::of(0u64..100)
        ) {
            let asked = asked.map(Duration::from_secs);
            let (whole, spread) = (BACKOFF.wait(retry, None), BACKOFF.spread(retry, chance, asked));
            prop_assert!(spread >= whole / 2);
            prop_assert!(spread >= asked.unwrap_or_default());
            prop_assert!(spread <= whole.max(asked.unwrap_or_default()));
        }
    }
}
