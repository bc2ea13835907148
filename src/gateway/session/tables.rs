//! What a replica knows of something that lives as long as a guard: requests that run, clients that are connected, questions that
//! wait for an answer.

use crate::rpc::RpcParams;
use serde_json::Value;
use std::borrow::Borrow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use tokio_util::sync::CancellationToken;
use toolhub_types::sync::{Arc, Mutex};
use toolhub_types::tool::CancelReason;

pub struct GuardedTable<K: Eq + Hash, V>(Arc<Mutex<HashMap<K, V>>>);

impl<K: Eq + Hash, V> Clone for GuardedTable<K, V> {
    fn clone(&self) -> Self {
        GuardedTable(self.0.clone())
    }
}

impl<K: Eq + Hash, V> Default for GuardedTable<K, V> {
    fn default() -> Self {
        GuardedTable(Arc::default())
    }
}

impl<K: Eq + Hash + Clone, V> GuardedTable<K, V> {
    /// `None` if there is an entry with this key.
    pub fn enter(&self, key: K, value: V) -> Option<TableEntry<K, V>> {
        match self.0.lock().entry(key.clone()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => _ = place.insert(value),
        }
        Some(TableEntry { all: self.clone(), key })
    }

    /// What `read` finds in an entry; `None` if there is no such entry.
    pub fn find<R>(&self, key: &K, read: impl FnOnce(&V) -> Option<R>) -> Option<R> {
        self.0.lock().get(key).and_then(read)
    }

    /// Takes an entry out before its guard goes.
    pub fn take(&self, key: &K, may: impl FnOnce(&V) -> bool) -> Option<V> {
        let mut all = self.0.lock();
        if all.get(key).is_some_and(may) { all.remove(key) } else { None }
    }

    pub fn each(&self, mut look: impl FnMut(&K, &V)) {
        self.0.lock().iter().for_each(|(key, value)| look(key, value));
    }
}

/// Dropping it removes the entry.
pub struct TableEntry<K: Eq + Hash, V> {
    all: GuardedTable<K, V>,
    pub key: K,
}

impl<K: Eq + Hash, V> Drop for TableEntry<K, V> {
    fn drop(&mut self) {
        let removed = self.all.0.lock().remove(&self.key);
        drop(removed);
    }
}

/// The session or pipe of a client, and the id of its request: an id is unique within its session.
type RequestKey = (Arc<str>, String);
type Cancellation = (CancellationToken, CancelReason);
pub type RequestsInFlight = GuardedTable<RequestKey, Cancellation>;
pub type RunningRequest = TableEntry<RequestKey, Cancellation>;

impl RequestsInFlight {
    /// Takes a notification of a session: one that cancels a request. A request that has ended, or never was, is not an error:
    /// the messages may cross.
    pub fn notified(&self, session: &Arc<str>, method: &str, params: &RpcParams) {
        let id = params.get("requestId").filter(|id| id.is_string() || id.is_number());
        let (Some(id), "notifications/cancelled") = (id, method) else { return };
        self.find(&(session.clone(), id.to_string()), |(cancel, reason)| {
            if let Some(said) = params.get("reason").and_then(Value::as_str) {
                let _ = reason.set(said.to_owned());
            }
            cancel.cancel();
            Some(())
        });
    }

    /// Cancels the requests of a session.
    pub fn cancel_session(&self, session: &str) {
        self.each(|(own, _), (cancel, _)| {
            if **own == *session {
                cancel.cancel();
            }
        });
    }
}

// What a replica remembers of its callers, bounded for all of them together: log levels, subscriptions, ended sessions, tasks,
// calls that wait for an answer.
//
// Callers do not push each other out: when the table is full, the principal with the most entries makes room, with its oldest.

pub struct PrincipalTable<K, V> {
    /// By the id of the principal; none of them is empty.
    of_principals: BTreeMap<Box<str>, OwnEntries<K, V>>,
    count: usize,
    most: usize,
    next_age: u64,
}

/// The entries of one principal, each with a number that is the lowest for the oldest.
type OwnEntries<K, V> = BTreeMap<K, (u64, V)>;

/// The oldest one that may go. All are looked at, which only a full table asks for.
fn oldest<K, V>(own: &OwnEntries<K, V>, may_go: impl Fn(&V) -> bool) -> Option<&K> {
    let may_go = own.iter().filter(|(_, (_, value))| may_go(value));
    may_go.min_by_key(|(_, (age, _))| *age).map(|(key, _)| key)
}

