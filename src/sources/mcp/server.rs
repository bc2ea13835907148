//! One server: connected on demand, shared by all callers, restarted with back-off, closed for good.
//!
//! This is the part with a runtime. [`Lifecycle`] decides what happens, a [`Session`] is the connection with its tasks, and
//! [`ServerLists`] holds what was listed. An attempt to connect is a task of its own, so a caller that gives up leaves it
//! running for the next one. No task holds the server itself while it waits: dropping the server ends them all.

pub(crate) mod backoff;
mod callers;
mod info;
pub(crate) mod lifecycle;
pub(crate) mod principal_headers;
mod publish;
mod shutdown;

use self::backoff::{LIST_STARTS_WITHIN, MOST_LIST_STARTS, Outage, RetryBudget};
use self::publish::ServerLists;

use self::callers::PrincipalPool;
pub use self::info::ServerInfo;
use self::lifecycle::{ConnectFailure, ConnectReason, LifeStage, Lifecycle, Unavailable};
use super::auth::{CallerNeeds, Credentials};
use super::callbacks::{Host, ServerCallbacks};
use super::config::{Endpoint, ServerConfig};
use super::connection::{Connection, ServerIdentity};
use super::connector::Connector;
use super::protocol::{Era, ProtocolHint};
use super::session::{self, Session};
use super::skills::Skills;
use super::tool_list::{Listed, Listing};
use super::wire::clean;
use futures_util::FutureExt;
use futures_util::future::Shared;
use parking_lot::Mutex;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use toolhub_store::cassette;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::model::Effects;
use toolhub_types::tool::BoxFuture;

/// The characters of a server's instructions that clients get.
const LONGEST_INSTRUCTIONS: usize = 4_000;

/// Receives what servers list. Called on threads that may block, one list of a server at a time.
pub trait ListingSink: Send + Sync {
    /// A list as it came from the server, before the patterns of its configuration.
    fn fetched(&self, server: &Arc<Server>, identity: &ServerIdentity, listing: &Listing);
    fn publish_tools(&self, server: &Arc<Server>, listing: &Arc<Listing>);
    fn publish_skills(&self, server: &Arc<Server>, skills: &Arc<Skills>);
    /// What a tool with this definition may do, and whether a second call of it does no harm though it acts.
    fn effects(&self, server: &Server, tool: &Listed) -> (Effects, bool);
}

pub struct Server {
    connector: Arc<Connector>,
    /// `None` for the server of one caller: its lists are used for its own calls only.
    sink: Option<Arc<dyn ListingSink>>,
    life: Mutex<Lifecycle<ConnectAttempt, Session>>,
    lists: ServerLists,
    pub(super) retry_budget: Mutex<RetryBudget>,
    pub(super) outage: Mutex<Outage>,
    concurrency: Option<Arc<Semaphore>>,
    /// How many calls use the connection, or wait for it.
    calls: AtomicUsize,
    /// Fires when the server was removed or replaced.
    pub(super) dismissed: CancellationToken,
    /// What its headers and its credentials need of callers.
    needs: CallerNeeds,
    callers: PrincipalPool<Server>,
}

/// A call in progress; it keeps the connection from being closed for idleness.
pub(super) struct CallInProgress<'a>(&'a Server);

impl Drop for CallInProgress<'_> {
    fn drop(&mut self) {
        self.0.life.lock().last_used = Instant::now();
        self.0.calls.fetch_sub(1, Ordering::AcqRel);
    }
}

/// An attempt in progress. Dropping it aborts its task.
struct ConnectAttempt {
    outcome: Shared<BoxFuture<'static, Result<Arc<Connection>>>>,
    task: JoinSet<()>,
}

impl Server {
    pub fn new(
        config: ServerConfig,
        host: Host,
        credentials: Option<Arc<dyn Credentials>>,
        sink: Arc<dyn ListingSink>,
    ) -> Arc<Self> {
        let headers = match &config.endpoint {
            Endpoint::Http(remote) => remote.headers.as_slice(),
            _ => &[],
        };
        let of_credentials = credentials.as_ref().map_or(CallerNeeds::Nothing, |one| one.needs());
        let needs = principal_headers::needs(headers).max(of_credentials);
        let headers = principal_headers::own(headers);
        let concurrency = config.options.max_concurrency.map(|slots| Arc::new(Semaphore::new(slots)));
        let connector = Connector::new(config, host, credentials, headers);
        Arc::new(Server { concurrency, needs, ..Server::with(connector, Some(sink)) })
    }

