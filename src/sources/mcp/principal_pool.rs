//! What a server keeps for each of its callers: bounded in number, replaced when the caller's credentials change.

use super::principal_headers::HeaderNeeds;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The callers of one server that are known at once.
pub(super) const MOST_CALLERS: usize = 1_000;

struct PooledEntry<T> {
    /// Another one is made when these change.
    headers: Vec<(String, String)>,
    value: Arc<T>,
}

/// One value for each caller, by the id of its principal.
pub(super) struct PrincipalPool<T>(Mutex<HashMap<Arc<str>, PooledEntry<T>>>);

impl<T> Default for PrincipalPool<T> {
    fn default() -> Self {
        PrincipalPool(Mutex::default())
    }
}

impl<T> PrincipalPool<T> {
    /// The value of a caller with these headers, made if there is none. `unused_for` says how long a value is not used; `None`
    /// while it is. Fails when all callers are busy.
    pub(super) fn get(
        &self,
        id: &Arc<str>,
        headers: Vec<(String, String)>,
        make: impl FnOnce(&[(String, String)]) -> Arc<T>,
        unused_for: impl Fn(&T) -> Option<Duration>,
    ) -> Option<Arc<T>> {
        let (value, dropped) = {
            let mut pool = self.0.lock();
            if let Some(entry) = pool.get(id).filter(|entry| entry.headers == headers) {
                return Some(entry.value.clone());
            }
            let mut dropped = Vec::new();
            if pool.len() >= MOST_CALLERS && !pool.contains_key(id) {
                let idle = pool.iter().filter_map(|(id, entry)| Some((unused_for(&entry.value)?, id)));
                let longest = idle.max_by_key(|(idle, _)| *idle).map(|(_, id)| id.clone())?;
                dropped.extend(pool.remove(&longest));
            }
            let value = make(&headers);
            dropped.extend(pool.insert(id.clone(), PooledEntry { headers, value: value.clone() }));
            (value, dropped)
        };
        // Outside of the lock: ending a connection may take a moment.
        drop(dropped);
        Some(value)
    }

    fn all(&self) -> Vec<Arc<T>> {
        self.0.lock().values().map(|entry| entry.value.clone()).collect()
    }

    /// Takes all of them out.
    pub(super) fn take(&self) -> Vec<Arc<T>> {
        let all = std::mem::take(&mut *self.0.lock());
        all.into_values().map(|entry| entry.value).collect()
    }
}

/// What a server is for its callers.
pub(super) enum CallerServers<T> {
    /// The same for all, until it asks and does not say on whose behalf: then different for each.
    Shared(PrincipalPool<T>),
    /// Different for each.
    PerCaller { is_open_to_none: bool, servers: PrincipalPool<T> },
    /// It is the server of one caller.
    OfOne,
}

impl<T> CallerServers<T> {
    /// What the headers of the configuration need, and what the credentials do.
    pub(super) fn of(headers: HeaderNeeds, credentials: HeaderNeeds) -> Self {
        match headers.max(credentials) {
            HeaderNeeds::Nothing => CallerServers::Shared(PrincipalPool::default()),
            needs => CallerServers::PerCaller {
                is_open_to_none: needs == HeaderNeeds::CallerIfAny,
                servers: PrincipalPool::default(),
            },
        }
    }

    /// Whether the tools that this server lists are offered by the hub.
    pub(super) fn lists_tools(&self) -> bool {
        !matches!(self, CallerServers::OfOne)
    }

    pub(super) fn all(&self) -> Vec<Arc<T>> {
        match self {
            CallerServers::PerCaller { servers, .. } | CallerServers::Shared(servers) => servers.all(),
            CallerServers::OfOne => Vec::new(),
        }
    }

    pub(super) fn take(&self) -> Vec<Arc<T>> {
        match self {
            CallerServers::PerCaller { servers, .. } | CallerServers::Shared(servers) => servers.take(),
            CallerServers::OfOne => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &str) -> Vec<(String, String)> {
        vec![("Authorization".to_owned(), value.to_owned())]
    }

    #[test]
    fn callers_never_share_and_changed_credentials_make_another() {
        let pool = PrincipalPool::<String>::default();
        let of = |id: &str, value: &str| {
            let make = |headers: &[(String, String)]| Arc::new(headers[0].1.clone());
            pool.get(&Arc::from(id), headers(value), make, |_| None).unwrap()
        };
        let ann = of("ann", "a");
        assert!(Arc::ptr_eq(&ann, &of("ann", "a")));
        assert!(!Arc::ptr_eq(&ann, &of("bob", "a")));
        assert_eq!(*of("ann", "b"), "b");
        assert_eq!(pool.take().len(), 2);
        assert_eq!(pool.take().len(), 0);
    }

    #[test]
    fn the_caller_that_was_idle_longest_makes_room() {
        let pool = PrincipalPool::<u64>::default();
        let get = |number: u64, busy: bool| {
            let idle = move |value: &u64| (!busy).then(|| Duration::from_secs(10_000 - value));
            pool.get(&Arc::from(number.to_string()), Vec::new(), |_| Arc::new(number), idle)
        };
        for number in 0..MOST_CALLERS as u64 {
            assert!(get(number, true).is_some());
        }
        assert!(get(5_000, true).is_none());
        assert!(get(5_000, false).is_some());
        let left = pool.take();
        assert_eq!(left.len(), MOST_CALLERS);
        assert!(!left.iter().any(|value| **value == 0));
    }
}
