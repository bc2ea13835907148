//! How much callers may ask for at once: connections, requests of a principal, calls in a minute.
//!
//! There is room for as many connections as the process has descriptors for, less those that its servers need. A connection on
//! which no request was admitted yet belongs to a stranger. When there is no room, the oldest stranger who has nothing to be
//! answered is closed; callers are not.
//!
//! A limit refuses at once; nothing queues here. What a principal may do does not depend on what others do.

use crate::operate::{HeldBytes, HeldTotal, NoRoom, SMALL};
use arc_swap::ArcSwap;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use toolhub_engine::served::View;
use toolhub_types::sync::atomic::{AtomicBool, Ordering};
use toolhub_types::sync::{Arc, Mutex};

const MINUTE: Duration = Duration::from_secs(60);
/// The seconds that a client is told to wait when too many of its requests are running.
pub const SHORT_PAUSE: u64 = 1;
/// Budgets that are full again are forgotten when there are more than this.
const MOST_BUDGETS: usize = 10_000;

/// The limits of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GatewayLimits {
    /// Bytes of bodies and of answers that are not read yet, of all callers: 503. A caller may have half of them: 429.
    pub max_buffered: usize,
    /// The longest head of a request, in bytes: 431.
    pub max_headers: usize,
    /// Connections at once, if the process has the descriptors for them; others get 503.
    pub max_connections: usize,
    /// Requests of one principal at once: 429.
    pub max_in_flight: usize,
    /// Long-lived streams of one principal at once: 429.
    pub max_streams: usize,
    /// How long a client may take to send the head of a request.
    #[serde(rename = "header_timeout", deserialize_with = "seconds")]
    pub head_timeout: Duration,
    /// How long a client may take to send the body of a request: 408.
    #[serde(deserialize_with = "seconds")]
    pub body_timeout: Duration,
    /// How long a client may take to read a part of an answer; then its connection is closed.
    #[serde(deserialize_with = "seconds")]
    pub write_timeout: Duration,
}

pub fn seconds<'de, D: Deserializer<'de>>(given: D) -> Result<Duration, D::Error> {
    // 30 years is without a limit, and safe to add to any clock.
    Duration::try_from_secs_f64(f64::deserialize(given)?.min(1e9)).map_err(D::Error::custom)
}

impl Default for GatewayLimits {
    fn default() -> Self {
        GatewayLimits {
            max_buffered: 256 * 1024 * 1024,
            max_headers: 64 * 1024,
            max_connections: 10_000,
            max_in_flight: 1_000,
            max_streams: 5_000,
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(60),
        }
    }
}

/// The request is refused with 429; the client may come back after this time, in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    pub seconds: u64,
}

/// What a principal has running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PermitKind {
    Request,
    Stream,
}

/// The calls that a principal may still make in a view: refilled evenly.
struct CallBudget {
    left: f64,
    counted_at: Instant,
}

/// The id of a principal, and the name of a view.
type BudgetKey = (Arc<str>, Arc<str>);

type RunningCounts = Mutex<HashMap<(Arc<str>, PermitKind), usize>>;

/// Counts what is running, and refuses what exceeds a limit.
pub struct Admission {
    limits: ArcSwap<GatewayLimits>,
    running: Arc<RunningCounts>,
    budgets: Mutex<HashMap<BudgetKey, CallBudget>>,
    pub connections: Connections,
    pub held: HeldTotal,
}

impl Admission {
    /// `give_back` gives memory that is free to the system.
    pub fn new(limits: GatewayLimits, give_back: fn()) -> Self {
        Admission {
            limits: ArcSwap::from_pointee(limits),
            running: Arc::default(),
            budgets: Mutex::default(),
            connections: Connections::default(),
            held: HeldTotal::new(give_back),
        }
    }

    pub fn limits(&self) -> GatewayLimits {
        **self.limits.load()
    }

    /// Counts with these limits from now on; what runs stays, also when it is more.
    pub fn set_limits(&self, limits: GatewayLimits) {
        self.limits.store(Arc::new(limits));
    }

