//! The total time of one request and its cancellation, in one place, so that nothing waits outside them.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Far enough away to mean "never", near enough for the clock's arithmetic.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// What ended a wait early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Cancelled,
    Expired,
}

/// What one request may still spend.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    deadline: Instant,
    cancel: CancellationToken,
}

impl Budget {
    pub(crate) fn new(total: Duration, cancel: &CancellationToken) -> Self {
        Self { deadline: Instant::now() + total.min(FOREVER), cancel: cancel.clone() }
    }

    /// The same cancellation, but at most this long from now.
    pub(crate) fn at_most(&self, limit: Duration) -> Self {
        Self { deadline: self.deadline.min(Instant::now() + limit.min(FOREVER)), cancel: self.cancel.clone() }
    }

    pub(crate) fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Waits for `work`, but not beyond the deadline or a cancellation. Dropping `work` stops it.
    pub(crate) async fn run<F: Future>(&self, work: F) -> Result<F::Output, Stop> {
        // A timer fires only when the runtime turns; a peer that always has another chunk ready must not
        // outrun the clock until then.
        if self.remaining().is_zero() && !self.is_cancelled() {
            return Err(Stop::Expired);
        }
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Stop::Cancelled),
            () = tokio::time::sleep_until(self.deadline) => Err(Stop::Expired),
            output = work => Ok(output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_is_always_ready_still_expires() {
        let budget = Budget::new(Duration::from_millis(5), &CancellationToken::new());
        // The clock goes on, but the runtime does not turn, so no timer can fire.
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(budget.run(async { 1 }).await, Err(Stop::Expired));
    }

    #[tokio::test(start_paused = true)]
    async fn cancellation_comes_first() {
        let cancel = CancellationToken::new();
        let (long, short) = (Budget::new(Duration::MAX, &cancel), Budget::new(Duration::ZERO, &cancel));
        assert_eq!(long.run(async { 1 }).await, Ok(1));
        cancel.cancel();
        assert_eq!(long.run(async { 1 }).await, Err(Stop::Cancelled));
        assert_eq!(short.run(async { 1 }).await, Err(Stop::Cancelled));
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_never_gets_more_than_the_whole() {
        let budget = Budget::new(Duration::from_secs(5), &CancellationToken::new());
        let long = budget.at_most(Duration::from_secs(60));
        assert_eq!(long.remaining(), Duration::from_secs(5));
        let short = budget.at_most(Duration::from_secs(1));
        assert_eq!(short.run(std::future::pending::<()>()).await, Err(Stop::Expired));
        assert_eq!(budget.remaining(), Duration::from_secs(4));
    }
}
