//! Sharing one execution: a cache with a time to live, and single flight for identical concurrent calls.
//!
//! Both are requested by the caller, and only harmless tools are shared. `V` is a result as its driver holds it. Values are
//! never copied or dropped while the lock is held: both may run code of the user, which may call the hub.

use super::request::CallTarget;
use super::result_cache::ResultCache;
use super::state::CallPlan;
use crate::hub::Hub;
use crate::model::CallOptions;
use crate::registry::Candidate;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What makes two calls the same call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShareKey {
    what: Arc<str>,
    by_capability: bool,
    /// When the candidates last changed: a tool that was replaced must not answer from the cache.
    candidates: u64,
    arguments: Arc<str>,
    meta: Option<Arc<str>>,
    options: CallOptions,
    validate: bool,
    coerce: bool,
}

/// A call that may be shared, and how.
pub struct Shareable {
    pub key: ShareKey,
    pub cache_ttl: Option<Duration>,
    pub single_flight: bool,
    /// How long the candidates may take one after another: a follower does not wait longer for its leader.
    pub longest: Duration,
}

impl CallPlan {
    /// How this call may be shared; `None` if it was not requested, or a candidate may have effects.
    pub(super) fn shareable(&self, hub: &Hub) -> Option<Shareable> {
        let sharing = self.request.sharing.as_ref().filter(|_| self.is_shareable)?;
        let what = self.request.target.name().clone();
        let by_capability = matches!(self.request.target, CallTarget::Capability(_));
        let (candidates, longest) = harmless_candidates(hub, &what, by_capability, self.options.timeout)?;
        let key = ShareKey {
            candidates,
            what,
            by_capability,
            arguments: sharing.arguments.clone(),
            meta: sharing.meta.clone(),
            options: self.options.clone(),
            validate: sharing.validate,
            coerce: sharing.coerce,
        };
        let (cache_ttl, single_flight) = (sharing.cache_ttl, sharing.single_flight);
        Some(Shareable { key, cache_ttl, single_flight, longest })
    }
}

/// The version of a set of candidates that are all harmless, and how long they may take one after another.
fn harmless_candidates(
    hub: &Hub,
    what: &str,
    by_capability: bool,
    timeout: Option<Duration>,
) -> Option<(u64, Duration)> {
    let snapshot = hub.registry.load();
    let longest = |candidates: &mut dyn Iterator<Item = &Arc<Candidate>>| {
        let times = candidates.map(|one| {
            let own = timeout.or(one.spec().timeout).unwrap_or(hub.options.timeout);
            one.spec().effects.are_harmless().then(|| own.saturating_add(hub.options.grace))
        });
        times.reduce(|sum, one| Some(sum?.saturating_add(one?))).flatten()
    };
    if !by_capability {
        let entry = snapshot.get(what)?;
        return Some((entry.changed_at, longest(&mut entry.candidates.iter())?));
    }
    let tag = what.to_lowercase();
    let mut tagged = snapshot.with_tag(&tag).peekable();
    tagged.peek()?;
    Some((snapshot.version(), longest(&mut tagged)?))
}

/// The driver of a call that leads, as its followers see it.
pub trait Leader: Send + Sync {
    /// Whether the leader cannot make progress any more. May be slow, and is never called under the lock.
    fn is_gone(&self) -> bool;
}

/// A future leads until it ends or is dropped.
impl Leader for () {
    fn is_gone(&self) -> bool {
        false
    }
}

/// The flight that a call follows.
pub struct FollowedFlight {
    key: ShareKey,
    id: u64,
    leader: Arc<dyn Leader>,
}

impl FollowedFlight {
    pub fn has_lost_its_leader(&self) -> bool {
        self.leader.is_gone()
    }
}

/// What became of a look into the shared results.
pub enum Consulted<V> {
    /// From the cache.
    Hit(Arc<V>),
    /// No identical call is in flight: run it, and land the result.
    Lead(FlightLead<V>),
    /// An identical call is in flight; the notification comes when it ends.
    Follow(FollowedFlight),
}

type Waiter<V> = Box<dyn FnOnce(Option<Arc<V>>) + Send>;

struct SharedFlight<V> {
    /// A leader that was given up must not end the flight of its successor.
    id: u64,
    leader: Arc<dyn Leader>,
    waiters: Vec<Waiter<V>>,
}

struct Tables<V> {
    cache: ResultCache<ShareKey, V>,
    flights: HashMap<ShareKey, SharedFlight<V>>,
    last_flight: u64,
}

/// The results that calls of one hub share.
pub struct SharedResults<V>(Arc<Mutex<Tables<V>>>);

impl<V> Default for SharedResults<V> {
    fn default() -> Self {
        let (cache, flights) = (ResultCache::default(), HashMap::new());
        SharedResults(Arc::new(Mutex::new(Tables { cache, flights, last_flight: 0 })))
    }
}

