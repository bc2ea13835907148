//! A server over HTTP that was there and takes no connections any more: most likely it is being restarted.
//!
//! Calls that were under way wait for it, as long as their deadline and `LONGEST` allow. A call that begins later fails by
//! the usual rule, so that a server that stays away does not hold up every call.

use parking_lot::Mutex;
use std::time::{Duration, Instant};

const LONGEST: Duration = Duration::from_secs(30);
/// A call that began this long after the first refused connection was still under way: it had not been refused itself.
const UNDER_WAY: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub struct Outage(Mutex<Reachability>);

#[derive(Clone, Copy, Debug, Default)]
enum Reachability {
    /// It has not answered a call yet: a wrong address looks the same.
    #[default]
    Unknown,
    Answers,
    RefusesSince(Instant),
}

impl Outage {
    /// The server has answered a call.
    pub fn end(&self) {
        *self.0.lock() = Reachability::Answers;
    }

    /// A call was refused now. True if the server has answered until then: the outage begins.
    pub fn begins(&self, now: Instant) -> bool {
        let mut reachability = self.0.lock();
        let begins = matches!(*reachability, Reachability::Answers);
        if begins {
            *reachability = Reachability::RefusesSince(now);
        }
        begins
    }

    /// Whether a call that began then and was refused now waits for the server.
    pub fn awaits(&self, begun: Instant, now: Instant) -> bool {
        match *self.0.lock() {
            Reachability::RefusesSince(since) => begun <= since + UNDER_WAY && now < since + LONGEST,
            Reachability::Unknown | Reachability::Answers => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_that_were_under_way_wait_and_not_without_end() {
        let now = Instant::now();
        let after = |millis| now + Duration::from_millis(millis);
        let outage = Outage::default();
        assert!(!outage.begins(now) && !outage.awaits(now, now), "it was never there");
        outage.end();
        assert!(outage.begins(after(5)) && outage.awaits(now, after(5)));
        assert!(!outage.begins(after(6)), "it is the same outage");
        assert!(outage.awaits(after(900), after(9_000)));
        assert!(!outage.awaits(after(5_500), after(5_600)), "it began during the outage");
        assert!(!outage.awaits(now, after(30_006)), "it stays away");
        outage.end();
        assert!(outage.begins(after(31_001)) && outage.awaits(after(31_000), after(31_001)));
    }
}
