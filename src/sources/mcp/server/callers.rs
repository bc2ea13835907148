//! The callers of a gateway at one server: each that has credentials of its own has a connection of its own, too. So has each
//! principal at a server that asks without saying which call it asks about, and a client whose call would run beside that of
//! another client: on a shared connection nobody could be asked.

use super::{ConnectAttempt, Server};
use crate::mcp::auth::{CallerNeeds, Credentials};
use crate::mcp::callbacks::Host;
use crate::mcp::config::Endpoint;
use crate::mcp::connection::Connection;
use crate::mcp::connector::Connector;
use crate::mcp::lifecycle::Lifecycle;
use crate::mcp::principal_headers;
use crate::mcp::session::Session;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use toolhub_text::message;
use toolhub_text::secret::Secret;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result};
use toolhub_types::principal::Principal;
use toolhub_types::tool::CallContextExtras;

/// The connection of a caller is closed when it was not used for this long.
const IDLE: Duration = Duration::from_secs(300);

impl Server {
    /// Whether callers of a gateway have connections of their own.
    pub fn is_per_caller(&self) -> bool {
        self.needs != CallerNeeds::Nothing
    }

    /// The server as this caller may use it, for what raises no questions.
    pub fn for_caller(self: &Arc<Self>, principal: Option<&Arc<Principal>>) -> Result<Arc<Server>> {
        self.of_caller(principal, None)
    }

    /// The server for one call. If its questions may be about any call, those of other clients run elsewhere.
    pub fn for_call(self: &Arc<Self>, extras: &CallContextExtras) -> Result<Arc<Server>> {
        let client = extras.ask.as_ref().map_or("", |ask| &*ask.caller);
        self.of_caller(extras.principal.as_ref(), Some(client))
    }

    fn of_caller(
        self: &Arc<Self>,
        principal: Option<&Arc<Principal>>,
        client: Option<&str>,
    ) -> Result<Arc<Server>> {
        let Server { needs, sink, callers, .. } = &**self;
        // A server is the same for all, until it asks and does not say on whose behalf.
        if sink.is_none() || *needs == CallerNeeds::Nothing && !self.callbacks().asks_without_call() {
            return Ok(self.clone());
        }
        // Clients without credentials share a process as long as one of them has calls in it.
        let has_own = |principal: &Principal| !principal.is_anonymous() || self.is_taken(client);
        let Some(principal) = principal.filter(|principal| has_own(principal)) else {
            if *needs < CallerNeeds::Caller {
                return Ok(self.clone());
            }
            let text = message!(
                "Server '{}' takes its credentials from the caller of a served hub, and this call has none; serve the hub with `token`, `jwt` or `authenticate`, or give its headers a token of the hub after `:-`.",
                self.id()
            );
            return Err(HubError::new(ErrorKind::Auth, text).with_outcome(Outcome::NotSent));
        };
        let headers = match &self.config().endpoint {
            Endpoint::Http(remote) => principal_headers::of_principal(self.id(), &remote.headers, principal)?,
            _ => Vec::new(),
        };
        let shared = self.connector.credentials.as_ref();
        let own = shared.map(|credentials| credentials.of_caller(principal));
        let credentials = own.transpose()?.flatten().or_else(|| shared.cloned());
        let token = principal.subject_token.as_ref().filter(|_| *needs == CallerNeeds::CallerToken);
        let rights = match self.is_per_caller() {
            // Neither part has a line break in it.
            true => format!("{}\n{}", principal.rights, token.map_or("", Secret::expose)),
            // A process of its own, whatever the caller may do: it gets no credentials.
            false => match callers.any_of(&principal.id).filter(|_| client.is_none()) {
                Some(own) => return Ok(own),
                None => client.unwrap_or_default().to_owned(),
            },
        };
        let make = || self.of_one(principal, headers, credentials);
        let unused_for = |server: &Server| Some(server.unused_for()).filter(|unused| !unused.is_zero());
        let is_free =
            |server: &Server| !self.is_per_caller() && server.is_free_for(client.unwrap_or_default());
        let server = callers.get(&principal.id, rights, make, is_free, unused_for).ok_or_else(|| {
            let id = self.id();
            let text = message!("Server '{}' is used by too many callers at once; try again later.", id);
            HubError::new(ErrorKind::Overloaded, text)
        })?;
        if let Some(credentials) = &server.connector.credentials {
            credentials.called_by(principal);
        }
        Ok(server)
    }

