//! Sharing one execution: a cache with a time to live, and single flight for identical concurrent calls.
//!
//! Both are requested by the caller, and only harmless tools are shared. `V` is a result as its driver holds it. Values are
//! never copied or dropped while the lock is held: both may run code of the user, which may call the hub.

use super::request::CallTarget;
use super::state::CallPlan;
use crate::hub::Hub;
use crate::model::CallOptions;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// More results are not cached; the least recently used one is dropped.
const MAX_CACHED: usize = 1024;

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
}

impl CallPlan {
    /// How this call may be shared; `None` if it was not requested, or a candidate may have effects.
    pub(super) fn shareable(&self, hub: &Hub) -> Option<Shareable> {
        let sharing = self.request.sharing.as_ref().filter(|_| self.is_shareable)?;
        let what = self.request.target.name().clone();
        let by_capability = matches!(self.request.target, CallTarget::Capability(_));
        let key = ShareKey {
            candidates: harmless_candidates(hub, &what, by_capability)?,
            what,
            by_capability,
            arguments: sharing.arguments.clone(),
            meta: sharing.meta.clone(),
            options: self.options.clone(),
            validate: sharing.validate,
            coerce: sharing.coerce,
        };
        Some(Shareable { key, cache_ttl: sharing.cache_ttl, single_flight: sharing.single_flight })
    }
}

/// The version of a set of candidates that are all harmless.
fn harmless_candidates(hub: &Hub, what: &str, by_capability: bool) -> Option<u64> {
    let snapshot = hub.registry.load();
    if !by_capability {
        let entry = snapshot.get(what)?;
        return entry
            .candidates
            .iter()
            .all(|one| one.spec().effects.are_harmless())
            .then_some(entry.changed_at);
    }
    let tag = what.to_lowercase();
    let mut tagged = snapshot.with_tag(&tag).peekable();
    tagged.peek()?;
    tagged.all(|one| one.spec().effects.are_harmless()).then(|| snapshot.version())
}

/// What became of a look into the shared results.
pub enum Consulted<V> {
    /// From the cache.
    Hit(Arc<V>),
    /// No identical call is in flight: run it, and land the result.
    Lead(FlightLead<V>),
    /// An identical call is in flight; the notification comes when it ends.
    Follow,
}

type Waiter<V> = Box<dyn FnOnce(Option<Arc<V>>) + Send>;

struct CachedResult<V> {
    stored: Instant,
    expires: Instant,
    used: u64,
    value: Arc<V>,
}

struct Tables<V> {
    cache: HashMap<ShareKey, CachedResult<V>>,
    /// The keys of the cache by their last use.
    by_use: BTreeMap<u64, ShareKey>,
    uses: u64,
    flights: HashMap<ShareKey, Vec<Waiter<V>>>,
}

/// The results that calls of one hub share.
pub struct SharedResults<V>(Arc<Mutex<Tables<V>>>);

impl<V> Default for SharedResults<V> {
    fn default() -> Self {
        let (cache, by_use, flights) = (HashMap::new(), BTreeMap::new(), HashMap::new());
        SharedResults(Arc::new(Mutex::new(Tables { cache, by_use, uses: 0, flights })))
    }
}

impl<V> SharedResults<V> {
    /// Looks into the cache, then joins an identical call in flight if `single_flight`, then leads.
    ///
    /// `notify` is called once for a follower, on any thread: with the result, or with `None` when the leader ended without
    /// one, so that the follower has to consult again.
    pub fn consult(
        &self,
        Shareable { key, cache_ttl, single_flight }: &Shareable,
        now: Instant,
        notify: impl FnOnce(Option<Arc<V>>) + Send + 'static,
    ) -> Consulted<V> {
        let mut expired = None;
        let mut tables = self.0.lock();
        if let Some(max_age) = *cache_ttl {
            match tables.fresh(key, max_age, now) {
                Ok(value) => return Consulted::Hit(value),
                Err(old) => expired = old,
            }
        }
        let consulted = match tables.flights.get_mut(key).filter(|_| *single_flight) {
            Some(waiters) => {
                waiters.push(Box::new(notify));
                Consulted::Follow
            }
            None => {
                if *single_flight {
                    tables.flights.insert(key.clone(), Vec::new());
                }
                Consulted::Lead(FlightLead {
                    tables: self.0.clone(),
                    key: key.clone(),
                    leads: *single_flight,
                    cache_ttl: *cache_ttl,
                })
            }
        };
        drop(tables);
        drop(expired);
        consulted
    }

