//! Sharing one execution: a cache with a time to live, and single flight for identical concurrent calls.
//!
//! Both are requested by the caller, and only harmless tools are shared. `V` is a result as its driver holds it. Values are
//! never copied or dropped while the lock is held: both may run code of the user, which may call the hub. The cache is bounded in
//! number and in bytes.
//!
//! While a cassette is in, nothing is shared: each call has its own recording.

use super::providers::{PlanView, are_harmless};
use super::state::{CallPlan, TimeAllowed};
use crate::hub::PlannedRun;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use toolhub_types::model::{CallOptions, FOREVER};
use toolhub_types::tool::{OnProgress, ProgressListeners};

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
#[derive(Clone)]
pub struct Shareable {
    pub key: ShareKey,
    pub cache_ttl: Option<Duration>,
    pub single_flight: bool,
    pub time: TimeAllowed,
}

impl CallPlan {
    /// How this call may be shared; `None` if it was not requested, or a candidate may have effects.
    pub(super) fn shareable(&self, view: &PlanView<'_>, planned: &PlannedRun) -> Option<Shareable> {
        let sharing = self.request.sharing.as_ref().filter(|_| self.is_shareable)?;
        if !are_harmless(&planned.candidates) {
            return None;
        }
        // Arguments that are not JSON cannot be compared.
        let identity = self.identity(view.hub, &planned.candidates).ok()?;
        let key = ShareKey {
            identity: identity.digest(),
            candidates: planned.entry.as_ref().map_or(view.snapshot.version(), |entry| entry.changed_at),
            options: CallOptions { timeout: None, deadline: None, ..self.options.clone() },
            validate: sharing.validate,
            coerce: sharing.coerce,
        };
        let all = |grace: Duration| {
            let own =
                (0..planned.candidates.len()).map(|slot| planned.run.timeout(slot).saturating_add(grace));
            own.fold(Duration::ZERO, Duration::saturating_add)
        };
        let (timeouts, longest) = (all(Duration::ZERO), all(view.hub.options.grace));
        let time = TimeAllowed { timeouts, longest, deadline: self.options.deadline };
        let (cache_ttl, single_flight) = (sharing.cache_ttl, sharing.single_flight);
        Some(Shareable { key, cache_ttl, single_flight, time })
    }
}

/// Whether the driver of a call that leads cannot make progress any more. May be slow, and is never called under the lock.
pub type IsGone = Arc<dyn Fn() -> bool + Send + Sync>;

/// A run that others follow.
struct SharedFlight<V> {
    /// The followers stay with it when another call leads.
    state: watch::Sender<FlightState<V>>,
    listeners: Arc<ProgressListeners>,
    leader: u64,
    is_gone: IsGone,
    /// When it has taken longer than its candidates may.
    overdue_at: Instant,
}

enum FlightState<V> {
    Led,
    /// The leader ended without a result: one of the followers leads.
    Free,
    /// With the time that the run might have taken.
    Landed(Arc<V>, RunEnd, TimeAllowed),
}

/// What became of a look into the shared results.
pub(super) enum Consulted<V> {
    /// From the cache.
    Hit(Arc<V>),
    /// No identical call is in flight: run it, and land the result.
    Lead(Box<FlightLead<V>>),
    /// An identical call is in flight.
    Follow(FollowedFlight<V>),
}

/// A run, as one of those that follow it sees it.
pub(super) struct FollowedFlight<V> {
    state: watch::Receiver<FlightState<V>>,
    pub leader: u64,
    pub overdue_at: Instant,
    time: TimeAllowed,
}

impl<V: Send + Sync + 'static> FollowedFlight<V> {
    /// Waits until it is worth another look.
    pub fn ends(&self, until: Instant) -> impl Future<Output = ()> + Send + 'static {
        let mut state = self.state.clone();
        async move {
            let end = state.wait_for(|state| !matches!(state, FlightState::Led));
            _ = tokio::time::timeout_at(until.into(), end).await;
        }
    }

    /// Its result, if it has one for this call. A run that ended for want of time has none for a call that has more.
    pub fn result(&self) -> Option<Arc<V>> {
        match &*self.state.borrow() {
            FlightState::Landed(value, end, time) if *end != RunEnd::TimedOut || time.covers(&self.time) => {
                Some(value.clone())
            }
            _ => None,
        }
    }
}

/// A result that came within a short time may be less than what a longer time would give, so the cache keeps them apart.
type CacheKey = (ShareKey, TimeAllowed);

struct Tables<V> {
    cache: ResultCache<CacheKey, V>,
    flights: HashMap<ShareKey, SharedFlight<V>>,
    last_leader: u64,
}

