//! How soon a stream is opened again: later each time, whatever the server asks for.

use std::time::Duration;

/// A server may ask for more patience than ours, up to this.
const LONGEST_ASKED: Duration = Duration::from_secs(30);

pub(crate) struct ReconnectDelay {
    first: Duration,
    ceiling: Duration,
    next: Duration,
}

impl ReconnectDelay {
    /// Somebody waits for the answer that the stream holds.
    pub(crate) fn of_resuming() -> Self {
        Self::new(Duration::from_millis(200), Duration::from_secs(5))
    }

    /// Nobody waits.
    pub(crate) fn of_listening() -> Self {
        Self::new(Duration::from_secs(1), Duration::from_secs(30))
    }

    fn new(first: Duration, ceiling: Duration) -> Self {
        ReconnectDelay { first, ceiling, next: first }
    }

    /// The wait before the next attempt, which may be longer than ours when the server asked for that, never shorter.
    pub(crate) fn wait(&mut self, asked: Option<Duration>) -> Duration {
        let wait = self.next.max(asked.unwrap_or_default().min(LONGEST_ASKED));
        self.next = (self.next * 2).min(self.ceiling);
        wait
    }

    /// The stream was worth opening.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_ceiling_and_heed_only_longer_ones() {
        let mut delay = ReconnectDelay::of_resuming();
        let mut wait = |asked: Option<u64>| delay.wait(asked.map(Duration::from_millis)).as_millis();
        assert_eq!([wait(Some(0)), wait(None), wait(Some(2000)), wait(None)], [200, 400, 2000, 1600]);
        assert_eq!([wait(None), wait(None), wait(None)], [3200, 5000, 5000]);
        assert_eq!(wait(Some(u64::MAX)), 30_000);
        delay.reset();
        assert_eq!(delay.wait(None).as_millis(), 200);
    }
}