    fn with(connector: Connector, sink: Option<Arc<dyn ListingSink>>) -> Self {
        Server {
            life: Mutex::new(Lifecycle::new(connector.config.disabled)),
            connector: Arc::new(connector),
            sink,
            lists: ServerLists::default(),
            retry_budget: Mutex::default(),
            outage: Mutex::default(),
            concurrency: None,
            calls: AtomicUsize::new(0),
            dismissed: CancellationToken::new(),
            needs: CallerNeeds::Nothing,
            callers: PrincipalPool(Mutex::default()),
        }
    }

    pub fn id(&self) -> &Arc<str> {
        &self.connector.config.id
    }

    pub fn config(&self) -> &ServerConfig {
        &self.connector.config
    }

    /// Writes a line about the server, where its own lines go.
    pub fn log(&self, level: &str, text: &str) {
        self.callbacks().log(level, text);
    }

    /// What a tool of this server may do, see [`ListingSink::effects`].
    pub(super) fn effects(&self, tool: &Listed) -> (Effects, bool) {
        self.sink.as_ref().map_or((Effects::UNKNOWN, false), |sink| sink.effects(self, tool))
    }

    pub fn callbacks(&self) -> &Arc<ServerCallbacks> {
        &self.connector.callbacks
    }

    /// The tools as they were listed last.
    pub fn listing(&self) -> Option<Arc<Listing>> {
        self.lists.tools()
    }

    /// Whether the server may have tools that are not in its list.
    pub fn may_have_more(&self) -> bool {
        self.is_behind() || self.lists.may_have_more()
    }

    /// Whether the server has announced a change that is not in its list yet.
    pub fn is_behind(&self) -> bool {
        self.lists.covered.load(Ordering::Acquire) < self.callbacks().changes()
    }

    /// Whether calls are refused for a while after failures.
    pub fn is_backing_off(&self) -> bool {
        self.life.lock().backoff.wait(Instant::now()).is_some()
    }

    /// Whether there is a session now.
    pub fn is_connected(&self) -> bool {
        self.live_connection().is_some()
    }

    /// The end of the error stream of its process, safe to show.
    pub fn error_lines(&self) -> Vec<String> {
        self.connector.output.load().as_ref().map(|output| output.error_lines()).unwrap_or_default()
    }

