//! The numbers by which a tape tells hubs apart.
//!
//! Two hubs may have a tool of the same name. A number has to mean the same hub in the next run of a program, so it counts
//! from the moment when the tape was put in.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many hubs this process has made.
static MADE: AtomicU64 = AtomicU64::new(0);

/// A number for a hub that is being made; no other hub of this process has it.
pub fn number_hub() -> u64 {
    MADE.fetch_add(1, Ordering::Relaxed) + 1
}

/// The numbers of hubs on one tape: 1, 2, … for those that were made since, in this order; -1, -2, … for earlier ones, in the
/// order of their first calls, because how many others there were before depends on what else the process has done.
pub(super) struct HubNumbers {
    made_before: u64,
    earlier: Mutex<HashMap<u64, i64>>,
}

impl HubNumbers {
    pub fn new() -> Self {
        HubNumbers { made_before: MADE.load(Ordering::Relaxed), earlier: Mutex::default() }
    }

    pub fn number(&self, hub: u64) -> i64 {
        if hub > self.made_before {
            return i64::try_from(hub - self.made_before).unwrap_or(i64::MAX);
        }
        let mut earlier = self.earlier.lock();
        let next = -1 - i64::try_from(earlier.len()).unwrap_or(i64::MAX - 1);
        *earlier.entry(hub).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hubs_are_numbered_from_the_moment_of_the_tape() {
        let (first, second) = (number_hub(), number_hub());
        let numbers = HubNumbers::new();
        let later = number_hub();
        assert_eq!([second, first, second].map(|hub| numbers.number(hub)), [-1, -2, -1]);
        // Other tests make hubs too.
        assert!(numbers.number(later) >= 1);
        assert_eq!(numbers.number(later + 1), numbers.number(later) + 1);
    }
}