/// The results that calls of one hub share.
pub struct SharedResults<V>(Arc<Mutex<Tables<V>>>);

impl<V> Default for SharedResults<V> {
    fn default() -> Self {
        let (cache, flights) = (ResultCache::default(), HashMap::new());
        SharedResults(Arc::new(Mutex::new(Tables { cache, flights, last_leader: 0 })))
    }
}

impl<V> SharedResults<V> {
    /// Looks into the cache, then follows an identical call in flight if `single_flight`, then leads. A leader that is gone or
    /// overdue is followed no more. A follower is told the progress from now on.
    pub(super) fn consult(
        &self,
        shareable: &Shareable,
        now: Instant,
        (is_gone, told): (&IsGone, Option<&OnProgress>),
    ) -> Consulted<V> {
        let Shareable { key, cache_ttl, single_flight, time } = shareable;
        let known =
            self.0.lock().flights.get(key).map(|one| (one.leader, one.is_gone.clone(), one.overdue_at));
        let is_over = known.filter(|(_, is_gone, overdue_at)| *overdue_at <= now || is_gone());
        let given_up = is_over.map(|(leader, ..)| leader);
        let mut tables = self.0.lock();
        let expired = tables.cache.take_expired(now);
        let cached = cache_ttl.and_then(|max_age| tables.cache.fresh(&(key.clone(), *time), max_age, now));
        let known = tables.flights.get(key).filter(|_| *single_flight);
        let followed = known.filter(|one| given_up != Some(one.leader) && !one.is_free());
        let mut before = Vec::new();
        let consulted = match (cached, followed) {
            (Some(value), _) => Consulted::Hit(value),
            (None, Some(SharedFlight { state, listeners, leader, overdue_at, .. })) => {
                told.inspect(|told| listeners.add(told));
                Consulted::Follow(FollowedFlight {
                    state: state.subscribe(),
                    leader: *leader,
                    overdue_at: *overdue_at,
                    time: *time,
                })
            }
            (None, None) => {
                let flight = single_flight
                    .then(|| tables.lead(key, is_gone, now + time.longest.min(FOREVER), &mut before));
                let (tables, shareable) = (self.0.clone(), shareable.clone());
                Consulted::Lead(Box::new(FlightLead { tables, shareable, flight }))
            }
        };
        drop(tables);
        drop((expired, before));
        consulted
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

impl<V> SharedFlight<V> {
    fn is_free(&self) -> bool {
        matches!(*self.state.borrow(), FlightState::Free)
    }
}

impl<V> Tables<V> {
    /// Begins a flight, or goes on with one that has followers. What was there before is not dropped here.
    fn lead(
        &mut self,
        key: &ShareKey,
        is_gone: &IsGone,
        overdue_at: Instant,
        before: &mut Vec<SharedFlight<V>>,
    ) -> LedFlight<V> {
        if self.flights.len() == self.flights.capacity() {
            // Their followers have left since.
            let is_left = |one: &SharedFlight<V>| one.is_free() && one.state.receiver_count() == 0;
            before.extend(self.flights.extract_if(|_, one| is_left(one)).map(|(_, one)| one));
        }
        self.last_leader += 1;
        let (leader, known) = (self.last_leader, self.flights.remove(key));
        let (state, listeners) = match &known {
            Some(one) => (one.state.clone(), one.listeners.clone()),
            None => (watch::Sender::new(FlightState::Led), Arc::default()),
        };
        state.send_replace(FlightState::Led);
        before.extend(known);
        let led = (state.clone(), leader, listeners.clone());
        let flight = SharedFlight { state, listeners, leader, is_gone: is_gone.clone(), overdue_at };
        self.flights.insert(key.clone(), flight);
        led
    }
}

/// Held by the call that runs. Dropped without a result, for instance because the caller was cancelled, it lets one of the
/// followers lead.
pub(super) struct FlightLead<V> {
    tables: Arc<Mutex<Tables<V>>>,
    shareable: Shareable,
    flight: Option<LedFlight<V>>,
}

/// What others may follow, who leads it, and who hears its progress.
type LedFlight<V> = (watch::Sender<FlightState<V>>, u64, Arc<ProgressListeners>);

impl<V> FlightLead<V> {
    /// Tells the calls that follow the run, now or later.
    pub fn followers(&self) -> Option<OnProgress> {
        let (.., listeners) = self.flight.as_ref()?;
        Some(listeners.clone().all())
    }

    /// Whether the result is wanted at all, so that it is worth a copy.
    pub fn is_wanted(&self, end: RunEnd) -> bool {
        self.is_cached(end) || self.flight.as_ref().is_some_and(|(state, ..)| state.receiver_count() > 0)
    }

    /// Whether the result is cached, so that its size has to be known.
    pub fn is_cached(&self, end: RunEnd) -> bool {
        end == RunEnd::Success && self.shareable.cache_ttl.is_some()
    }

    /// Hands the result to the followers; a success is cached too, as one of `bytes`.
    pub fn land(mut self, value: V, bytes: usize, end: RunEnd, now: Instant) {
        let value = Arc::new(value);
        let Shareable { key, cache_ttl, time, .. } = &self.shareable;
        if let Some(ttl) = cache_ttl.filter(|_| end == RunEnd::Success) {
            let key = (key.clone(), *time);
            let gone = self.tables.lock().cache.put(&key, ttl, now, value.clone(), bytes);
            drop(gone);
        }
        let landed = FlightState::Landed(value, end, *time);
        self.end(Some(landed));
    }

    /// Without a result the flight stays for its followers. One that was given up is led by another call.
    fn end(&mut self, landed: Option<FlightState<V>>) {
        let Some((state, leader, _)) = self.flight.take() else { return };
        let mut tables = self.tables.lock();
        if tables.flights.get(&self.shareable.key).is_none_or(|one| one.leader != leader) {
            return;
        }
        let is_left = landed.is_some() || state.receiver_count() == 0;
        let ended = if is_left { tables.flights.remove(&self.shareable.key) } else { None };
        if landed.is_none() {
            state.send_replace(FlightState::Free);
        }
        drop(tables);
        drop(ended);
        if let Some(landed) = landed {
            state.send_replace(landed);
        }
    }
}

impl<V> Drop for FlightLead<V> {
    fn drop(&mut self) {
        self.end(None);
    }
}

/// More results are not cached; the least recently used ones are dropped.
const MAX_CACHED: usize = 1024;
/// The same for the bytes of all results together.
const MAX_BYTES: usize = 64 * 1024 * 1024;

struct CachedResult<V> {
    stored: Instant,
    expires: Instant,
    used: u64,
    bytes: usize,
    value: Arc<V>,
}

pub struct ResultCache<K, V> {
    entries: HashMap<K, CachedResult<V>>,
    /// Nothing expires before this; known as long as there is anything.
    expires: Option<Instant>,
    uses: u64,
    bytes: usize,
}

impl<K, V> Default for ResultCache<K, V> {
    fn default() -> Self {
        ResultCache { entries: HashMap::new(), expires: None, uses: 0, bytes: 0 }
    }
}

impl<K: Clone + Eq + Hash, V> ResultCache<K, V> {
    /// The cached value, unless it has expired or is older than this call accepts.
    pub fn fresh(&mut self, key: &K, max_age: Duration, now: Instant) -> Option<Arc<V>> {
        let entry = self.entries.get_mut(key)?;
        if entry.expires < now || now.saturating_duration_since(entry.stored) >= max_age {
            return None;
        }
        self.uses += 1;
        entry.used = self.uses;
        Some(entry.value.clone())
    }

    /// Stores a result; returns what had to go. A result above the limit alone is not stored.
    pub fn put(&mut self, key: &K, ttl: Duration, now: Instant, value: Arc<V>, bytes: usize) -> Vec<Arc<V>> {
        let mut gone = self.take_expired(now);
        gone.extend(self.remove(key));
        if bytes > MAX_BYTES {
            return gone;
        }
        while self.entries.len() >= MAX_CACHED || self.bytes + bytes > MAX_BYTES {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { break };
            gone.extend(self.remove(&oldest));
        }
        self.uses += 1;
        self.bytes += bytes;
        let expires = now + ttl;
        self.expires = Some(self.expires.map_or(expires, |first| first.min(expires)));
        self.entries
            .insert(key.clone(), CachedResult { stored: now, expires, used: self.uses, bytes, value });
        gone
    }

    /// Removes everything that has expired.
    pub fn take_expired(&mut self, now: Instant) -> Vec<Arc<V>> {
        if self.expires.is_none_or(|first| first >= now) {
            return Vec::new();
        }
        let expired: Vec<_> = self.entries.extract_if(|_, entry| entry.expires < now).collect();
        self.bytes -= expired.iter().map(|(_, entry)| entry.bytes).sum::<usize>();
        self.expires = self.entries.values().map(|entry| entry.expires).min();
        expired.into_iter().map(|(_, entry)| entry.value).collect()
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values().map(|entry| &*entry.value)
    }

    fn remove(&mut self, key: &K) -> Option<Arc<V>> {
        let entry = self.entries.remove(key)?;
        self.bytes -= entry.bytes;
        Some(entry.value)
    }
}
