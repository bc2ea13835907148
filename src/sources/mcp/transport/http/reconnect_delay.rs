//! How soon a stream is opened again: later each time, whatever the server asks for.

use std::time::Duration;
use toolhub_protocol::net::Backoff;

/// A server may ask for a longer wait than ours, up to this.
const LONGEST_ASKED: Duration = Duration::from_secs(30);

pub(crate) struct ReconnectDelay {
    backoff: Backoff,
    retry: u32,
}

impl ReconnectDelay {
    /// For a stream that holds the answer to a request.
    pub(crate) fn of_resuming() -> Self {
        Self { backoff: Backoff::new(Duration::from_millis(200), Duration::from_secs(5)), retry: 0 }
    }

    /// For a stream that only brings notifications.
    pub(crate) fn of_listening() -> Self {
        Self { backoff: Backoff::new(Duration::from_secs(1), Duration::from_secs(30)), retry: 0 }
    }

    /// The wait before the next attempt.
    pub(crate) fn wait(&mut self, asked: Option<Duration>) -> Duration {
        let wait = self.backoff.wait(self.retry, asked.map(|asked| asked.min(LONGEST_ASKED)));
        self.retry = self.retry.saturating_add(1);
        wait
    }

    /// The stream was worth opening.
    pub(crate) fn reset(&mut self) {
        self.retry = 0;
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