impl<K: Ord + Clone, V> PrincipalTable<K, V> {
    pub fn new(most: usize) -> Self {
        PrincipalTable { of_principals: BTreeMap::new(), count: 0, most, next_age: 0 }
    }

    pub fn get<Q: Ord + ?Sized>(&self, principal: &str, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        Some(&self.of_principals.get(principal)?.get(key)?.1)
    }

    pub fn of(&self, principal: &str) -> impl Iterator<Item = &V> {
        self.of_principals.get(principal).into_iter().flat_map(BTreeMap::values).map(|(_, value)| value)
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.of_principals.values().flat_map(BTreeMap::values).map(|(_, value)| value)
    }

    /// Returns what has gone for it: what had the key before, or was pushed out.
    pub fn insert(&mut self, principal: &str, key: K, value: V) -> Option<V> {
        let mut gone = self.remove(principal, &key);
        if self.is_full() {
            gone = self.push_out(|_| true);
        }
        let age = self.next_age;
        self.next_age += 1;
        self.count += 1;
        self.of_principals.entry(Box::from(principal)).or_default().insert(key, (age, value));
        gone
    }

    /// Makes room for one more of this principal, which may have `most_own`. Returns what has gone for it, or `None` if nothing
    /// that is in the way may go.
    pub fn make_room(
        &mut self,
        principal: &str,
        most_own: usize,
        may_go: impl Fn(&V) -> bool,
    ) -> Option<Vec<V>> {
        let mut gone = Vec::new();
        let own = self.of_principals.get(principal);
        if let Some(own) = own.filter(|own| own.len() >= most_own) {
            let key = oldest(own, &may_go)?.clone();
            gone.extend(self.remove(principal, &key));
        }
        if self.is_full() {
            gone.push(self.push_out(may_go)?);
        }
        Some(gone)
    }

    /// Removes the oldest, of one principal or of all, until the sizes of the rest are at most `most` together. Those of size 0
    /// stay, and so does whatever `stays`.
    pub fn shrink(
        &mut self,
        principal: Option<&str>,
        most: usize,
        size: impl Fn(&V) -> usize,
        stays: impl Fn(&V) -> bool,
    ) -> Vec<V> {
        let concerned = |name: &str| principal.is_none_or(|principal| principal == name);
        let mut sized = Vec::new();
        for (name, own) in self.of_principals.iter().filter(|(name, _)| concerned(name)) {
            let entries = own.iter().map(|(key, (age, value))| (*age, name, key, size(value), stays(value)));
            sized.extend(entries.filter(|(.., size, _)| *size > 0));
        }
        let mut kept: usize = sized.iter().map(|(.., size, _)| size).sum();
        sized.sort_unstable_by_key(|(age, ..)| *age);
        let mut large = Vec::new();
        for (_, name, key, size, stays) in sized {
            if kept > most && !stays {
                kept -= size;
                large.push((name.clone(), key.clone()));
            }
        }
        large.into_iter().filter_map(|(name, key)| self.remove(&name, &key)).collect()
    }

    /// From now on it is the youngest.
    pub fn renew<Q: Ord + ?Sized>(&mut self, principal: &str, key: &Q)
    where
        K: Borrow<Q>,
    {
        if let Some((age, _)) = self.of_principals.get_mut(principal).and_then(|own| own.get_mut(key)) {
            *age = self.next_age;
            self.next_age += 1;
        }
    }

    pub fn remove<Q: Ord + ?Sized>(&mut self, principal: &str, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let own = self.of_principals.get_mut(principal)?;
        let (_, removed) = own.remove(key)?;
        self.count -= 1;
        if own.is_empty() {
            self.of_principals.remove(principal);
        }
        Some(removed)
    }

    pub fn is_full(&self) -> bool {
        self.count >= self.most
    }

    /// Returns what has gone.
    pub fn retain(&mut self, keep: impl Fn(&K, &V) -> bool) -> Vec<V> {
        let mut ended = Vec::new();
        for (name, own) in &self.of_principals {
            let of_principal = own.iter().filter(|(key, (_, value))| !keep(key, value));
            ended.extend(of_principal.map(|(key, _)| (name.clone(), key.clone())));
        }
        ended.into_iter().filter_map(|(name, key)| self.remove(&name, &key)).collect()
    }