impl<V> SharedResults<V> {
    /// Looks into the cache, then joins an identical call in flight if `single_flight`, then leads as `leader`.
    ///
    /// `notify` is called once for a follower, on any thread: with the result, or with `None` when the leader ended without
    /// one or was given up, so that the follower has to consult again.
    pub fn consult(
        &self,
        Shareable { key, cache_ttl, single_flight, .. }: &Shareable,
        now: Instant,
        leader: Arc<dyn Leader>,
        notify: impl FnOnce(Option<Arc<V>>) + Send + 'static,
    ) -> Consulted<V> {
        let mut tables = self.0.lock();
        let expired = tables.cache.take_expired(now);
        let cached = cache_ttl.and_then(|max_age| tables.cache.fresh(key, max_age, now));
        let consulted = match (cached, tables.flights.get_mut(key).filter(|_| *single_flight)) {
            (Some(value), _) => Consulted::Hit(value),
            (None, Some(flight)) => {
                flight.waiters.push(Box::new(notify));
                let (id, leader) = (flight.id, flight.leader.clone());
                Consulted::Follow(FollowedFlight { key: key.clone(), id, leader })
            }
            (None, None) => Consulted::Lead(FlightLead {
                tables: self.0.clone(),
                key: key.clone(),
                flight: single_flight.then(|| tables.open_flight(key, leader)),
                cache_ttl: *cache_ttl,
            }),
        };
        drop(tables);
        drop(expired);
        consulted
    }

    /// Gives up a flight whose leader is gone or too slow: its followers consult again, and the first of them leads.
    pub fn give_up(&self, followed: &FollowedFlight) {
        let flight = self.0.lock().take_flight(&followed.key, followed.id);
        notify_all(flight, None);
    }

    /// Visits the cached results, unless the tables are in use right now.
    pub fn try_each<E>(&self, visit: impl FnMut(&V) -> Result<(), E>) -> Result<(), E> {
        let Some(tables) = self.0.try_lock() else { return Ok(()) };
        tables.cache.values().try_for_each(visit)
    }

    /// Forgets all cached results. Calls in flight go on.
    pub fn clear(&self) {
        let forgotten = std::mem::take(&mut self.0.lock().cache);
        drop(forgotten);
    }
}

impl<V> Tables<V> {
    fn open_flight(&mut self, key: &ShareKey, leader: Arc<dyn Leader>) -> u64 {
        self.last_flight += 1;
        let flight = SharedFlight { id: self.last_flight, leader, waiters: Vec::new() };
        self.flights.insert(key.clone(), flight);
        self.last_flight
    }

    fn take_flight(&mut self, key: &ShareKey, id: u64) -> Option<SharedFlight<V>> {
        let is_it = self.flights.get(key).is_some_and(|flight| flight.id == id);
        if is_it { self.flights.remove(key) } else { None }
    }
}

fn notify_all<V>(flight: Option<SharedFlight<V>>, result: Option<&Arc<V>>) {
    let waiters = flight.into_iter().flat_map(|flight| flight.waiters);
    waiters.for_each(|notify| notify(result.cloned()));
}

/// Held by the call that runs. Dropped without a result, for instance because the caller was cancelled, it lets one of the
/// followers lead.
pub struct FlightLead<V> {
    tables: Arc<Mutex<Tables<V>>>,
    key: ShareKey,
    /// The flight that others may follow.
    flight: Option<u64>,
    cache_ttl: Option<Duration>,
}

impl<V> FlightLead<V> {
    /// Whether the result is wanted at all, so that it is worth a copy.
    pub fn is_wanted(&self, success: bool) -> bool {
        self.is_followed() || self.is_cached(success)
    }

    /// Whether the result is cached, so that its size has to be known.
    pub fn is_cached(&self, success: bool) -> bool {
        success && self.cache_ttl.is_some()
    }

    fn is_followed(&self) -> bool {
        let tables = self.tables.lock();
        let flight = tables.flights.get(&self.key);
        flight.is_some_and(|flight| Some(flight.id) == self.flight && !flight.waiters.is_empty())
    }

    /// Hands the result to the followers; a success is cached too, as one of `bytes`.
    pub fn land(mut self, value: V, bytes: usize, success: bool, now: Instant) {
        let value = Arc::new(value);
        let mut tables = self.tables.lock();
        let gone = match self.cache_ttl.filter(|_| success) {
            Some(ttl) => tables.cache.put(&self.key, ttl, now, value.clone(), bytes),
            None => Vec::new(),
        };
        let flight = self.flight.take().and_then(|id| tables.take_flight(&self.key, id));
        drop(tables);
        drop(gone);
        notify_all(flight, Some(&value));
    }
}

impl<V> Drop for FlightLead<V> {
    fn drop(&mut self) {
        let flight = self.flight.and_then(|id| self.tables.lock().take_flight(&self.key, id));
        notify_all(flight, None);
    }
}
