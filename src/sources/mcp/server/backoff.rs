//! When to try again: pauses that grow, differ from each other, and are limited in sum.
//!
//! An outage is that of a server over HTTP that was there and takes no connections any more: most likely it is being restarted.
//! Calls that were under way wait for it, as long as their deadline and `LONGEST_OUTAGE` allow. A call that begins later fails by
//! the usual rule, so that a server that stays away does not hold up every call.

use std::time::{Duration, Instant};
use toolhub_protocol::net::Backoff;
use toolhub_types::error::{ErrorKind, HubError};

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(30);

/// The pause before try number `count` (from 1).
pub fn pause(count: u32) -> Duration {
    Backoff::new(FIRST, LONGEST).spread(count.saturating_sub(1), fastrand::f64(), None)
}

/// The pause that the server has asked for.
pub fn asked_pause(error: &HubError) -> Option<Duration> {
    error.retry_after.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// Whether the same request may succeed a moment later.
pub fn is_transient(error: &HubError) -> bool {
    match error.kind {
        ErrorKind::Closed | ErrorKind::Connect => true,
        ErrorKind::Http => matches!(error.status, Some(429 | 502 | 503)),
        _ => false,
    }
}

/// How long to wait before the next attempt to connect, from the failures so far.
#[derive(Debug, Default)]
pub struct ReconnectBackoff {
    /// Failures since the last answer to a call: attempts that failed, and connections that did not live long.
    pub failures: u32,
    until: Option<Instant>,
    /// Until when attempts wait that no caller waits for.
    list_until: Option<Instant>,
}

/// A connection that lived this long clears all failures.
const GOOD_LIFE: Duration = Duration::from_secs(10);

impl ReconnectBackoff {
    pub fn failed(&mut self, now: Instant) {
        self.failures += 1;
        // The first failure may be chance: the next caller tries at once.
        self.until = (self.failures > 1).then(|| now + pause(self.failures - 1));
        self.list_until = Some(now + pause(self.failures));
    }

    pub fn lost(&mut self, lived: Duration, now: Instant) {
        match lived >= GOOD_LIFE {
            true => *self = ReconnectBackoff::default(),
            false => self.failed(now),
        }
    }

    /// How long attempts have to wait.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        left(self.until, now)
    }

    /// How long attempts have to wait that no caller waits for: after the first failure too.
    pub fn wait_for_list(&self, now: Instant) -> Option<Duration> {
        left(self.until.max(self.list_until), now)
    }
}

fn left(until: Option<Instant>, now: Instant) -> Option<Duration> {
    until.and_then(|until| until.checked_duration_since(now)).filter(|wait| !wait.is_zero())
}

/// Retries may be a tenth of all calls, however many fail: they must not add much load to a server in trouble.
#[derive(Debug, Default)]
pub struct RetryBudget {
    spent: f64,
}

const FULL: f64 = 10.0;
const EARNED_BY_A_CALL: f64 = 0.1;

impl RetryBudget {
    pub fn called(&mut self) {
        self.spent = (self.spent - EARNED_BY_A_CALL).max(0.0);
    }

    /// Takes one retry, if one is left.
    pub fn spend(&mut self) -> bool {
        let enough = self.spent <= FULL - 1.0;
        self.spent += f64::from(u8::from(enough));
        enough
    }
}

/// At most this many starts of a server for its list alone within this time, when no call waits for it.
pub const MOST_LIST_STARTS: usize = 3;
pub const LIST_STARTS_WITHIN: Duration = Duration::from_secs(10);

/// The starts of the last seconds, oldest first.
#[derive(Debug, Default)]
pub struct ListStarts(Vec<Instant>);

impl ListStarts {
    /// How long an attempt has to wait that may start so many processes.
    pub fn wait(&self, starts: usize, now: Instant) -> Option<Duration> {
        let recent: Vec<Instant> =
            self.0.iter().map(|at| *at + LIST_STARTS_WITHIN).filter(|at| *at > now).collect();
        let last_of_excess = (recent.len() + starts).checked_sub(MOST_LIST_STARTS + 1)?;
        recent.get(last_of_excess).map(|over| *over - now)
    }

    pub fn record(&mut self, starts: usize, now: Instant) {
        self.0.retain(|at| *at + LIST_STARTS_WITHIN > now);
        self.0.extend(std::iter::repeat_n(now, starts));
    }
}

const LONGEST_OUTAGE: Duration = Duration::from_secs(30);
/// A call that began this long after the first refused connection was still under way: it had not been refused itself.
const UNDER_WAY: Duration = Duration::from_secs(5);

/// Whether a server can be reached, as its calls have seen it.
#[derive(Debug, Default)]
pub enum Outage {
    /// It has not answered a call yet: a wrong address looks the same.
    #[default]
    Unknown,
    Answers,
    RefusesSince(Instant),
}

impl Outage {
    /// A call was refused now. True if the server has answered until then: the outage begins.
    pub fn begins(&mut self, now: Instant) -> bool {
        let begins = matches!(self, Outage::Answers);
        if begins {
            *self = Outage::RefusesSince(now);
        }
        begins
    }

    /// Whether a call that began then and was refused now waits for the server.
    pub fn awaits(&self, begun: Instant, now: Instant) -> bool {
        match self {
            Outage::RefusesSince(since) => begun <= *since + UNDER_WAY && now < *since + LONGEST_OUTAGE,
            Outage::Unknown | Outage::Answers => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_does_not_wait_and_later_ones_wait_longer() {
        let now = Instant::now();
        let mut backoff = ReconnectBackoff::default();
        backoff.failed(now);
        assert_eq!(backoff.wait(now), None);
        backoff.failed(now);
        let first = backoff.wait(now).unwrap_or_default();
        assert!(first >= FIRST / 2 && first <= FIRST, "{first:?}");
        (0..20).for_each(|_| backoff.failed(now));
        assert!(backoff.wait(now).unwrap_or_default() >= LONGEST / 2);
        assert_eq!(backoff.wait(now + LONGEST), None);
    }

    #[test]
    fn a_long_life_makes_good_for_everything() {
        let now = Instant::now();
        let mut backoff = ReconnectBackoff::default();
        (0..5).for_each(|_| backoff.failed(now));
        backoff.lost(GOOD_LIFE, now);
        assert_eq!((backoff.failures, backoff.wait(now)), (0, None));
        backoff.lost(Duration::from_secs(1), now);
        assert_eq!(backoff.failures, 1);
    }

    #[test]
    fn retries_are_a_tenth_of_the_calls_in_the_long_run() {
        let mut budget = RetryBudget::default();
        let spent = (0..1000)
            .filter(|_| {
                budget.called();
                budget.spend()
            })
            .count();
        assert!((100..=111).contains(&spent), "{spent}");
    }

    #[test]
    fn only_calls_that_were_under_way_wait_and_not_without_end() {
        let now = Instant::now();
        let after = |millis| now + Duration::from_millis(millis);
        let mut outage = Outage::default();
        assert!(!outage.begins(now) && !outage.awaits(now, now), "it was never there");
        outage = Outage::Answers;
        assert!(outage.begins(after(5)) && outage.awaits(now, after(5)));
        assert!(!outage.begins(after(6)), "it is the same outage");
        assert!(outage.awaits(after(900), after(9_000)));
        assert!(!outage.awaits(after(5_500), after(5_600)), "it began during the outage");
        assert!(!outage.awaits(now, after(30_006)), "it stays away");
        outage = Outage::Answers;
        assert!(outage.begins(after(31_001)) && outage.awaits(after(31_000), after(31_001)));
    }
}
