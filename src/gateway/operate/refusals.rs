//! Counts refused requests, so that a client that tries again and again cannot fill the audit log.

use super::audit_line::{AuditEvent, AuditRecord};
use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};
use toolhub_types::sync::{Arc, Mutex};

/// One line for each status and principal in this time.
const BETWEEN_LINES: Duration = Duration::from_secs(1);
/// The principals that are counted apart; others are counted together.
const MOST_KEYS: usize = 1_000;

/// The status of the answer, and the id of the principal.
type RefusalKey = (u16, Arc<str>);

struct RefusalCount {
    written_at: Instant,
    /// Since the last line.
    count: u64,
}

#[derive(Default)]
pub struct RefusalCounts(Mutex<HashMap<RefusalKey, RefusalCount>>);

/// Refusals that are due for a line.
#[derive(Debug, PartialEq, Eq)]
pub struct CountedRefusals {
    status: u16,
    principal: Arc<str>,
    count: u64,
}

impl CountedRefusals {
    pub fn record(&self) -> AuditRecord<'_> {
        let event = AuditEvent::Refusal { status: self.status, count: self.count };
        AuditRecord::new(SystemTime::now(), &self.principal, event, reason(self.status))
    }
}

/// The kind of error that stands for a status.
fn reason(status: u16) -> &'static str {
    match status {
        401 => "auth",
        403 => "not_allowed",
        404 => "not_found",
        408 => "timeout",
        413 | 431 => "limit",
        429 => "overloaded",
        503 => "closed",
        _ => "protocol",
    }
}

impl RefusalCounts {
    /// Counts one; returns what is due for a line now.
    pub fn count(&self, status: u16, principal: &str, now: Instant) -> Option<CountedRefusals> {
        let mut counts = self.0.lock();
        let mut key = (status, Arc::from(principal));
        if !counts.contains_key(&key) && counts.len() >= MOST_KEYS {
            // Those without tries to report are forgotten first.
            counts.retain(|_, one| one.count > 0 || now - one.written_at < BETWEEN_LINES);
            if counts.len() >= MOST_KEYS {
                key.1 = Arc::from("");
            }
        }
        let Some(one) = counts.get_mut(&key) else {
            counts.insert(key.clone(), RefusalCount { written_at: now, count: 0 });
            return Some(CountedRefusals { status, principal: key.1, count: 1 });
        };
        one.count += 1;
        if now.saturating_duration_since(one.written_at) < BETWEEN_LINES {
            return None;
        }
        one.written_at = now;
        Some(CountedRefusals { status, principal: key.1, count: std::mem::take(&mut one.count) })
    }

    /// Takes all that was counted and not written yet.
    pub fn take(&self) -> Vec<CountedRefusals> {
        let counts = std::mem::take(&mut *self.0.lock());
        let left = counts.into_iter().filter(|(_, one)| one.count > 0);
        left.map(|((status, principal), one)| CountedRefusals { status, principal, count: one.count })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_in_a_second_share_a_line() {
        let (counts, begun) = (RefusalCounts::default(), Instant::now());
        let after = |ms: u64| begun + Duration::from_millis(ms);
        let counted = |count| CountedRefusals { status: 401, principal: Arc::from(""), count };
        assert_eq!(counts.count(401, "", begun), Some(counted(1)));
        for ms in 1..500 {
            assert_eq!(counts.count(401, "", after(ms)), None);
        }
        assert!(counts.count(429, "token:ann", after(500)).is_some(), "another status has lines of its own");
        assert_eq!(counts.count(401, "", after(1_000)), Some(counted(500)));
        assert_eq!(counts.count(401, "", after(1_001)), None);
        assert_eq!(counts.take(), [counted(1)]);
        assert_eq!(counts.take(), []);
    }

    #[test]
    fn principals_are_bounded_and_none_is_lost() {
        let (counts, now) = (RefusalCounts::default(), Instant::now());
        let mut all = 0;
        for round in 0..2 {
            for number in 0..MOST_KEYS + 50 {
                let counted = counts.count(429, &format!("jwt:{number}"), now);
                all += counted.map_or(0, |counted| counted.count);
                assert!(counts.0.lock().len() <= MOST_KEYS + 1, "round {round}");
            }
        }
        all += counts.take().iter().map(|counted| counted.count).sum::<u64>();
        assert_eq!(all, 2 * (MOST_KEYS as u64 + 50));
    }
}