    /// The principal with the most entries, of those with one that may go, loses it.
    fn push_out(&mut self, may_go: impl Fn(&V) -> bool) -> Option<V> {
        let candidates = self
            .of_principals
            .iter()
            .filter_map(|(name, own)| Some((name, own.len(), oldest(own, &may_go)?)));
        let (name, _, key) = candidates.max_by_key(|(_, count, _)| *count)?;
        let (name, key) = (name.clone(), key.clone());
        self.remove(&name, &key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_lives_as_long_as_its_guard() {
        let table = GuardedTable::default();
        let entry = table.enter("one", 1).unwrap();
        assert!(table.enter("one", 2).is_none());
        assert_eq!(
            (table.find(&"one", |value| Some(*value)), table.find(&"two", |_| Some(0))),
            (Some(1), None)
        );
        assert_eq!((table.take(&"one", |value| *value == 2), table.take(&"one", |_| true)), (None, Some(1)));
        drop(entry);
        let _again = table.enter("one", 3).unwrap();
        drop(table.enter("two", 4));
        let mut left = Vec::new();
        table.each(|key, value| left.push((*key, *value)));
        assert_eq!(left, [("one", 3)]);
    }
}

#[cfg(test)]
mod by_principal_tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_caller_with_many_entries_pushes_out_their_own_oldest() {
        let mut table = PrincipalTable::new(100);
        table.insert("ann", 5, "ann's");
        for number in (0..1_000).rev() {
            table.insert("bob", number, "bob's");
        }
        assert_eq!((table.count, table.of("bob").count()), (100, 99));
        assert_eq!(table.get("ann", &5), Some(&"ann's"));
        assert_eq!(
            (table.get("bob", &999), table.get("bob", &0)),
            (None, Some(&"bob's")),
            "the oldest go first"
        );
        table.renew("bob", &98);
        table.insert("bob", 1_000, "bob's");
        assert_eq!((table.get("bob", &97), table.get("bob", &98)), (None, Some(&"bob's")), "it was renewed");
        assert_eq!(table.retain(|number, _| *number >= 90).len(), 91);
        assert_eq!((table.count, table.get("ann", &5)), (9, None));
    }

    #[test]
    fn room_is_made_by_what_may_go() {
        let mut table = PrincipalTable::new(4);
        for (principal, key, has_ended) in
            [("ann", 1, false), ("ann", 2, true), ("ann", 3, true), ("bob", 4, true)]
        {
            table.insert(principal, key, (key, has_ended));
        }
        let ended = |(_, has_ended): &(i32, bool)| *has_ended;
        assert_eq!(table.make_room("bob", 9, ended), Some(vec![(2, true)]), "of the one with the most");
        assert_eq!(table.make_room("bob", 9, ended), Some(Vec::new()));
        assert_eq!(table.make_room("ann", 2, ended), Some(vec![(3, true)]), "its own limit");
        assert_eq!(table.make_room("ann", 1, ended), None, "it is running");
        assert_eq!(table.count, 2);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_kept_twice(steps in proptest::collection::vec((0..4u8, 0..9u8, 0..6u8), 0..200)) {
            let mut table = PrincipalTable::new(10);
            let mut kept = 0usize;
            for (principal, key, step) in steps {
                let principal = principal.to_string();
                match step {
                    0..=2 => {
                        kept += 1;
                        kept -= usize::from(table.insert(&principal, key, key).is_some());
                        prop_assert!(table.get(&principal, &key).is_some());
                    }
                    3 => {
                        kept -= usize::from(table.remove(&principal, &key).is_some());
                        prop_assert!(table.get(&principal, &key).is_none());
                    }
                    4 => table.renew(&principal, &key),
                    _ => {
                        kept -= table.shrink(Some(&principal), 12, |value| usize::from(*value), |_| false).len();
                        prop_assert!(table.of(&principal).map(|value| usize::from(*value)).sum::<usize>() <= 12);
                    }
                }
                let counted: usize = table.of_principals.values().map(|own| own.len()).sum();
                prop_assert_eq!((table.count, counted, table.values().count()), (kept, kept, kept));
                prop_assert!(kept <= 10 && table.of_principals.values().all(|own| !own.is_empty()));
            }
        }
    }
}