    /// What the server says of its use, without escapes and invisible characters, and not too long.
    pub fn shown_instructions(&self) -> Option<String> {
        let text = clean(&self.callbacks().instructions()?, LONGEST_INSTRUCTIONS);
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The connection, made now if there is none. During back-off this fails at once, with the reason.
    pub async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>> {
        self.connected(ConnectReason::Call).await
    }

    /// Does over the connection what does no harm, and once more when it is lost meanwhile.
    pub(super) async fn with_connection<T, F: Future<Output = Result<T>>>(
        self: &Arc<Self>,
        work: impl Fn(Arc<Connection>) -> F,
    ) -> Result<T> {
        let done = match work(self.connection().await?).await {
            Err(error) if error.kind == ErrorKind::Closed => work(self.connection().await?).await,
            done => done,
        };
        done.inspect(|_| self.answered())
    }

    /// Connects because a user asked for it, and waits for the list of tools. A list that fails does not fail this.
    pub async fn connect(self: &Arc<Self>) -> Result<()> {
        if let Some(recorded) = self.take_recorded_list() {
            return recorded.map(drop);
        }
        let begun = Instant::now();
        self.connected(ConnectReason::User).await?;
        // Leave some of the time: a list that takes longer arrives when it arrives.
        let limit = self.config().options.startup_timeout.mul_f64(0.9).saturating_sub(begun.elapsed());
        let is_of_it = |server: &Server, _, generation| server.lists.is_of(generation);
        let _ = timeout(limit, self.listed(ConnectReason::User, false, is_of_it)).await;
        Ok(())
    }

    /// The connection, or what comes of the attempt to get one that is in progress or is started now.
    async fn connected(self: &Arc<Self>, reason: ConnectReason) -> Result<Arc<Connection>> {
        // A replay opens no connection, whatever asks for one.
        if cassette::is_replaying() {
            let text = message!("Server '{}' is not started: calls are replayed from a cassette.", self.id());
            return Err(HubError::new(ErrorKind::Connect, text));
        }
        self.end_lost();
        let now = Instant::now();
        let mut started = false;
        let attempt = {
            let mut life = self.life.lock();
            life.last_used = now;
            let wanted = life.want(reason, now, |generation, hint| {
                started = true;
                self.attempt(generation, hint)
            });
            match wanted {
                Ok(LifeStage::Ready { session, .. }) => return Ok(session.connection.clone()),
                Ok(LifeStage::Connecting(attempt)) => Ok(attempt.outcome.clone()),
                Ok(LifeStage::Idle | LifeStage::Closed) => Err(Unavailable::Closed),
                Err(unavailable) => Err(unavailable),
            }
        };
        // Outside of the lock: the hub's listeners may do anything.
        if started {
            self.callbacks().tell("connecting", json!({}));
        }
        let outcome = attempt.map_err(|unavailable| self.unavailable(unavailable))?.await;
        outcome.map_err(|error| match reason {
            ConnectReason::User => error,
            ConnectReason::Call | ConnectReason::List => {
                let message = message!("Auto-connect failed for server '{}': {}", clip(self.id()), error);
                HubError { message, ..error }
            }
        })
    }

    /// Starts an attempt to connect. It holds the connector, and not the server.
    fn attempt(self: &Arc<Self>, generation: u64, hint: Option<ProtocolHint>) -> ConnectAttempt {
        let (sender, outcome) = oneshot::channel();
        let (server, connector) = (Arc::downgrade(self), self.connector.clone());
        let mut task = JoinSet::new();
        task.spawn(async move {
            let begun = Instant::now();
            let connected = connector.connect_in_time(hint).await;
            let Some(server) = server.upgrade() else { return };
            connector.report(&connected, begun.elapsed());
            // Aborts this very task, which has nothing left to wait for.
            let _ = sender.send(server.end_attempt(generation, connected));
        });
        let outcome = outcome.map(|outcome| outcome.unwrap_or_else(|_| Err(closed_meanwhile())));
        ConnectAttempt { outcome: outcome.boxed().shared(), task }
    }

    fn end_attempt(
        self: &Arc<Self>,
        generation: u64,
        connected: Result<Connection>,
    ) -> Result<Arc<Connection>> {
        let now = Instant::now();
        let mut connection = connected.map_err(|error| {
            let error = error.with_outcome(Outcome::NotSent);
            self.life.lock().failed(generation, error.clone(), now);
            error
        })?;
        connection.generation = generation;
        let connection = Arc::new(connection);
        let session = self.session(connection.clone());
        let entered = self.life.lock().connected(generation, session, connection.hint, now);
        if let Err(too_late) = entered {
            drop(too_late);
            self.tell_lost(Some(Duration::ZERO), None);
            return Err(closed_meanwhile());
        }
        if connection.retired().is_some() {
            self.end_lost();
        }
        Ok(connection)
    }

    /// A connection with its background tasks.
    fn session(self: &Arc<Self>, connection: Arc<Connection>) -> Session {
        let generation = connection.generation;
        let mut session = Session::new(connection.clone());
        let (server, over) = (Arc::downgrade(self), connection.clone());
        let list = move || {
            let (server, over) = (server.clone(), over.clone());
            async move {
                let is_enough = move |server: &Server| server.lists.is_of(generation) && !server.is_behind();
                let listed = Self::list(server, over.clone(), Instant::now(), false, is_enough).await;
                // A server that is lost lists its tools in its next session.
                !listed.is_err_and(|error| is_unanswered(&error)) || over.retired().is_some()
            }
        };
        let changed = self.callbacks().tools_changed.clone();
        if self.sink.is_some() || self.config().options.pin {
            session.tasks.spawn(session::keep_tools_listed(changed, list));
        }
        let (server, ending) = (Arc::downgrade(self), connection.clone());
        session.tasks.spawn(async move {
            // A server over HTTP that goes away does not close it.
            ending.inbox.ended.cancelled().await;
            if let Some(server) = server.upgrade() {
                server.end_lost();
            }
        });
        let uris = self.callbacks().subscriptions.uris();
        session.tasks.spawn(session::renew_subscriptions(connection.clone(), uris));
        if connection.server.era == Era::Modern {
            let (server, callbacks) = (Arc::downgrade(self), self.callbacks().clone());
            let lists = self.sink.is_some();
            self.lists.is_silent.store(false, Ordering::Relaxed);
            session.tasks.spawn(async move {
                let of_tools = connection.server.announces_changes_of("tools");
                let is_refused = session::subscribe(connection, callbacks, lists).await && of_tools;
                if let Some(server) = server.upgrade().filter(|_| is_refused) {
                    server.lists.is_silent.store(true, Ordering::Relaxed);
                }
            });
        }
        if let Some(idle) = self.config().options.idle_timeout {
            let server = Arc::downgrade(self);
            session.tasks.spawn(async move {
                let left = || server.upgrade()?.end_idle(generation, idle);
                while let Some(left) = left() {
                    sleep(left).await;
                }
            });
        }
        session
    }

    /// The server has answered a call, so the failures before it do not count any more.
    pub(super) fn answered(&self) {
        let mut life = self.life.lock();
        life.last_used = Instant::now();
        life.answered();
        drop(life);
        *self.outage.lock() = Outage::Answers;
    }

    /// Takes note of a call until the guard is dropped.
    pub(super) fn begin_call(&self) -> CallInProgress<'_> {
        self.calls.fetch_add(1, Ordering::AcqRel);
        CallInProgress(self)
    }

