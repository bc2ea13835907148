//! The resources of a server that callers of the hub have subscribed to. They outlive sessions.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use tokio::sync::Notify;

/// How many resources of one server are subscribed to at once.
const MOST_SUBSCRIPTIONS: usize = 1_000;

/// The resources of one server that are subscribed to, each with the number of its subscribers. They outlive sessions.
#[derive(Default)]
pub struct SubscribedResources {
    counts: Mutex<BTreeMap<String, usize>>,
    /// Notified when a modern server has to be told.
    pub changed: Notify,
}

impl SubscribedResources {
    pub fn is_empty(&self) -> bool {
        self.counts.lock().is_empty()
    }

    pub fn uris(&self) -> Vec<String> {
        self.counts.lock().keys().cloned().collect()
    }

    /// True for the first subscriber of a resource. `None` when there are too many resources.
    pub fn add(&self, uri: &str) -> Option<bool> {
        let mut counts = self.counts.lock();
        if let Some(count) = counts.get_mut(uri) {
            *count += 1;
            return Some(false);
        }
        if counts.len() >= MOST_SUBSCRIPTIONS {
            return None;
        }
        counts.insert(uri.to_owned(), 1);
        Some(true)
    }

    /// True when the last subscriber of a resource has gone.
    pub fn remove(&self, uri: &str) -> bool {
        let mut counts = self.counts.lock();
        match counts.get_mut(uri) {
            Some(count) if *count > 1 => {
                *count -= 1;
                false
            }
            Some(_) => counts.remove(uri).is_some(),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_hears_of_the_first_and_the_last_subscriber() {
        let subscriptions = SubscribedResources::default();
        assert_eq!(subscriptions.add("note://x"), Some(true));
        assert_eq!(subscriptions.add("note://x"), Some(false));
        assert!(!subscriptions.remove("note://x"));
        assert!(subscriptions.remove("note://x"));
        assert!(!subscriptions.remove("note://x"));
        for number in 0..MOST_SUBSCRIPTIONS {
            assert_eq!(subscriptions.add(&number.to_string()), Some(true));
        }
        assert_eq!(subscriptions.add("one more"), None);
    }
}
