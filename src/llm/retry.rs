//! When to try again, and how long to wait before it.
//!
//! The loop knows nothing of HTTP: an attempt is any future, the clock is tokio's and chance is passed in,
//! so the tests run it on a paused clock.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::budget::{Budget, Stop};
use super::error::LlmError;
use crate::net::Backoff;

/// A source of numbers between 0 and 1.
#[derive(Clone)]
pub(crate) struct Chance(Arc<dyn Fn() -> f64 + Send + Sync>);

impl Chance {
    pub(crate) fn random() -> Self {
        Self(Arc::new(fastrand::f64))
    }
}

impl fmt::Debug for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chance")
    }
}

/// How often and how patiently to try.
#[derive(Debug, Clone)]
pub(crate) struct RetryRules {
    pub(crate) max_retries: u32,
    pub(crate) backoff: Backoff,
    pub(crate) chance: Chance,
}

/// A failed attempt, and whether another one may end better.
#[derive(Debug)]
pub(crate) struct AttemptFailure {
    pub(crate) error: LlmError,
    pub(crate) again: bool,
}

impl AttemptFailure {
    pub(crate) fn last(error: LlmError) -> Self {
        let again = false;
        Self { error, again }
    }
}

/// Runs `attempt` until it succeeds, fails for good, or the retries or the time are used up. A wait that
/// would outlast the budget is not begun: the caller gets the real error now instead of a timeout later.
pub(crate) async fn with_retries<T, F>(
    rules: &RetryRules,
    budget: &Budget,
    cancelled: impl FnOnce() -> LlmError,
    mut attempt: impl FnMut() -> F,
) -> Result<T, LlmError>
where
    F: Future<Output = Result<T, AttemptFailure>>,
{
    let mut retry = 0;
    loop {
        let AttemptFailure { error, again } = match attempt().await {
            Ok(value) => return Ok(value),
            Err(failure) => failure,
        };
        let wait = rules.backoff.spread(retry, (rules.chance.0)(), error.retry_after);
        if !again || retry >= rules.max_retries || wait >= budget.remaining() {
            return Err(told_how_often(error, retry + 1));
        }
        match budget.run(tokio::time::sleep(wait)).await {
            Ok(()) => retry += 1,
            Err(Stop::Cancelled) => return Err(cancelled()),
            Err(Stop::Expired) => return Err(told_how_often(error, retry + 1)),
        }
    }
}

fn told_how_often(mut error: LlmError, attempts: u32) -> LlmError {
    if attempts > 1 {
        let sentence = error.message.trim_end_matches('.');
        error.message = format!("{sentence} (tried {attempts} times).");
    }
    error
}

#[cfg(test)]
mod tests {
    use super::super::error::LlmErrorKind;
    use super::*;
    use std::cell::Cell;
    use std::time::Duration;
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    const SECOND: Duration = Duration::from_secs(1);

    fn rules(max_retries: u32, chance: f64) -> RetryRules {
        RetryRules {
            max_retries,
            backoff: super::super::config::BACKOFF,
            chance: Chance(Arc::new(move || chance)),
        }
    }

    fn busy(retry_after: Option<Duration>) -> AttemptFailure {
        let mut error = LlmError::new(LlmErrorKind::RateLimited, "busy");
        error.retry_after = retry_after;
        AttemptFailure { error, again: true }
    }

    fn cancelled() -> LlmError {
        LlmError::new(LlmErrorKind::Cancelled, "cancelled")
    }

    /// Runs attempts that all fail so; the error, the number of attempts and the time that passed.
    async fn run(
        rules: &RetryRules,
        total: Duration,
        failure: impl Fn() -> AttemptFailure,
    ) -> (LlmError, u32, Duration) {
        let (start, count) = (Instant::now(), Cell::new(0));
        let budget = Budget::new(total, &CancellationToken::new());
        let result: Result<(), _> = with_retries(rules, &budget, cancelled, || {
            count.set(count.get() + 1);
            std::future::ready(Err(failure()))
        })
        .await;
        (result.unwrap_err(), count.get(), start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn waits_double_and_the_attempts_are_told() {
        let (error, count, passed) = run(&rules(2, 1.0), 10 * SECOND, || busy(None)).await;
        assert_eq!(error.message, "busy (tried 3 times).");
        assert_eq!((count, passed), (3, Duration::from_millis(1500)));
        let (_, _, passed) = run(&rules(2, 0.0), 10 * SECOND, || busy(None)).await;
        assert_eq!(passed, Duration::from_millis(750));
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_may_ask_for_more_patience() {
        let (_, count, passed) = run(&rules(2, 0.5), 10 * SECOND, || busy(Some(4 * SECOND))).await;
        assert_eq!((count, passed), (3, 8 * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_beyond_the_budget_is_not_begun() {
        let (error, count, passed) = run(&rules(2, 0.5), 10 * SECOND, || busy(Some(60 * SECOND))).await;
        assert_eq!(error.kind, LlmErrorKind::RateLimited);
        assert_eq!(error.message, "busy");
        assert_eq!((count, passed), (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_final_failure_is_not_tried_again() {
        let failure = || AttemptFailure::last(busy(None).error);
        let (_, count, _) = run(&rules(2, 0.5), 10 * SECOND, failure).await;
        assert_eq!(count, 1);
        let (_, count, _) = run(&rules(0, 0.5), 10 * SECOND, || busy(None)).await;
        assert_eq!(count, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_success_wins() {
        let budget = Budget::new(10 * SECOND, &CancellationToken::new());
        let count = Cell::new(0);
        let result = with_retries(&rules(2, 0.5), &budget, cancelled, || {
            count.set(count.get() + 1);
            std::future::ready(match count.get() {
                1 => Err(busy(None)),
                n => Ok(n),
            })
        })
        .await;
        assert_eq!(result, Ok(2));
    }

    #[tokio::test(start_paused = true)]
    async fn cancelling_ends_a_wait_at_once() {
        let (start, cancel) = (Instant::now(), CancellationToken::new());
        let budget = Budget::new(3600 * SECOND, &cancel);
        let rules = rules(2, 0.5);
        let waiting = with_retries(&rules, &budget, cancelled, || {
            std::future::ready(Err::<(), _>(busy(Some(600 * SECOND))))
        });
        let stop = async {
            tokio::time::sleep(SECOND).await;
            cancel.cancel();
        };
        let (result, ()) = tokio::join!(waiting, stop);
        assert_eq!(result.unwrap_err().kind, LlmErrorKind::Cancelled);
        assert_eq!(start.elapsed(), SECOND);
    }

    #[test]
    fn chance_stays_in_its_range_and_changes() {
        let chance = Chance::random();
        let drawn: Vec<f64> = (0..100).map(|_| (chance.0)()).collect();
        assert!(drawn.iter().all(|c| (0.0..1.0).contains(c)));
        assert!(drawn.iter().any(|c| *c != drawn[0]));
    }
}
