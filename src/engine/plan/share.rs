//! Sharing one execution: a cache with a time to live, and single flight for identical concurrent calls.
//!
//! Both are requested by the caller, and only harmless tools are shared. `V` is a result as its driver holds it. Values are
//! never copied or dropped while the lock is held: both may run code of the user, which may call the hub.
//!
//! While a tape is in, nothing is shared: each call has its own recording.

use super::drive::now;
use super::request::TimeAllowed;
use super::result_cache::ResultCache;
use super::state::CallPlan;
use super::view::PlanView;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolhub_registry::Candidate;
use toolhub_registry::identity::CallTarget;
use toolhub_types::model::{CallOptions, FOREVER};

/// Which calls share a result: those that are the same call, and whose result is made in the same way. How long they may take
/// is not part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShareKey {
    /// The digest of key and definition.
    identity: Arc<str>,
    /// When the candidates last changed: a function that was replaced by another one of the same definition must not answer
    /// from the cache.
    candidates: u64,
    /// Strategy, preference, permissions and the like.
    options: CallOptions,
    validate: bool,
    coerce: bool,
}

/// How a shared run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    Success,
    Failure,
    /// A failure for want of time; a call that has more time may succeed.
    TimedOut,
}

/// A call that may be shared, and how.
pub struct Shareable {
    pub key: ShareKey,
    pub cache_ttl: Option<Duration>,
    pub single_flight: bool,
    pub time: TimeAllowed,
}

impl CallPlan {
    /// How this call may be shared; `None` if it was not requested, or a candidate may have effects.
    pub(super) fn shareable(&self, view: &PlanView<'_>, planned: &[Arc<Candidate>]) -> Option<Shareable> {
        let sharing = self.request.sharing.as_ref().filter(|_| self.is_shareable)?;
        let what = self.request.target.name().clone();
        let by_capability = matches!(self.request.target, CallTarget::Capability(_));
        let (candidates, time) = harmless_candidates(view, &what, by_capability, &self.options)?;
        // Arguments that are not JSON cannot be compared.
        let identity = self.identity(view.hub, planned)?.ok()?;
        let key = ShareKey {
            identity: identity.digest(),
            candidates,
            options: CallOptions { timeout: None, deadline: None, ..self.options.clone() },
            validate: sharing.validate,
            coerce: sharing.coerce,
        };
        let (cache_ttl, single_flight) = (sharing.cache_ttl, sharing.single_flight);
        Some(Shareable { key, cache_ttl, single_flight, time })
    }
}

/// The version of a set of candidates that are all harmless, and how long they may take one after another.
fn harmless_candidates(
    PlanView { hub, snapshot, .. }: &PlanView<'_>,
    what: &str,
    by_capability: bool,
    options: &CallOptions,
) -> Option<(u64, TimeAllowed)> {
    let time = |candidates: &mut dyn Iterator<Item = &Arc<Candidate>>| {
        let none = Duration::ZERO;
        let mut time = TimeAllowed { timeouts: none, longest: none, deadline: options.deadline };
        for one in candidates {
            if !one.spec().effects.are_harmless() {
                return None;
            }
            let own = options.timeout.or(one.spec().timeout).unwrap_or(hub.options.timeout);
            time.timeouts = time.timeouts.saturating_add(own);
            time.longest = time.longest.saturating_add(own.saturating_add(hub.options.grace));
        }
        Some(time)
    };
    if !by_capability {
        let entry = snapshot.find(what)?;
        return Some((entry.changed_at, time(&mut entry.candidates.iter())?));
    }
    let tag = what.to_lowercase();
    let mut tagged = snapshot.with_tag(&tag).peekable();
    tagged.peek()?;
    Some((snapshot.version(), time(&mut tagged)?))
}

/// Whether the driver of a call that leads cannot make progress any more. May be slow, and is never called under the lock.
pub type IsGone = Arc<dyn Fn() -> bool + Send + Sync>;

