//! Cached results with a time to live, bounded in number and in bytes.
//!
//! Values are dropped by the caller, outside the lock that guards the cache: that may run code of the user.

use std::collections::HashMap;
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
