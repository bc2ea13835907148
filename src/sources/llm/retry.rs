//! When to try again, and how long to wait before it.
//!
//! The loop does not depend on HTTP: an attempt is any future and the clock is tokio's, so the tests run it on a paused clock.

use std::time::Duration;
use tokio::time::Instant;
use toolhub_protocol::net::Backoff;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError};

/// Runs `attempt` until it succeeds, fails for good, or the retries or the time are used up. A wait beyond the deadline is
/// not begun: the caller gets the real error now instead of a timeout later.
pub(super) async fn with_retries<T, F>(
    max_retries: u32,
    backoff: &Backoff,
    deadline: Instant,
    mut attempt: impl FnMut() -> F,
) -> Result<T, HubError>
where
    F: Future<Output = Result<T, HubError>>,
{
    let mut retry = 0;
    loop {
        let error = match attempt().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let asked = error.retry_after.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let wait = backoff.spread(retry, fastrand::f64(), asked);
        let remaining = deadline.saturating_duration_since(Instant::now());
        if !may_pass(&error) || retry >= max_retries || wait >= remaining {
            return Err(with_attempts(error, retry + 1));
        }
        tokio::time::sleep(wait).await;
        retry += 1;
    }
}

/// Before a connection stands nothing was sent, so trying again is safe; the server may just be starting.
fn may_pass(error: &HubError) -> bool {
    error.kind == ErrorKind::Connect || matches!(error.status, Some(429 | 500..=599))
}

fn with_attempts(mut error: HubError, attempts: u32) -> HubError {
    if attempts > 1 {
        error.message = message!("{} (tried {} times).", error.message.clause(), attempts);
    }
    error
}

#[cfg(test)]
mod tests {
    use super::super::config::BACKOFF;
    use super::*;
    use std::cell::Cell;

    const SECOND: Duration = Duration::from_secs(1);

    fn busy(retry_after: Option<Duration>) -> HubError {
        let retry_after = retry_after.map(|wait| wait.as_secs_f64());
        HubError { retry_after, status: Some(429), ..HubError::new(ErrorKind::Overloaded, "busy") }
    }

    /// Runs attempts that all fail like this: the error, the number of attempts and the time that passed.
    async fn run(
        max_retries: u32,
        total: Duration,
        failure: impl Fn() -> HubError,
    ) -> (HubError, u32, Duration) {
        let (start, count) = (Instant::now(), Cell::new(0));
        let result: Result<(), _> = with_retries(max_retries, &BACKOFF, start + total, || {
            count.set(count.get() + 1);
            std::future::ready(Err(failure()))
        })
        .await;
        (result.unwrap_err(), count.get(), start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn waits_double_and_the_message_counts_the_attempts() {
        let (error, count, passed) = run(2, 10 * SECOND, || busy(None)).await;
        assert_eq!(error.message, "busy (tried 3 times).");
        assert_eq!(count, 3);
        // Half of each wait is left to chance; the paused clock rounds each of them up to a millisecond.
        assert!((750..=1502).contains(&passed.as_millis()), "{passed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_may_ask_for_longer_waits() {
        let (_, count, passed) = run(2, 10 * SECOND, || busy(Some(4 * SECOND))).await;
        assert_eq!((count, passed), (3, 8 * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_beyond_the_deadline_is_not_begun() {
        let (error, count, passed) = run(2, 10 * SECOND, || busy(Some(60 * SECOND))).await;
        assert_eq!(error.kind, ErrorKind::Overloaded);
        assert_eq!(error.message, "busy");
        assert_eq!((count, passed), (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_final_failure_is_not_tried_again() {
        let failure = || HubError { status: Some(400), ..busy(None) };
        let (_, count, _) = run(2, 10 * SECOND, failure).await;
        assert_eq!(count, 1);
        let (_, count, _) = run(0, 10 * SECOND, || busy(None)).await;
        assert_eq!(count, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_success_wins() {
        let count = Cell::new(0);
        let result = with_retries(2, &BACKOFF, Instant::now() + 10 * SECOND, || {
            count.set(count.get() + 1);
            std::future::ready(match count.get() {
                1 => Err(busy(None)),
                n => Ok(n),
            })
        })
        .await;
        assert_eq!(result, Ok(2));
    }
}