    /// Visits the cached results, unless the tables are in use right now.
    pub fn try_each<E>(&self, mut visit: impl FnMut(&V) -> Result<(), E>) -> Result<(), E> {
        let Some(tables) = self.0.try_lock() else { return Ok(()) };
        tables.cache.values().try_for_each(|entry| visit(&entry.value))
    }

    /// Forgets all cached results. Calls in flight go on.
    pub fn clear(&self) {
        let mut tables = self.0.lock();
        let forgotten = std::mem::take(&mut tables.cache);
        tables.by_use.clear();
        drop(tables);
        drop(forgotten);
    }
}

impl<V> Tables<V> {
    /// The cached value, unless it has expired or is older than this call accepts; then what was removed.
    fn fresh(&mut self, key: &ShareKey, max_age: Duration, now: Instant) -> Result<Arc<V>, Option<Arc<V>>> {
        self.uses += 1;
        let used = self.uses;
        match self.cache.get_mut(key) {
            Some(entry) if entry.expires >= now && now.saturating_duration_since(entry.stored) < max_age => {
                self.by_use.remove(&entry.used);
                self.by_use.insert(used, key.clone());
                entry.used = used;
                Ok(entry.value.clone())
            }
            _ => Err(self.remove(key)),
        }
    }

    fn remove(&mut self, key: &ShareKey) -> Option<Arc<V>> {
        let entry = self.cache.remove(key)?;
        self.by_use.remove(&entry.used);
        Some(entry.value)
    }

    /// Returns what had to go.
    fn put(&mut self, key: &ShareKey, [stored, expires]: [Instant; 2], value: Arc<V>) -> [Option<Arc<V>>; 2] {
        let replaced = self.remove(key);
        self.uses += 1;
        self.by_use.insert(self.uses, key.clone());
        self.cache.insert(key.clone(), CachedResult { stored, expires, used: self.uses, value });
        let oldest = self.by_use.first_key_value().filter(|_| self.cache.len() > MAX_CACHED);
        let evicted = oldest.map(|(_, key)| key.clone()).and_then(|key| self.remove(&key));
        [replaced, evicted]
    }
}

/// Held by the call that runs. Dropped without a result, for instance because the caller was cancelled, it lets one of the
/// followers lead.
pub struct FlightLead<V> {
    tables: Arc<Mutex<Tables<V>>>,
    key: ShareKey,
    /// Others may follow.
    leads: bool,
    cache_ttl: Option<Duration>,
}

impl<V> FlightLead<V> {
    /// Whether the result is wanted at all, so that it is worth a copy.
    pub fn is_wanted(&self, success: bool) -> bool {
        let followed =
            self.leads && self.tables.lock().flights.get(&self.key).is_some_and(|all| !all.is_empty());
        followed || (success && self.cache_ttl.is_some())
    }

    /// Hands the result to the followers; a success is cached too.
    pub fn land(mut self, value: V, success: bool, now: Instant) {
        let value = Arc::new(value);
        let mut tables = self.tables.lock();
        let gone = match self.cache_ttl.filter(|_| success) {
            Some(ttl) => tables.put(&self.key, [now, now + ttl], value.clone()),
            None => [None, None],
        };
        let waiters = if self.leads { tables.flights.remove(&self.key) } else { None };
        drop(tables);
        drop(gone);
        self.leads = false;
        waiters.into_iter().flatten().for_each(|notify| notify(Some(value.clone())));
    }
}

impl<V> Drop for FlightLead<V> {
    fn drop(&mut self) {
        if self.leads {
            let waiters = self.tables.lock().flights.remove(&self.key);
            waiters.into_iter().flatten().for_each(|notify| notify(None));
        }
    }
}