/// The leader of a flight, as one of its followers sees it now.
pub struct FollowedLeader {
    pub id: u64,
    pub is_gone: IsGone,
    /// When it has taken longer than its candidates may.
    pub overdue_at: Instant,
}

/// A call that may lead, now or later.
struct Follower {
    time: TimeAllowed,
    is_gone: IsGone,
    cache_ttl: Option<Duration>,
}

/// What became of a look into the shared results.
pub enum Consulted<V> {
    /// From the cache.
    Hit(Arc<V>),
    /// No identical call is in flight: run it, and land the result.
    Lead(Box<FlightLead<V>>),
    /// An identical call is in flight; [`Landing`] comes when it ends.
    Follow,
}

/// How it ends for a follower.
pub enum Landing<V> {
    Result(Arc<V>),
    /// The leader ended without a result for this call, or was given up: now it leads those that follow.
    Lead(Box<FlightLead<V>>),
}

/// Gives a landing back that nobody waits for any more.
type Notify<V> = Box<dyn FnOnce(Landing<V>) -> Result<(), Landing<V>> + Send>;

struct SharedFlight<V> {
    /// Of its leader: one that was given up must not end the flight of its successor.
    id: u64,
    is_gone: IsGone,
    overdue_at: Instant,
    waiters: VecDeque<(Follower, Notify<V>)>,
}

/// A result that came within a short time may be less than what a longer time would give, so the cache keeps them apart.
type CacheKey = (ShareKey, TimeAllowed);

struct Tables<V> {
    cache: ResultCache<CacheKey, V>,
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
    /// Looks into the cache, then joins an identical call in flight if `single_flight`, then leads.
    ///
    /// `notify` is called once for a follower, on any thread. It gives back what nobody waits for.
    pub fn consult(
        &self,
        shareable: &Shareable,
        now: Instant,
        is_gone: IsGone,
        notify: impl FnOnce(Landing<V>) -> Result<(), Landing<V>> + Send + 'static,
    ) -> Consulted<V> {
        let Shareable { key, cache_ttl, single_flight, time } = shareable;
        let follower = Follower { time: *time, is_gone, cache_ttl: *cache_ttl };
        let mut tables = self.0.lock();
        let expired = tables.cache.take_expired(now);
        let cached = cache_ttl.and_then(|max_age| tables.cache.fresh(&(key.clone(), *time), max_age, now));
        let consulted = match (cached, tables.flights.get_mut(key).filter(|_| *single_flight)) {
            (Some(value), _) => Consulted::Hit(value),
            (None, Some(flight)) => {
                flight.waiters.push_back((follower, Box::new(notify)));
                Consulted::Follow
            }
            (None, None) => {
                let flight = single_flight.then(|| tables.fly(key, &follower, VecDeque::new(), now));
                Consulted::Lead(FlightLead::new(&self.0, key, flight, &follower))
            }
        };
        drop(tables);
        drop(expired);
        consulted
    }

    /// Who leads the calls of this key at present.
    pub fn leader(&self, key: &ShareKey) -> Option<FollowedLeader> {
        let tables = self.0.lock();
        let SharedFlight { id, is_gone, overdue_at, .. } = tables.flights.get(key)?;
        Some(FollowedLeader { id: *id, is_gone: is_gone.clone(), overdue_at: *overdue_at })
    }

