//! The resources that clients have subscribed to. Those of a legacy client are kept by the replica that was asked, for a
//! limited number of sessions.

use crate::session::by_principal::PrincipalTable;
use std::collections::HashMap;
use std::sync::Arc;
use toolhub_engine::served::SubscribedResource;
use toolhub_types::sync::Mutex;

/// The sessions whose subscriptions are kept at once.
const MOST_SESSIONS: usize = 10_000;
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

/// The subscriptions of legacy clients, by session.
pub struct SessionSubscriptions(Mutex<PrincipalTable<Arc<str>, ClientSubscriptions>>);

impl Default for SessionSubscriptions {
    fn default() -> Self {
        SessionSubscriptions(Mutex::new(PrincipalTable::new(MOST_SESSIONS)))
    }
}

impl SessionSubscriptions {
    pub fn of(&self, principal: &str, session: &Arc<str>) -> ClientSubscriptions {
        let mut all = self.0.lock();
        if let Some(known) = all.get(principal, &**session) {
            return known.clone();
        }
        let new = ClientSubscriptions::default();
        let gone = all.insert(principal, session.clone(), new.clone());
        drop(all);
        drop(gone);
        new
    }

    /// The session has ended.
    pub fn forget(&self, principal: &str, session: &str) {
        let removed = self.0.lock().remove(principal, session);
        drop(removed);
    }
}