    /// Whether a client without credentials needs a process of its own for a call, or has one.
    fn is_taken(&self, client: Option<&str>) -> bool {
        let Some(client) = client.filter(|_| !self.is_per_caller()) else { return false };
        self.callers.has(&Principal::anonymous().id, client) || !self.is_free_for(client)
    }

    /// Whether no other client has a call on this connection, or has left one that is not answered.
    fn is_free_for(&self, client: &str) -> bool {
        self.live_connection().is_none_or(|connection| connection.inbox.works_only_for(client))
    }

    pub(super) fn unused_for(&self) -> Duration {
        self.unused_in(&self.life.lock())
    }

    pub(super) fn unused_in(&self, life: &Lifecycle<ConnectAttempt, Session>) -> Duration {
        let is_in_use = life.session().is_some_and(|session| session.connection.is_in_use());
        // A caller waits for the answer to a call, or for the changes of a resource.
        let is_awaited = self.calls.load(Ordering::Acquire) > 0 || !self.callbacks().subscriptions.is_empty();
        if is_in_use || is_awaited { Duration::ZERO } else { life.last_used.elapsed() }
    }

    /// Tells the server how much to log, on each of its connections. One that is not connected hears of it when it is.
    pub async fn apply_log_level(self: &Arc<Self>) {
        join_all(self.live_connections().iter().map(|connection| connection.apply_log_level())).await;
    }

    /// The roots of the one client have changed.
    pub async fn roots_changed(self: &Arc<Self>) {
        join_all(self.live_connections().iter().map(|connection| connection.roots_changed())).await;
    }

    /// Those of callers too.
    fn live_connections(self: &Arc<Self>) -> Vec<Arc<Connection>> {
        let all = self.callers.all().into_iter().chain([self.clone()]);
        all.filter_map(|server| server.live_connection()).collect()
    }

    pub(crate) fn live_connection(&self) -> Option<Arc<Connection>> {
        let life = self.life.lock();
        let session = life.session().filter(|session| session.connection.retired().is_none());
        session.map(|session| session.connection.clone())
    }

    fn of_one(
        self: &Arc<Self>,
        principal: &Principal,
        headers: Vec<(String, String)>,
        credentials: Option<Arc<dyn Credentials>>,
    ) -> Arc<Server> {
        let mut config = self.config().clone();
        config.options.idle_timeout = Some(config.options.idle_timeout.map_or(IDLE, |idle| idle.min(IDLE)));
        let host = &self.callbacks().host;
        let host = Host { offers: host.offers.of_caller(principal.id.clone()), ..host.clone() };
        // The limit of a server is one for all of its callers.
        let concurrency = self.concurrency.clone();
        let connector = Connector::new(config, host, credentials, headers);
        Arc::new(Server { concurrency, ..Server::with(connector, None) })
    }
}

// What a server keeps for each of its callers, and for each set of rights that a caller has: bounded in number.

/// The values of all callers of one server that are kept at once.
pub(super) const MOST_CALLERS: usize = 1_000;
/// The values of one caller from which on an idle one of its own makes room for another.
const MANY_OF_ONE: usize = 8;

/// The id of a principal, and what its credentials grant.
type CallerKey = (Arc<str>, String);

/// One value for each caller and its rights.
pub(super) struct PrincipalPool<T>(pub(super) Mutex<HashMap<CallerKey, Arc<T>>>);

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
mod principal_pool_tests {
    use super::*;

    #[test]
    fn callers_never_share_and_other_rights_make_another() {
        let pool = PrincipalPool::<String>(Mutex::default());
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
        let pool = PrincipalPool::<usize>(Mutex::default());
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
        let pool = PrincipalPool::<u64>(Mutex::default());
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
        let pool = PrincipalPool::<String>(Mutex::default());
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
