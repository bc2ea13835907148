//! How much callers may ask for at once: connections, requests of a principal, calls in a minute.
//!
//! A limit refuses at once; nothing queues here. What a principal may do does not depend on what others do.

use crate::operate::{ConnectionPermit, Connections, HeldBytes, HeldTotal, NoRoom, SMALL, descriptors, room};
use arc_swap::ArcSwap;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use toolhub_engine::served::View;
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

fn seconds<'de, D: Deserializer<'de>>(given: D) -> Result<Duration, D::Error> {
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

    /// A place for a connection; `None` if there are too many.
    pub fn connect(&self) -> Option<ConnectionPermit> {
        self.connections.enter(self.most_connections())
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

#[cfg(test)]
#[path = "limits/tests.rs"]
mod tests;
