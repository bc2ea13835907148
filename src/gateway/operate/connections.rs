//! The connections of a gateway. There is room for as many as the process has descriptors for, less those that its servers need.
//!
//! A connection on which no request was admitted yet belongs to a stranger. When there is no room, the oldest stranger who has
//! nothing to be answered is closed; callers are not.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use toolhub_types::sync::atomic::{AtomicBool, Ordering};
use toolhub_types::sync::{Arc, Mutex};

/// Of strangers who are closed, and of connections that are turned away, one line a minute is logged.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

#[derive(Default)]
struct ConnectionTable {
    count: usize,
    next: u64,
    /// The idle connections of strangers, oldest first.
    strangers: BTreeMap<u64, CancellationToken>,
    logged_at: Option<Instant>,
}

#[derive(Clone, Default)]
pub struct Connections(Arc<Mutex<ConnectionTable>>);

impl Connections {
    /// A place for a connection; `None` if there are `most`, and none of them can be closed.
    pub fn enter(&self, most: usize) -> Option<ConnectionPermit> {
        if self.count() >= most && !self.close_stranger() {
            return None;
        }
        let closed = CancellationToken::new();
        let mut table = self.0.lock();
        table.count += 1;
        table.next += 1;
        let number = table.next;
        table.strangers.insert(number, closed.clone());
        drop(table);
        Some(ConnectionPermit { all: self.clone(), number, closed, is_known: AtomicBool::new(false) })
    }

    /// Closes the oldest idle connection of a stranger; false if there is none.
    pub fn close_stranger(&self) -> bool {
        let oldest = self.0.lock().strangers.pop_first();
        oldest.map(|(_, closed)| closed.cancel()).is_some()
    }

    pub fn count(&self) -> usize {
        self.0.lock().count
    }

    /// Whether a line about missing room is due.
    pub fn is_line_due(&self, now: Instant) -> bool {
        let mut table = self.0.lock();
        let is_due = table.logged_at.is_none_or(|at| now.saturating_duration_since(at) >= BETWEEN_LINES);
        if is_due {
            table.logged_at = Some(now);
        }
        is_due
    }
}

/// Dropping it makes room for another connection.
pub struct ConnectionPermit {
    all: Connections,
    number: u64,
    /// Fires when the connection has to make room.
    pub closed: CancellationToken,
    is_known: AtomicBool,
}

impl ConnectionPermit {
    /// A request is looked at until the guard is dropped: the connection is not idle.
    pub fn look(&self) -> LookedAt<'_> {
        if !self.is_known.load(Ordering::Relaxed) {
            self.all.0.lock().strangers.remove(&self.number);
        }
        LookedAt(self)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut table = self.all.0.lock();
        table.count -= 1;
        table.strangers.remove(&self.number);
    }
}

pub struct LookedAt<'a>(&'a ConnectionPermit);

impl LookedAt<'_> {
    /// The request was admitted: the caller is not a stranger any more.
    pub fn is_caller(&self) {
        self.0.is_known.store(true, Ordering::Relaxed);
    }
}

impl Drop for LookedAt<'_> {
    fn drop(&mut self) {
        let place = self.0;
        if !place.is_known.load(Ordering::Relaxed) {
            place.all.0.lock().strangers.insert(place.number, place.closed.clone());
        }
    }
}

/// The descriptors that this process may have; `None` if it has no such limit.
pub fn descriptors() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for writes.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
    (is_known && limit.rlim_cur != libc::RLIM_INFINITY)
        .then(|| usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX))
}

/// The connections for which there are descriptors. A quarter of all, at least 64 and at most a half, is kept for servers, files
/// and the rest of the process.
pub fn room(descriptors: Option<usize>) -> usize {
    descriptors.map_or(usize::MAX, |all| all - (all / 4).max(64).min(all / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_descriptors_are_kept() {
        let rooms = [0, 1, 100, 128, 1_024, 65_536].map(|all| room(Some(all)));
        assert_eq!(rooms, [0, 1, 50, 64, 768, 49_152]);
        assert_eq!(room(None), usize::MAX);
    }

    #[test]
    fn the_oldest_idle_stranger_makes_room_and_callers_stay() {
        let all = Connections::default();
        let (caller, asking, idle, later) =
            (all.enter(4).unwrap(), all.enter(4).unwrap(), all.enter(4).unwrap(), all.enter(4).unwrap());
        caller.look().is_caller();
        let looked = asking.look();
        let fifth = all.enter(4).unwrap();
        assert!(idle.closed.is_cancelled() && !later.closed.is_cancelled());
        drop(idle);
        // Refused: a stranger as before, and an older one.
        drop(looked);
        let sixth = all.enter(4).unwrap();
        assert!(asking.closed.is_cancelled() && !later.closed.is_cancelled());
        for place in [&caller, &later, &fifth, &sixth] {
            place.look().is_caller();
        }
        assert!(all.enter(4).is_none());
        assert_eq!(all.count(), 5);
        drop((caller, asking, later, fifth, sixth));
        assert_eq!((all.count(), all.0.lock().strangers.len()), (0, 0));
    }

    #[test]
    fn a_line_is_due_once_a_minute() {
        let (all, now) = (Connections::default(), Instant::now());
        assert!(all.is_line_due(now) && !all.is_line_due(now + BETWEEN_LINES / 2));
        assert!(all.is_line_due(now + BETWEEN_LINES));
    }
}