    /// Gives up a leader that is gone or too slow: the first of those that follow leads.
    pub fn give_up(&self, key: &ShareKey, followed: &FollowedLeader, now: Instant) {
        pass_on(&self.0, key, followed.id, now);
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
    /// Begins a flight, or goes on with one under another leader.
    fn fly(
        &mut self,
        key: &ShareKey,
        leads: &Follower,
        waiters: VecDeque<(Follower, Notify<V>)>,
        now: Instant,
    ) -> u64 {
        self.last_flight += 1;
        let (id, overdue_at) = (self.last_flight, now + leads.time.longest.min(FOREVER));
        let flight = SharedFlight { id, is_gone: leads.is_gone.clone(), overdue_at, waiters };
        self.flights.insert(key.clone(), flight);
        id
    }

    fn take_flight(&mut self, key: &ShareKey, id: u64) -> Option<SharedFlight<V>> {
        let is_it = self.flights.get(key).is_some_and(|flight| flight.id == id);
        if is_it { self.flights.remove(key) } else { None }
    }
}

/// The first follower that still waits leads; the others go on following.
fn pass_on<V>(shared: &Arc<Mutex<Tables<V>>>, key: &ShareKey, mut id: u64, now: Instant) {
    loop {
        let next = {
            let mut tables = shared.lock();
            let Some(mut flight) = tables.take_flight(key, id) else { return };
            flight.waiters.pop_front().map(|(leads, notify)| {
                id = tables.fly(key, &leads, flight.waiters, now);
                (FlightLead::new(shared, key, Some(id), &leads), notify)
            })
        };
        let Some((lead, notify)) = next else { return };
        match notify(Landing::Lead(lead)) {
            // It does not wait any more, and its lead has nothing to pass on.
            Err(Landing::Lead(mut unwanted)) => unwanted.flight = None,
            _ => return,
        }
    }
}

/// Held by the call that runs. Dropped without a result, for instance because the caller was cancelled, it lets one of the
/// followers lead.
pub struct FlightLead<V> {
    tables: Arc<Mutex<Tables<V>>>,
    key: ShareKey,
    time: TimeAllowed,
    /// The flight that others may follow.
    flight: Option<u64>,
    cache_ttl: Option<Duration>,
}

impl<V> FlightLead<V> {
    fn new(
        tables: &Arc<Mutex<Tables<V>>>,
        key: &ShareKey,
        flight: Option<u64>,
        leads: &Follower,
    ) -> Box<Self> {
        let (tables, key) = (tables.clone(), key.clone());
        Box::new(FlightLead { tables, key, time: leads.time, flight, cache_ttl: leads.cache_ttl })
    }

    /// Whether the result is wanted at all, so that it is worth a copy.
    pub fn is_wanted(&self, end: RunEnd) -> bool {
        self.is_followed() || self.is_cached(end)
    }

    /// Whether the result is cached, so that its size has to be known.
    pub fn is_cached(&self, end: RunEnd) -> bool {
        end == RunEnd::Success && self.cache_ttl.is_some()
    }

    fn is_followed(&self) -> bool {
        let tables = self.tables.lock();
        let flight = tables.flights.get(&self.key);
        flight.is_some_and(|flight| Some(flight.id) == self.flight && !flight.waiters.is_empty())
    }

    /// Hands the result to the followers; a success is cached too, as one of `bytes`. Followers that have more time than a
    /// leader that ran out of it get no result: the first of them leads.
    pub fn land(mut self, value: V, bytes: usize, end: RunEnd, now: Instant) {
        let value = Arc::new(value);
        let mut tables = self.tables.lock();
        let gone = match self.cache_ttl.filter(|_| end == RunEnd::Success) {
            Some(ttl) => tables.cache.put(&(self.key.clone(), self.time), ttl, now, value.clone(), bytes),
            None => Vec::new(),
        };
        let flight = self.flight.and_then(|id| tables.flights.get_mut(&self.key).filter(|one| one.id == id));
        let landed = flight.map_or_else(VecDeque::new, |flight| {
            let is_for = |one: &Follower| end != RunEnd::TimedOut || self.time.covers(&one.time);
            let waiters = std::mem::take(&mut flight.waiters);
            let (landed, left) = waiters.into_iter().partition(|(follower, _)| is_for(follower));
            flight.waiters = left;
            landed
        });
        drop(tables);
        drop(gone);
        for (_, notify) in landed {
            drop(notify(Landing::Result(value.clone())));
        }
        self.pass_on(now);
    }

    fn pass_on(&mut self, now: Instant) {
        if let Some(id) = self.flight.take() {
            pass_on(&self.tables, &self.key, id, now);
        }
    }
}

impl<V> Drop for FlightLead<V> {
    fn drop(&mut self) {
        self.pass_on(now());
    }
}
