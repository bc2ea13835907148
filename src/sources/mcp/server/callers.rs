//! The callers of a gateway at one server: each that has credentials of its own has a connection of its own, too. So has each
//! caller of a server that asks without a word to which call its question belongs: on a shared connection nobody could be asked
//! while another caller has a call, or has left one.

use super::{ListingSink, Server};
use crate::error::{ErrorKind, HubError, Outcome};
use crate::model::Effects;
use crate::principal::Principal;
use crate::secret::Secret;
use crate::sources::mcp::auth::Credentials;
use crate::sources::mcp::config::Endpoint;
use crate::sources::mcp::connection::{Connection, ServerIdentity};
use crate::sources::mcp::host::Host;
use crate::sources::mcp::listing::{Listed, Listing};
use crate::sources::mcp::principal_headers;
use crate::sources::mcp::principal_pool::CallerServers;
use crate::sources::mcp::skills::Skills;
use futures_util::future::join_all;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The connection of a caller is closed when it was not used for this long.
const IDLE: Duration = Duration::from_secs(300);

/// The lists of a caller's connection are used for its own calls only.
struct NotPublished;

impl ListingSink for NotPublished {
    fn fetched(&self, _: &Arc<Server>, _: &ServerIdentity, _: &Listing) {}
    fn publish_tools(&self, _: &Arc<Server>, _: &Arc<Listing>) {}
    fn publish_skills(&self, _: &Arc<Server>, _: &Arc<Skills>) {}
    fn effects(&self, _: &Server, _: &Listed) -> (Effects, bool) {
        (Effects::UNKNOWN, false)
    }
}

impl Server {
    /// Whether callers of a gateway have connections of their own.
    pub fn is_per_caller(&self) -> bool {
        matches!(self.callers, CallerServers::PerCaller { .. })
    }

    /// The server as this caller may use it.
    pub fn for_caller(self: &Arc<Self>, principal: Option<&Arc<Principal>>) -> Result<Arc<Server>, HubError> {
        let (is_open_to_none, servers) = match &self.callers {
            CallerServers::PerCaller { is_open_to_none, servers } => (*is_open_to_none, servers),
            CallerServers::Shared(servers) if self.callbacks().asks_without_call() => (true, servers),
            _ => return Ok(self.clone()),
        };
        let Some(principal) = principal.filter(|principal| !principal.is_anonymous()) else {
            return if is_open_to_none { Ok(self.clone()) } else { Err(self.needs_caller()) };
        };
        let headers = match &self.config().endpoint {
            Endpoint::Http(remote) => principal_headers::of_principal(self.id(), &remote.headers, principal)?,
            _ => Vec::new(),
        };
        let shared = self.connector.credentials();
        let own = shared.map(|credentials| credentials.of_caller(principal));
        let credentials = own.transpose()?.flatten().or_else(|| shared.cloned());
        let token = principal.subject_token.as_ref().filter(|_| shared.is_some_and(|c| c.are_of_one_token()));
        let rights = match self.is_per_caller() {
            // Neither part has a line break in it.
            true => format!("{}\n{}", principal.rights, token.map_or("", Secret::expose)),
            // A process of its own, whatever the caller may do: it gets no credentials.
            false => String::new(),
        };
        let make = || self.of_one(principal, headers, credentials);
        let unused_for = |server: &Server| Some(server.unused_for()).filter(|unused| !unused.is_zero());
        let server = servers.get(&principal.id, rights, make, unused_for).ok_or_else(|| {
            let text =
                format!("Server '{}' is used by too many callers at once; try again later.", self.id());
            HubError::new(ErrorKind::Overloaded, text).with_outcome(Outcome::NotSent)
        })?;
        if let Some(credentials) = server.connector.credentials() {
            credentials.called_by(principal);
        }
        Ok(server)
    }

    pub(super) fn unused_for(&self) -> Duration {
        self.life.lock().unused_for(self.is_awaited())
    }

    /// Whether a caller waits for this server: for the answer to a call, or for the changes of a resource.
    pub(super) fn is_awaited(&self) -> bool {
        self.calls.load(Ordering::Acquire) > 0 || !self.callbacks().subscriptions.is_empty()
    }

    /// Tells the server how much to log, on each of its connections. One that is not connected hears of it when it is.
    pub async fn apply_log_level(self: &Arc<Self>) {
        let all = self.callers.all().into_iter().chain([self.clone()]);
        let connections = all.filter_map(|server| server.live_connection());
        join_all(connections.map(|connection| async move { connection.apply_log_level().await })).await;
    }

    /// The roots of the one client have changed.
    pub async fn roots_changed(self: &Arc<Self>) {
        let all = self.callers.all().into_iter().chain([self.clone()]);
        let connections = all.filter_map(|server| server.live_connection());
        join_all(connections.map(|connection| async move { connection.roots_changed().await })).await;
    }

    fn live_connection(&self) -> Option<Arc<Connection>> {
        let life = self.life.lock();
        let session = life.machine.session().filter(|session| !session.is_lost());
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
        let host = self.callbacks().host();
        let host = Host { offers: host.offers.of_caller(principal.id.clone()), ..host.clone() };
        // The limit of a server is one for all of its callers.
        let concurrency = self.concurrency.clone();
        let sink = Arc::new(NotPublished);
        Server::build(config, host, credentials, sink, headers, concurrency, CallerServers::OfOne)
    }

    fn needs_caller(&self) -> HubError {
        let text = format!(
            "Server '{}' takes its credentials from the caller of a served hub, and this call has none; serve the hub with `token`, `jwt` or `authenticate`, or give its headers a token of the hub after `:-`.",
            self.id()
        );
        HubError::new(ErrorKind::Auth, text).with_outcome(Outcome::NotSent)
    }
}
