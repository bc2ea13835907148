//! How often a server may be started for its list alone, when no call waits for it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// At most this many starts within this time.
pub const MOST_LIST_STARTS: usize = 3;
pub const LIST_STARTS_WITHIN: Duration = Duration::from_secs(10);

/// The starts of the last seconds, oldest first.
#[derive(Debug, Default)]
pub struct ListStarts(VecDeque<(Instant, usize)>);

impl ListStarts {
    /// How long an attempt has to wait that may start so many processes.
    pub fn wait(&self, starts: usize, now: Instant) -> Option<Duration> {
        let recent = || self.0.iter().filter(|(at, _)| *at + LIST_STARTS_WITHIN > now);
        let mut used: usize = recent().map(|(_, starts)| starts).sum();
        let mut wait = None;
        for (at, earlier) in recent() {
            if used + starts <= MOST_LIST_STARTS {
                break;
            }
            used -= earlier;
            wait = Some(*at + LIST_STARTS_WITHIN - now);
        }
        wait
    }

    pub fn record(&mut self, starts: usize, now: Instant) {
        self.0.retain(|(at, _)| *at + LIST_STARTS_WITHIN > now);
        self.0.push_back((now, starts));
    }
}
