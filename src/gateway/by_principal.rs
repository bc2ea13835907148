//! What a replica remembers of its callers, bounded for all of them together: log levels, subscriptions, ended sessions.
//!
//! Callers do not push each other out: when the table is full, the principal with the most entries makes room, with the first of
//! its own.

use std::borrow::Borrow;
use std::collections::BTreeMap;

pub struct PrincipalTable<K, V> {
    /// By the id of the principal.
    of_principals: BTreeMap<Box<str>, BTreeMap<K, V>>,
    count: usize,
    most: usize,
}

impl<K: Ord, V> PrincipalTable<K, V> {
    pub fn new(most: usize) -> Self {
        PrincipalTable { of_principals: BTreeMap::new(), count: 0, most }
    }

    pub fn get<Q: Ord + ?Sized>(&self, principal: &str, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.of_principals.get(principal)?.get(key)
    }

    /// Returns what has gone for it: what had the key before, or was pushed out.
    pub fn insert(&mut self, principal: &str, key: K, value: V) -> Option<V> {
        let mut gone = self.remove(principal, &key);
        if self.is_full() {
            gone = self.make_room();
        }
        self.count += 1;
        match self.of_principals.get_mut(principal) {
            Some(own) => own.insert(key, value),
            None => self.of_principals.entry(Box::from(principal)).or_default().insert(key, value),
        };
        gone
    }

    pub fn remove<Q: Ord + ?Sized>(&mut self, principal: &str, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let own = self.of_principals.get_mut(principal)?;
        let removed = own.remove(key)?;
        self.count -= 1;
        if own.is_empty() {
            self.of_principals.remove(principal);
        }
        Some(removed)
    }

    pub fn is_full(&self) -> bool {
        self.count >= self.most
    }

    pub fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        self.of_principals.retain(|_, own| {
            own.retain(|key, _| keep(key));
            !own.is_empty()
        });
        self.count = self.of_principals.values().map(BTreeMap::len).sum();
    }

    fn make_room(&mut self) -> Option<V> {
        let (principal, own) = self.of_principals.iter_mut().max_by_key(|(_, own)| own.len())?;
        let (_, gone) = own.pop_first()?;
        self.count -= 1;
        if own.is_empty() {
            let principal = principal.clone();
            self.of_principals.remove(&principal);
        }
        Some(gone)
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_caller_with_many_entries_pushes_out_their_own() {
        let mut table = PrincipalTable::new(100);
        table.insert("ann", 5, "ann's");
        for number in 0..1_000 {
            table.insert("bob", number, "bob's");
        }
        assert_eq!(table.len(), 100);
        assert_eq!(table.get("ann", &5), Some(&"ann's"));
        assert_eq!(
            (table.get("bob", &0), table.get("bob", &999)),
            (None, Some(&"bob's")),
            "the first go first"
        );
        table.retain(|number| *number >= 990);
        assert_eq!((table.len(), table.get("ann", &5)), (10, None));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_kept_twice(steps in proptest::collection::vec((0..4u8, 0..9u8, any::<bool>()), 0..200)) {
            let mut table = PrincipalTable::new(10);
            let mut kept = 0usize;
            for (principal, key, adds) in steps {
                let principal = principal.to_string();
                if adds {
                    kept += 1;
                    kept -= usize::from(table.insert(&principal, key, ()).is_some());
                    prop_assert!(table.get(&principal, &key).is_some());
                } else {
                    kept -= usize::from(table.remove(&principal, &key).is_some());
                    prop_assert!(table.get(&principal, &key).is_none());
                }
                let counted: usize = table.of_principals.values().map(BTreeMap::len).sum();
                prop_assert_eq!((table.len(), counted), (kept, kept));
                prop_assert!(kept <= 10 && table.of_principals.values().all(|own| !own.is_empty()));
            }
        }
    }
}
