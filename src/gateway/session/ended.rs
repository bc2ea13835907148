//! Sessions that `DELETE` ended before they expired.
//!
//! The memory is bounded, and callers do not push each other out: when it is full, the principal with the most ended
//! sessions makes room, with those of its own that expire first.

use std::collections::{BTreeMap, BTreeSet};

/// At most about 4 MB.
pub(super) const MOST_ENDED: usize = 50_000;

/// The first half of a signature.
pub(super) type SessionMark = [u8; 16];

#[derive(Default)]
pub(super) struct EndedSessions {
    /// By the id of their principal; each by the second in which it expires.
    of_principals: BTreeMap<Box<str>, BTreeSet<(u64, SessionMark)>>,
    count: usize,
}

impl EndedSessions {
    pub(super) fn contains(&self, principal: &str, expires: u64, mark: SessionMark) -> bool {
        self.of_principals.get(principal).is_some_and(|ended| ended.contains(&(expires, mark)))
    }

    pub(super) fn add(&mut self, principal: &str, expires: u64, mark: SessionMark, now: u64) {
        if self.count >= MOST_ENDED {
            self.make_room(now);
        }
        let ended = self.of_principals.entry(Box::from(principal)).or_default();
        let before = ended.len();
        *ended = ended.split_off(&(now, SessionMark::default()));
        ended.insert((expires, mark));
        self.count = self.count + ended.len() - before;
    }

    fn make_room(&mut self, now: u64) {
        self.of_principals.retain(|_, ended| {
            *ended = ended.split_off(&(now, SessionMark::default()));
            !ended.is_empty()
        });
        self.count = self.of_principals.values().map(BTreeSet::len).sum();
        while self.count >= MOST_ENDED {
            let Some(most) = self.of_principals.values_mut().max_by_key(|ended| ended.len()) else { return };
            most.pop_first();
            self.count -= 1;
        }
        self.of_principals.retain(|_, ended| !ended.is_empty());
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(number: u64) -> SessionMark {
        u128::from(number).to_be_bytes()
    }

    #[test]
    fn a_caller_who_ends_many_sessions_pushes_out_their_own() {
        let mut ended = EndedSessions::default();
        ended.add("ann", 5, mark(0), 0);
        for number in 0..2 * MOST_ENDED as u64 {
            ended.add("bob", 10 + number, mark(number), 0);
        }
        assert_eq!(ended.len(), MOST_ENDED);
        assert!(ended.contains("ann", 5, mark(0)));
        assert!(!ended.contains("bob", 10, mark(0)), "those that expire first go first");
        let last = 2 * MOST_ENDED as u64 - 1;
        assert!(ended.contains("bob", 10 + last, mark(last)));
    }

    #[test]
    fn sessions_that_have_expired_are_forgotten() {
        let mut ended = EndedSessions::default();
        for number in 0..MOST_ENDED as u64 {
            ended.add(&number.to_string(), number, mark(number), 0);
        }
        ended.add("late", u64::MAX, mark(7), MOST_ENDED as u64 - 10);
        assert_eq!(ended.len(), 11);
        assert!(ended.contains("late", u64::MAX, mark(7)));
    }
}