    /// The limit, or what the descriptors of the process leave room for.
    pub fn most_connections(&self) -> usize {
        self.limits().max_connections.min(room(descriptors()))
    }

    /// Holds an answer; small ones need no place. One for which there is no room is dropped.
    pub fn hold(&self, principal: &Arc<str>, bytes: usize) -> Result<Option<HeldBytes>, NoRoom> {
        if bytes <= SMALL {
            return Ok(None);
        }
        let mut held = self.held.of(principal);
        match held.grow(bytes, self.limits().max_buffered) {
            Ok(()) => Ok(Some(held)),
            Err(no_room) => {
                self.held.let_go(bytes);
                Err(no_room)
            }
        }
    }

    /// Whether so much is held that no other request of this principal may begin.
    pub fn is_full(&self, principal: &str) -> Option<NoRoom> {
        self.held.is_full(principal, self.limits().max_buffered)
    }

    /// A place for a request or a stream of a principal.
    pub fn enter(&self, principal: &Arc<str>, what: PermitKind) -> Result<AdmissionPermit, TooMany> {
        let most = match what {
            PermitKind::Request => self.limits().max_in_flight,
            PermitKind::Stream => self.limits().max_streams,
        };
        let mut running = self.running.lock();
        let count = running.entry((principal.clone(), what)).or_default();
        if *count >= most {
            return Err(TooMany { seconds: SHORT_PAUSE });
        }
        *count += 1;
        Ok(AdmissionPermit { running: self.running.clone(), key: (principal.clone(), what) })
    }

    /// Requests and streams that are running.
    pub fn running(&self) -> (usize, usize) {
        let running = self.running.lock();
        let of = |kind| running.iter().filter(|((_, what), _)| *what == kind).map(|(_, count)| count).sum();
        (of(PermitKind::Request), of(PermitKind::Stream))
    }

    /// Takes one call from the budget of a principal in a view.
    pub fn spend(&self, principal: &Arc<str>, view: &View, now: Instant) -> Result<(), TooMany> {
        let Some(limit) = view.calls_per_minute else { return Ok(()) };
        let limit = f64::from(limit.max(1));
        let mut budgets = self.budgets.lock();
        if budgets.len() >= MOST_BUDGETS {
            budgets.retain(|_, budget| now.saturating_duration_since(budget.counted_at) < MINUTE);
        }
        let key = (principal.clone(), view.name.clone());
        let budget = budgets.entry(key).or_insert(CallBudget { left: limit, counted_at: now });
        let gained =
            now.saturating_duration_since(budget.counted_at).as_secs_f64() * limit / MINUTE.as_secs_f64();
        budget.left = (budget.left + gained).min(limit);
        budget.counted_at = now;
        if budget.left < 1.0 {
            let wait = (1.0 - budget.left) * MINUTE.as_secs_f64() / limit;
            return Err(TooMany { seconds: (wait.ceil() as u64).max(1) });
        }
        budget.left -= 1.0;
        Ok(())
    }
}

/// Dropping it makes room for another request or stream of the principal.
pub struct AdmissionPermit {
    running: Arc<RunningCounts>,
    key: (Arc<str>, PermitKind),
}

impl Drop for AdmissionPermit {
    fn drop(&mut self) {
        let mut running = self.running.lock();
        if let Some(count) = running.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.key);
            }
        }
    }
}

/// Of strangers who are closed, and of connections that are turned away, one line a minute is logged.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

#[derive(Default)]
struct ConnectionTable {
    count: usize,
    /// Those among them that were told to make room.
    closing: usize,
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
        let mut table = self.0.lock();
        let Some((_, closed)) = table.strangers.pop_first() else { return false };
        table.closing += usize::from(!closed.is_cancelled());
        closed.cancel();
        true
    }

    pub fn closing(&self) -> usize {
        self.0.lock().closing
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
        table.closing -= usize::from(self.closed.is_cancelled());
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
#[path = "limits/tests.rs"]
mod tests;

#[cfg(test)]
mod connections_tests {
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
