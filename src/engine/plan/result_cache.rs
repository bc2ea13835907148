//! Cached results with a time to live, bounded in number and in bytes.
//!
//! Values are dropped by the caller, outside the lock that guards the cache: that may run code of the user.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    /// The keys by their last use.
    by_use: BTreeMap<u64, K>,
    /// The last uses by the end of the time to live.
    by_expiry: BTreeSet<(Instant, u64)>,
    uses: u64,
    bytes: usize,
}

impl<K, V> Default for ResultCache<K, V> {
    fn default() -> Self {
        let (entries, by_use, by_expiry) = (HashMap::new(), BTreeMap::new(), BTreeSet::new());
        ResultCache { entries, by_use, by_expiry, uses: 0, bytes: 0 }
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
        self.by_use.remove(&entry.used);
        self.by_expiry.remove(&(entry.expires, entry.used));
        entry.used = self.uses;
        self.by_use.insert(entry.used, key.clone());
        self.by_expiry.insert((entry.expires, entry.used));
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
            let Some(oldest) = self.by_use.first_key_value().map(|(_, key)| key.clone()) else { break };
            gone.extend(self.remove(&oldest));
        }
        self.uses += 1;
        let (used, expires) = (self.uses, now + ttl);
        self.bytes += bytes;
        self.by_use.insert(used, key.clone());
        self.by_expiry.insert((expires, used));
        self.entries.insert(key.clone(), CachedResult { stored: now, expires, used, bytes, value });
        gone
    }

    /// Removes everything that has expired.
    pub fn take_expired(&mut self, now: Instant) -> Vec<Arc<V>> {
        let mut gone = Vec::new();
        while let Some((expires, used)) = self.by_expiry.first()
            && *expires < now
            && let Some(key) = self.by_use.get(used).cloned()
        {
            gone.extend(self.remove(&key));
        }
        gone
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values().map(|entry| &*entry.value)
    }

    fn remove(&mut self, key: &K) -> Option<Arc<V>> {
        let entry = self.entries.remove(key)?;
        self.by_use.remove(&entry.used);
        self.by_expiry.remove(&(entry.expires, entry.used));
        self.bytes -= entry.bytes;
        Some(entry.value)
    }
}
