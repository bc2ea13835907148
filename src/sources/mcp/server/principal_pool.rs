//! What a server keeps for each of its callers, and for each set of rights that a caller has: bounded in number.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The values of all callers of one server that are kept at once.
pub(super) const MOST_CALLERS: usize = 1_000;
/// The values of one caller from which on an idle one of its own makes room for another.
const MANY_OF_ONE: usize = 8;

/// The id of a principal, and what its credentials grant.
type CallerKey = (Arc<str>, String);

/// One value for each caller and its rights.
pub(super) struct PrincipalPool<T>(Mutex<HashMap<CallerKey, Arc<T>>>);

impl<T> Default for PrincipalPool<T> {
    fn default() -> Self {
        PrincipalPool(Mutex::default())
    }
}

impl<T> PrincipalPool<T> {
    /// The value of a caller with these rights, made if there is none. One of the same principal that is `is_free` and that
    /// nobody holds is taken over instead. `unused_for` says how long a value is not used; `None` while it is. Fails when all
    /// values are in use.
    pub(super) fn get(
        &self,
        id: &Arc<str>,
        rights: String,
        make: impl FnOnce() -> Arc<T>,
        is_free: impl Fn(&T) -> bool,
        unused_for: impl Fn(&T) -> Option<Duration>,
    ) -> Option<Arc<T>> {
        let key = (id.clone(), rights);
        let (value, dropped) = {
            let mut pool = self.0.lock();
            if let Some(value) = pool.get(&key) {
                return Some(value.clone());
            }
            let is_own = |key: &CallerKey| key.0 == *id;
            // A call holds its value, and values are given out under this lock only.
            let is_left = |value: &Arc<T>| Arc::strong_count(value) == 1 && is_free(value);
            let left = pool.iter().find(|(key, value)| is_own(key) && is_left(value));
            if let Some(value) = left.map(|(key, _)| key.clone()).and_then(|left| pool.remove(&left)) {
                pool.insert(key, value.clone());
                return Some(value);
            }
            let longest_idle = |among: &dyn Fn(&CallerKey) -> bool| {
                let idle = pool.iter().filter(|(key, _)| among(key));
                let idle = idle.filter_map(|(key, value)| Some((unused_for(value)?, key)));
                idle.max_by_key(|(idle, _)| *idle).map(|(_, key)| key.clone())
            };
            let has_many = pool.keys().filter(|key| is_own(key)).count() >= MANY_OF_ONE;
            let goes = match has_many.then(|| longest_idle(&is_own)).flatten() {
                None if pool.len() >= MOST_CALLERS => Some(longest_idle(&|_| true)?),
                own => own,
            };
            let dropped = goes.and_then(|key| pool.remove(&key));
            let value = make();
            pool.insert(key, value.clone());
            (value, dropped)
        };
        // Outside of the lock: ending a connection may take a moment.
        drop(dropped);
        Some(value)
    }

    /// Whether the caller has a value for these rights.
    pub(super) fn has(&self, id: &Arc<str>, rights: &str) -> bool {
        self.0.lock().contains_key(&(id.clone(), rights.to_owned()))
    }

    /// One of the values of a caller.
    pub(super) fn any_of(&self, id: &Arc<str>) -> Option<Arc<T>> {
        self.0.lock().iter().find(|(key, _)| key.0 == *id).map(|(_, value)| value.clone())
    }

    pub(super) fn all(&self) -> Vec<Arc<T>> {
        self.0.lock().values().cloned().collect()
    }

    /// Takes all of them out.
    pub(super) fn take(&self) -> Vec<Arc<T>> {
        std::mem::take(&mut *self.0.lock()).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_never_share_and_other_rights_make_another() {
        let pool = PrincipalPool::<String>::default();
        let of = |id: &str, rights: &str| {
            pool.get(&Arc::from(id), rights.to_owned(), || Arc::new(rights.to_owned()), |_| false, |_| None)
                .unwrap()
        };
        let wide = of("ann", "wide");
        assert!(Arc::ptr_eq(&wide, &of("ann", "wide")));
        assert!(!Arc::ptr_eq(&wide, &of("bob", "wide")));
        assert_eq!(*of("ann", "narrow"), "narrow");
        // The narrow token did not take the connection of the wide one away.
        assert!(Arc::ptr_eq(&wide, &of("ann", "wide")));
        assert_eq!(pool.take().len(), 3);
        assert_eq!(pool.take().len(), 0);
    }

    #[test]
    fn idle_values_of_a_caller_with_many_make_room_first() {
        let pool = PrincipalPool::<usize>::default();
        let get = |id: &str, number: usize, is_idle: bool| {
            let unused = move |value: &usize| is_idle.then(|| Duration::from_secs(10_000 - *value as u64));
            pool.get(&Arc::from(id), number.to_string(), || Arc::new(number), |_| false, unused).unwrap()
        };
        get("bob", 0, true);
        for number in 1..100 {
            get("ann", number, true);
        }
        assert_eq!(pool.all().len(), MANY_OF_ONE + 1);
        assert!(pool.all().iter().any(|value| **value == 0));
        // Those in use stay.
        for number in 100..200 {
            get("ann", number, false);
        }
        assert_eq!(pool.all().len(), MANY_OF_ONE + 1 + 100);
    }

    #[test]
    fn the_caller_that_was_idle_longest_makes_room() {
        let pool = PrincipalPool::<u64>::default();
        let get = |number: u64, busy: bool| {
            let idle = move |value: &u64| (!busy).then(|| Duration::from_secs(10_000 - value));
            pool.get(&Arc::from(number.to_string()), String::new(), || Arc::new(number), |_| false, idle)
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

    #[test]
    fn a_value_that_nobody_holds_is_taken_over_by_the_same_principal() {
        let pool = PrincipalPool::<String>::default();
        let of = |id: &str, client: &str| {
            let make = || Arc::new(format!("{id} {client}"));
            pool.get(&Arc::from(id), client.to_owned(), make, |value| !value.ends_with("left"), |_| None)
                .unwrap()
        };
        let desktop = of("ann", "desktop");
        let laptop = of("ann", "laptop");
        assert!(!Arc::ptr_eq(&desktop, &laptop), "a call is running");
        drop(laptop);
        assert_eq!(*of("bob", "phone"), "bob phone");
        assert_eq!(*of("ann", "phone"), "ann laptop");
        assert!(!pool.has(&Arc::from("ann"), "laptop"));
        assert_eq!(*of("cleo", "left"), "cleo left");
        assert_eq!(*of("cleo", "phone"), "cleo phone", "the other one may still be asked about");
        assert_eq!(pool.all().len(), 5);
    }
}
