//! What a replica knows of something that lives as long as a guard: requests that run, clients that are connected, questions that
//! wait for an answer.

use crate::rpc::RpcParams;
use serde_json::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
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
