//! The total time of one request, in one place, so that nothing waits outside it.

use std::future::Future;
use std::time::Duration;
use toolhub_types::model::FOREVER;

use tokio::time::Instant;

/// The time was used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expired;

/// When one request must be over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChatDeadline(Instant);

impl ChatDeadline {
    pub(crate) fn after(total: Duration) -> Self {
        Self(Instant::now() + total.min(FOREVER))
    }

    /// The same deadline, or an earlier one: this long from now.
    pub(crate) fn at_most(self, limit: Duration) -> Self {
        Self(self.0.min(Self::after(limit).0))
    }

    pub(crate) fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Waits for `work` until the deadline. Dropping `work` stops it.
    pub(crate) async fn run<F: Future>(self, work: F) -> Result<F::Output, Expired> {
        // A timer fires only when the runtime turns. A server that always has another chunk ready must not delay it.
        if self.remaining().is_zero() {
            return Err(Expired);
        }
        tokio::time::timeout_at(self.0, work).await.map_err(|_| Expired)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_is_always_ready_still_expires() {
        let deadline = ChatDeadline::after(Duration::from_millis(5));
        // The clock goes on, but the runtime does not turn, so no timer can fire.
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(deadline.run(async { 1 }).await, Err(Expired));
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_never_gets_more_than_the_whole() {
        let deadline = ChatDeadline::after(Duration::from_secs(5));
        let long = deadline.at_most(Duration::from_secs(60));
        assert_eq!(long.remaining(), Duration::from_secs(5));
        assert_eq!(ChatDeadline::after(Duration::MAX).run(async { 1 }).await, Ok(1));
        let short = deadline.at_most(Duration::from_secs(1));
        assert_eq!(short.run(std::future::pending::<()>()).await, Err(Expired));
        assert_eq!(deadline.remaining(), Duration::from_secs(4));
    }
}