    /// While there is no connection: what the server's process says on its error stream.
    pub fn startup_output(&self) -> Option<String> {
        let is_connecting = self.life.lock().is_connecting();
        self.connector.output.load().as_ref()?.reason().filter(|_| is_connecting)
    }

    /// Ends a session that nothing uses: no call, no task, no subscription. The next call makes a new one. Otherwise gives the time
    /// that is left.
    fn end_idle(&self, generation: u64, limit: Duration) -> Option<Duration> {
        let mut life = self.life.lock();
        let left = limit.saturating_sub(self.unused_in(&life));
        if !left.is_zero() {
            return Some(left);
        }
        let session = life.take_idle(generation);
        drop(life);
        // A task of its own: this one belongs to the session and ends with it.
        session.map(|session| tokio::spawn(session.close()));
        None
    }

    /// The error of a call for which nothing was tried. During back-off it reports the last failure, and when the next try is.
    fn unavailable(&self, why: Unavailable) -> HubError {
        let id = clip(self.id());
        let shown = |time: Duration| format!("{:.1}", time.as_secs_f64());
        let new = |kind, text| HubError::new(kind, text);
        let (wait, error) = match why {
            Unavailable::Closed => {
                (None, new(ErrorKind::Closed, message!("Server '{}' is closed; add it again to use it.", id)))
            }
            Unavailable::Disabled => {
                let text = message!("Server '{}' is disabled in its configuration.", id);
                (None, new(ErrorKind::NotAllowed, text))
            }
            Unavailable::BackingOff { wait, failures, last } => {
                let ConnectFailure { error, at, lived } = *last;
                let ago = shown(at.elapsed());
                let error = match lived.map(shown) {
                    None => {
                        let message = message!(
                            "Auto-connect failed for server '{}': {} (attempt {} in a row, {} s ago; not tried again yet, the next try is in {} s)",
                            id,
                            error,
                            failures,
                            ago,
                            shown(wait)
                        );
                        HubError { message, ..error }
                    }
                    Some(lived) => new(
                        ErrorKind::Connect,
                        message!(
                            "Server '{}' was lost {} s after it was connected: {} (failure {} in a row, {} s ago; not connected again yet, the next try is in {} s)",
                            id,
                            lived,
                            error,
                            failures,
                            ago,
                            shown(wait)
                        ),
                    ),
                };
                (Some(wait), error)
            }
            Unavailable::ListedOften { wait } => {
                let text = message!(
                    "Server '{}' was started {} times in {} s for its list alone; without a call it is started again in {} s.",
                    id,
                    MOST_LIST_STARTS,
                    LIST_STARTS_WITHIN.as_secs(),
                    shown(wait)
                );
                (Some(wait), new(ErrorKind::Connect, text))
            }
        };
        let retry_after = wait.map(|wait| wait.as_secs_f64()).or(error.retry_after);
        HubError { retry_after, ..error }.with_outcome(Outcome::NotSent)
    }
}

/// Whether a list failed on its way. A server that gives a wrong one will not give a better one by itself.
fn is_unanswered(error: &HubError) -> bool {
    matches!(error.kind, ErrorKind::Timeout | ErrorKind::Closed | ErrorKind::Connect | ErrorKind::Http)
}

/// The error of a call whose connection is gone before it was sent.
fn lost() -> HubError {
    HubError::new(ErrorKind::Closed, "the connection was lost").with_outcome(Outcome::NotSent)
}

fn closed_meanwhile() -> HubError {
    HubError::new(ErrorKind::Closed, "the server was closed meanwhile").with_outcome(Outcome::NotSent)
}
