//! The callers of a gateway at one server: each that has credentials of its own has a connection of its own, too. So has each
//! principal at a server that asks without saying which call it asks about, and a client whose call would run beside that of
//! another client: on a shared connection nobody could be asked.

use super::{ConnectAttempt, ListingSink, Server};
use crate::mcp::auth::Credentials;
use crate::mcp::callbacks::Host;
use crate::mcp::config::Endpoint;
use crate::mcp::connection::Connection;
use crate::mcp::connector::Connector;
use crate::mcp::lifecycle::Lifecycle;
use crate::mcp::principal_headers::{self, HeaderNeeds};
use crate::mcp::principal_pool::PrincipalPool;
use crate::mcp::session::Session;
use futures_util::future::join_all;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use toolhub_text::message;
use toolhub_text::secret::Secret;
use toolhub_types::error::{ErrorKind, HubError, Outcome};
use toolhub_types::principal::Principal;
use toolhub_types::tool::CallContextExtras;

/// The connection of a caller is closed when it was not used for this long.
const IDLE: Duration = Duration::from_secs(300);

/// The lists of a caller's connection are used for its own calls only.
struct NotPublished;

impl ListingSink for NotPublished {}

/// What a server is for its callers.
pub(super) struct CallerServers {
    /// What its headers and its credentials need.
    pub needs: HeaderNeeds,
    /// It is the server of one caller: its tools are not offered by the hub.
    pub is_of_one: bool,
    pub servers: PrincipalPool<Server>,
}

impl Server {
    /// Whether callers of a gateway have connections of their own.
    pub fn is_per_caller(&self) -> bool {
        self.callers.needs != HeaderNeeds::Nothing
    }

    /// The server as this caller may use it, for what raises no questions.
    pub fn for_caller(self: &Arc<Self>, principal: Option<&Arc<Principal>>) -> Result<Arc<Server>, HubError> {
        self.of_caller(principal, None)
    }

    /// The server for one call. If its questions may be about any call, those of other clients run elsewhere.
    pub fn for_call(self: &Arc<Self>, extras: &CallContextExtras) -> Result<Arc<Server>, HubError> {
        let client = extras.ask.as_ref().map_or("", |ask| &*ask.caller);
        self.of_caller(extras.principal.as_ref(), Some(client))
    }

    fn of_caller(
        self: &Arc<Self>,
        principal: Option<&Arc<Principal>>,
        client: Option<&str>,
    ) -> Result<Arc<Server>, HubError> {
        let CallerServers { needs, is_of_one, servers } = &self.callers;
        // A server is the same for all, until it asks and does not say on whose behalf.
        if *is_of_one || *needs == HeaderNeeds::Nothing && !self.callbacks().asks_without_call() {
            return Ok(self.clone());
        }
        // Clients without credentials share a process as long as one of them has calls in it.
        let has_own = |principal: &Principal| !principal.is_anonymous() || self.is_taken(servers, client);
        let Some(principal) = principal.filter(|principal| has_own(principal)) else {
            if *needs != HeaderNeeds::Caller {
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
        let token = principal.subject_token.as_ref().filter(|_| shared.is_some_and(|c| c.are_of_one_token()));
        let rights = match self.is_per_caller() {
            // Neither part has a line break in it.
            true => format!("{}\n{}", principal.rights, token.map_or("", Secret::expose)),
            // A process of its own, whatever the caller may do: it gets no credentials.
            false => match servers.any_of(&principal.id).filter(|_| client.is_none()) {
                Some(own) => return Ok(own),
                None => client.unwrap_or_default().to_owned(),
            },
        };
        let make = || self.of_one(principal, headers, credentials);
        let unused_for = |server: &Server| Some(server.unused_for()).filter(|unused| !unused.is_zero());
        let is_free =
            |server: &Server| !self.is_per_caller() && server.is_free_for(client.unwrap_or_default());
        let server = servers.get(&principal.id, rights, make, is_free, unused_for).ok_or_else(|| {
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
    fn is_taken(&self, servers: &PrincipalPool<Server>, client: Option<&str>) -> bool {
        let Some(client) = client.filter(|_| !self.is_per_caller()) else { return false };
        servers.has(&Principal::anonymous().id, client) || !self.is_free_for(client)
    }

    /// Whether no other client has a call on this connection, or has left one that is not answered.
    fn is_free_for(&self, client: &str) -> bool {
        self.live_connection().is_none_or(|connection| connection.works_only_for(client))
    }

    pub(super) fn unused_for(&self) -> Duration {
        self.unused_in(&self.life.lock())
    }

    pub(super) fn unused_in(&self, life: &Lifecycle<ConnectAttempt, Session>) -> Duration {
        let is_in_use = life.session().is_some_and(|session| session.connection().is_in_use());
        if is_in_use || self.is_awaited() { Duration::ZERO } else { life.last_used.elapsed() }
    }

    /// Whether a caller waits for this server: for the answer to a call, or for the changes of a resource.
    pub(super) fn is_awaited(&self) -> bool {
        self.calls.load(Ordering::Acquire) > 0 || !self.callbacks().subscriptions.is_empty()
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
        let all = self.callers.servers.all().into_iter().chain([self.clone()]);
        all.filter_map(|server| server.live_connection()).collect()
    }

    pub(in crate::mcp) fn live_connection(&self) -> Option<Arc<Connection>> {
        let life = self.life.lock();
        let session = life.session().filter(|session| !session.is_lost());
        session.map(|session| session.connection().clone())
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
        let sink = Arc::new(NotPublished);
        let connector = Connector::new(config, host, credentials, headers);
        Server::build(connector, sink, concurrency, HeaderNeeds::Nothing, true)
    }
}
