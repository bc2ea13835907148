//! The resources that a client has subscribed to.

use std::collections::HashMap;
use toolhub_engine::served::SubscribedResource;
use toolhub_types::sync::{Arc, Mutex};

/// The resources that one client may subscribe to.
pub const MOST_RESOURCES: usize = 1_000;

/// The subscriptions of one client, by the URI that it knows.
#[derive(Clone, Default)]
pub struct ClientSubscriptions(Arc<Mutex<HashMap<String, SubscribedResource>>>);

impl ClientSubscriptions {
    /// False when the client has too many.
    pub fn add(&self, uri: String, subscribed: SubscribedResource) -> bool {
        let mut all = self.0.lock();
        if all.len() >= MOST_RESOURCES && !all.contains_key(&uri) {
            return false;
        }
        all.insert(uri, subscribed);
        true
    }

    pub fn remove(&self, uri: &str) {
        let removed = self.0.lock().remove(uri);
        // Outside of the lock: ending a subscription may do more than forget it.
        drop(removed);
    }

    /// The URI under which the client knows this resource of a server, if it has subscribed to it.
    pub fn known_as(&self, server: &str, uri: &str) -> Option<String> {
        let all = self.0.lock();
        let is_it = |one: &&SubscribedResource| &*one.server == server && one.uri == uri;
        all.iter().find(|(_, one)| is_it(one)).map(|(own, _)| own.clone())
    }
}
