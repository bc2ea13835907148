//! One server through all its lives: connected on demand, shared by all callers, restarted with patience, closed for good.
//!
//! ```text
//! idle ──first call / connect──► connecting ──► ready ──lost──► idle        closed is for ever
//!   ▲                                │ failed: the next ones rest a while
//!   └────────────────────────────────┘
//! ```
//!
//! An attempt to connect is a task of its own: a caller who does not wait so long leaves it running for the next one.

use super::auth::Credentials;
use super::backoff::{Budget, Fortune};
use super::config::{Dialect, Endpoint, ServerConfig};
use super::connection::{Connection, Peer};
use super::host::{Ear, Host};
use super::listing::{self, Listed, Listing};
use super::route::{Known, Route};
use super::skills::{self, Skills};
use super::transport::Era;
use crate::error::{ErrorKind, HubError, Outcome, clip};
use crate::tool::BoxFuture;
use arc_swap::ArcSwapOption;
use futures_util::FutureExt;
use futures_util::future::WeakShared;
use parking_lot::Mutex;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;

/// Told when the list of a server's tools or skills is new or has changed.
pub trait Shelf: Send + Sync {
    /// All that the server has just listed, whatever of it is wanted.
    fn fetched(&self, server: &Server, peer: &Peer, listing: &Listing);
    fn listed(&self, server: &Arc<Server>, listing: &Arc<Listing>);
    fn has_skills(&self, server: &Arc<Server>, skills: &Arc<Skills>);
}

/// For all pages of the list of skills.
const SKILLS_PATIENCE: Duration = Duration::from_secs(10);

/// A list of a server that does not say how long it holds is believed so long by those who miss a tool in it.
const BELIEVED: Duration = Duration::from_secs(300);
/// However short a server says that its list holds, those who miss a tool do not ask again and again.
const ASKED_AT_MOST_EVERY: Duration = Duration::from_secs(1);

pub struct Server {
    route: Route,
    shelf: Arc<dyn Shelf>,
    state: Mutex<State>,
    listing: ArcSwapOption<Listing>,
    listed_at: Mutex<Option<Instant>>,
    /// What was spoken when they were listed, perhaps by an earlier process.
    spoken: Mutex<Option<Spoken>>,
    /// A look at the tools that is going on, shared by all who want one.
    look: Mutex<Option<WeakShared<Look>>>,
    /// `None` as long as the server has not said that it has any.
    skills: ArcSwapOption<Skills>,
    pub(super) budget: Mutex<Budget>,
    pub(super) places: Option<Arc<Semaphore>>,
    last_used: Mutex<Instant>,
    /// How many lists were fetched or failed.
    lists: watch::Sender<usize>,
}

type Look = BoxFuture<'static, Result<(), HubError>>;

#[derive(Default)]
struct State {
    link: Link,
    fortune: Fortune,
    known: Option<Known>,
    /// Why the last attempt failed.
    error: Option<HubError>,
    /// Tasks that live as long as the connection.
    followers: Vec<AbortHandle>,
}

/// How an attempt to connect ended; `None` while it goes on.
type Attempt = watch::Receiver<Option<Result<Arc<Connection>, HubError>>>;

#[derive(Default)]
enum Link {
    #[default]
    Idle,
    Connecting {
        outcome: Attempt,
        task: AbortHandle,
    },
    Ready {
        connection: Arc<Connection>,
        since: Instant,
        /// How many lists there had been before it.
        lists: usize,
    },
    Closed,
}

/// What server and client agreed on; of a later toolhub the version may be unknown.
#[derive(Clone, Copy, Debug)]
pub struct Spoken {
    pub era: Era,
    pub version: Option<&'static str>,
}

impl Spoken {
    fn by(peer: &Peer) -> Spoken {
        Spoken { era: peer.era, version: Some(peer.version) }
    }
}

/// What the outside may know about a server.
#[derive(Clone, Debug)]
pub struct ServerInfo {
    pub transport: &'static str,
    pub state: &'static str,
    pub era: Option<&'static str>,
    pub version: Option<&'static str>,
    pub tools: Option<usize>,
    /// Since they were listed.
    pub age: Option<Duration>,
    pub error: Option<HubError>,
    pub pid: Option<u32>,
    pub notices: Vec<String>,
    pub instructions: Option<String>,
}

impl Server {
    pub fn new(
        config: ServerConfig,
        host: Host,
        credentials: Option<Arc<dyn Credentials>>,
        shelf: Arc<dyn Shelf>,
    ) -> Arc<Self> {
        let ear = Ear::new(&config, host);
        Arc::new(Server {
            places: config.options.max_concurrency.map(|places| Arc::new(Semaphore::new(places))),
            route: Route { config, ear, credentials },
            shelf,
            state: Mutex::default(),
            listing: ArcSwapOption::empty(),
            listed_at: Mutex::default(),
            spoken: Mutex::default(),
            look: Mutex::default(),
            skills: ArcSwapOption::empty(),
            budget: Mutex::default(),
            last_used: Mutex::new(Instant::now()),
            lists: watch::Sender::new(0),
        })
    }

    pub fn id(&self) -> &Arc<str> {
        &self.route.config.id
    }

    pub fn config(&self) -> &ServerConfig {
        &self.route.config
    }

    pub(super) fn ear(&self) -> &Arc<Ear> {
        &self.route.ear
    }

    /// The tools as they were listed last.
    pub fn listing(&self) -> Option<Arc<Listing>> {
        self.listing.load_full()
    }

    /// Whether a tool that is not in the list may be there all the same: the list is missing, or older than its server
    /// says, or than we believe one that says nothing.
    pub fn may_have_more(&self) -> bool {
        let Some(at) = *self.listed_at.lock() else { return true };
        let said = self.listing.load().as_ref().and_then(|listing| listing.ttl_ms).map(Duration::from_millis);
        at.elapsed() > said.map_or(BELIEVED, |said| said.max(ASKED_AT_MOST_EVERY))
    }

    /// Whether it rests after failures, so that only those who insist try to connect.
    pub fn is_resting(&self) -> bool {
        self.state.lock().fortune.rest(Instant::now()).is_some()
    }

    pub fn info(&self) -> ServerInfo {
        let state = self.state.lock();
        let connection = match &state.link {
            Link::Ready { connection, .. } if connection.transport().retired().is_none() => Some(connection),
            _ => None,
        };
        let name = match &state.link {
            Link::Closed => "closed",
            _ if self.route.config.disabled => "disabled",
            Link::Connecting { .. } => "connecting",
            Link::Ready { .. } if connection.is_some() => "connected",
            _ if state.error.is_some() => "failed",
            Link::Ready { .. } | Link::Idle => "disconnected",
        };
        let (listing, skills) = (self.listing(), self.skills.load_full());
        let transport = match &self.route.config.endpoint {
            Endpoint::Stdio(_) => "stdio",
            Endpoint::Http(remote) if remote.dialect == Dialect::Sse => "sse",
            Endpoint::Http(_) if state.known == Some(Known::OldHttp) => "sse",
            Endpoint::Http(_) => "http",
        };
        let spoken =
            connection.map(|connection| Spoken::by(connection.peer())).or_else(|| *self.spoken.lock());
        ServerInfo {
            transport,
            state: name,
            era: spoken.map(|spoken| spoken.era.name()),
            version: spoken.and_then(|spoken| spoken.version),
            tools: listing.as_ref().map(|listing| listing.tools.len()),
            age: self.listed_at.lock().map(|at| at.elapsed()),
            error: state.error.clone(),
            pid: connection.and_then(|connection| connection.transport().pid()),
            notices: listing
                .iter()
                .flat_map(|listing| &listing.notices)
                .chain(skills.iter().flat_map(|skills| &skills.notices))
                .cloned()
                .collect(),
            instructions: self.route.ear.instructions(),
        }
    }

    /// The connection, made now if there is none. While the server rests after failures, the reason is given at once.
    pub async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, HubError> {
        *self.last_used.lock() = Instant::now();
        match self.begin(false)? {
            Begun::Ready(connection) => Ok(connection),
            Begun::Going(attempt) => outcome(attempt).await.map_err(|error| self.auto_connect_failed(error)),
        }
    }

    /// Connects because somebody asks for it, and waits for the list of tools. That the list fails is no failure of this.
    pub async fn connect(self: &Arc<Self>) -> Result<(), HubError> {
        let begun = Instant::now();
        match self.begin(true)? {
            Begun::Ready(_) => {}
            Begun::Going(attempt) => drop(outcome(attempt).await?),
        }
        // Most of the time that is there for connecting; a list that takes longer comes when it comes.
        let patience = self.route.config.options.startup_timeout.mul_f64(0.9);
        let mut lists = self.lists.subscribe();
        let listed = lists.wait_for(|lists| *lists > 0);
        let _ = tokio::time::timeout(patience.saturating_sub(begun.elapsed()), listed).await;
        Ok(())
    }

    /// Lists the tools anew.
    pub async fn refresh(self: &Arc<Self>) -> Result<Arc<Listing>, HubError> {
        let connection = match self.begin(true)? {
            Begun::Ready(connection) => connection,
            Begun::Going(attempt) => outcome(attempt).await?,
        };
        self.list(&connection).await
    }

    /// Lists the tools anew because somebody looks for one: a server that rests after failures is left in peace, and those
    /// who look at the same time share one look.
    pub async fn look(self: &Arc<Self>) -> Result<(), HubError> {
        let going_on = {
            let mut look = self.look.lock();
            let known = look.as_ref().and_then(WeakShared::upgrade).filter(|going| going.peek().is_none());
            known.unwrap_or_else(|| {
                let server = self.clone();
                let begun: Look = Box::pin(async move { server.look_now().await });
                let begun = begun.shared();
                *look = begun.downgrade();
                begun
            })
        };
        going_on.await
    }

    async fn look_now(self: &Arc<Self>) -> Result<(), HubError> {
        let mut lists = self.lists.subscribe();
        let before = *lists.borrow_and_update();
        match self.begin(false)? {
            Begun::Ready(connection) => self.list(&connection).await.map(drop),
            Begun::Going(attempt) => {
                outcome(attempt).await.map_err(|error| self.auto_connect_failed(error))?;
                // Whoever connects also lists.
                let _ = lists.wait_for(|lists| *lists > before).await;
                self.state.lock().error.clone().map_or(Ok(()), Err)
            }
        }
    }

    async fn list(self: &Arc<Self>, connection: &Connection) -> Result<Arc<Listing>, HubError> {
        // Side by side: whichever is slow does not hold up the other.
        let tools = async {
            let listing = listing::fetch(connection).await?;
            self.shelf.fetched(self, connection.peer(), &listing);
            Ok(self.publish(listing, Spoken::by(connection.peer()), Some(Instant::now())))
        };
        let (listed, ()) = tokio::join!(tools, self.refresh_skills(connection));
        self.state.lock().error = listed.as_ref().err().cloned();
        self.lists.send_modify(|lists| *lists += 1);
        listed
    }

    /// Has the server list its tools over the connection that there is now, unless it has done so, and refuses a call of one that it
    /// describes in another way than before. For pins: an older list says nothing about the server of today.
    pub(super) async fn confirm(self: &Arc<Self>, called: &Listed) -> Result<(), HubError> {
        let Link::Ready { lists: before, .. } = self.state.lock().link else {
            return Err(
                HubError::new(ErrorKind::Closed, "the connection was lost").with_outcome(Outcome::NotSent)
            );
        };
        if *self.lists.borrow() <= before {
            self.look().await.map_err(|error| error.with_outcome(Outcome::NotSent))?;
        }
        if let Some(error) = self.state.lock().error.clone() {
            return Err(error.with_outcome(Outcome::NotSent));
        }
        let listing = self.listing();
        let now = listing.iter().flat_map(|listing| &listing.tools).find(|tool| tool.name == called.name);
        if now.is_some_and(|now| **now == *called || now.to_json() == called.to_json()) {
            return Ok(());
        }
        let text = format!(
            "Server '{}' has changed its tool '{}' since its definition was accepted; look at it with hub.pins().",
            self.id(),
            clip(&called.name)
        );
        Err(HubError::new(ErrorKind::NotAllowed, text).with_outcome(Outcome::NotSent))
    }

    /// Takes a list of before, so old by now, until the server is next connected and lists its tools itself.
    pub fn restore(self: &Arc<Self>, listing: Listing, spoken: Spoken, age: Duration) {
        self.state.lock().known = Some(match spoken.era {
            Era::Modern => Known::Modern,
            Era::Legacy => Known::Legacy,
        });
        self.publish(listing, spoken, Instant::now().checked_sub(age));
    }

    fn publish(self: &Arc<Self>, mut listing: Listing, spoken: Spoken, at: Option<Instant>) -> Arc<Listing> {
        listing.tools.retain(|tool| self.route.config.options.wants(&tool.name));
        let listing = Arc::new(listing);
        self.listing.store(Some(listing.clone()));
        *self.listed_at.lock() = at;
        *self.spoken.lock() = Some(spoken);
        self.shelf.listed(self, &listing);
        listing
    }

    /// Lists the skills anew, if the server has any; when that fails, those that are known stay.
    async fn refresh_skills(self: &Arc<Self>, connection: &Connection) {
        let known = self.skills.load_full();
        if known.is_none() && !skills::offered(connection) {
            return;
        }
        let listed = match skills::offered(connection) {
            true => tokio::time::timeout(SKILLS_PATIENCE, skills::fetch(connection)).await,
            false => Ok(Ok(Skills::default())),
        };
        let mut skills = match listed {
            Ok(Ok(skills)) => skills,
            failed => {
                let why = failed
                    .ok()
                    .and_then(Result::err)
                    .map_or("no answer in time".into(), |error| error.message);
                let mut skills =
                    Skills { notices: Vec::new(), ..known.as_deref().cloned().unwrap_or_default() };
                skills.note(format!("the skills could not be listed: {why}"));
                skills
            }
        };
        skills.skills.retain(|skill| self.route.config.options.wants(&skill.name));
        let skills = Arc::new(skills);
        self.skills.store(Some(skills.clone()));
        self.shelf.has_skills(self, &skills);
    }

    /// Ends the connection and every attempt, for ever. Calls in flight fail.
    pub async fn close(&self) {
        let (link, followers) = {
            let mut state = self.state.lock();
            (std::mem::replace(&mut state.link, Link::Closed), std::mem::take(&mut state.followers))
        };
        followers.iter().for_each(AbortHandle::abort);
        match link {
            Link::Ready { connection, .. } => connection.close().await,
            Link::Connecting { task, outcome: mut over } => {
                task.abort();
                // The attempt drops what it holds before this ends.
                while over.changed().await.is_ok() {}
            }
            Link::Idle | Link::Closed => {}
        }
    }

    fn begin(self: &Arc<Self>, asked_for: bool) -> Result<Begun, HubError> {
        let now = Instant::now();
        let mut state = self.state.lock();
        match &state.link {
            Link::Closed => return Err(self.is_closed()),
            Link::Connecting { outcome, .. } => return Ok(Begun::Going(outcome.clone())),
            Link::Ready { connection, since, .. } => {
                if connection.transport().retired().is_none() {
                    return Ok(Begun::Ready(connection.clone()));
                }
                let lived = now.duration_since(*since);
                state.fortune.lost(lived, now);
                self.route.ear.tell("disconnected", json!({"duration_ms": lived.as_secs_f64() * 1e3}));
                state.link = Link::Idle;
                state.followers.drain(..).for_each(|follower| follower.abort());
            }
            Link::Idle => {}
        }
        if self.route.config.disabled {
            let text = format!("Server '{}' is disabled in its configuration.", self.id());
            return Err(HubError::new(ErrorKind::NotAllowed, text));
        }
        if let Some(rest) = state.fortune.rest(now).filter(|_| !asked_for) {
            return Err(self.rests(&state, rest));
        }
        self.route.ear.tell("connecting", json!({}));
        let (sender, outcome) = watch::channel(None);
        let (server, known) = (self.clone(), state.known);
        let task = tokio::spawn(async move {
            let result = server.attempt(known).await;
            let _ = sender.send(Some(result));
        });
        state.link = Link::Connecting { outcome: outcome.clone(), task: task.abort_handle() };
        Ok(Begun::Going(outcome))
    }

    async fn attempt(self: &Arc<Self>, known: Option<Known>) -> Result<Arc<Connection>, HubError> {
        let begun = Instant::now();
        let patience = self.route.config.options.startup_timeout;
        let connect = async {
            match self.route.connect(known).await {
                // It may have been an older version of itself when that was learnt.
                Err(error) if known == Some(Known::Legacy) && error.kind == ErrorKind::Rpc => {
                    self.route.connect(None).await
                }
                connected => connected,
            }
        };
        let connected = tokio::time::timeout(patience, connect).await;
        let connected = connected.unwrap_or_else(|_| {
            let text = format!("no answer within {} s", patience.as_secs_f64());
            Err(HubError::new(ErrorKind::Timeout, text))
        });
        self.tell_outcome(&connected, begun.elapsed());
        let mut state = self.state.lock();
        match connected {
            Ok((connection, known)) => {
                let connection = Arc::new(connection);
                state.known = Some(known);
                state.error = None;
                let lists = *self.lists.borrow();
                state.followers = self.follow(&connection);
                state.link = Link::Ready { connection: connection.clone(), since: Instant::now(), lists };
                Ok(connection)
            }
            Err(error) => {
                let error = error.with_outcome(Outcome::NotSent);
                state.fortune.failed(Instant::now());
                // What was remembered may be what is wrong: the next one finds out again.
                state.known = None;
                state.error = Some(error.clone());
                state.link = Link::Idle;
                Err(error)
            }
        }
    }

    fn tell_outcome(&self, connected: &Result<(Connection, Known), HubError>, took: Duration) {
        let duration_ms = took.as_secs_f64() * 1e3;
        match connected {
            Ok((connection, _)) => {
                let (era, version) = (connection.peer().era.name(), connection.peer().version);
                let details = json!({"duration_ms": duration_ms, "era": era, "version": version});
                self.route.ear.tell("connected", details);
            }
            Err(error) => {
                let (kind, message) = (error.kind.name(), &*error.message);
                let details = json!({"duration_ms": duration_ms, "kind": kind, "error": message});
                self.route.ear.tell("connect_failed", details);
            }
        }
    }

    /// Tasks beside a connection: list the tools when they change, and end what nobody uses.
    fn follow(self: &Arc<Self>, connection: &Arc<Connection>) -> Vec<AbortHandle> {
        let mut followers = vec![tokio::spawn(super::follow::relist(Arc::downgrade(self))).abort_handle()];
        if connection.peer().era == Era::Modern && connection.peer().announces_changes() {
            followers.push(tokio::spawn(super::follow::subscribe(connection.clone())).abort_handle());
        }
        if let Some(idle) = self.route.config.options.idle_timeout {
            followers
                .push(tokio::spawn(super::follow::end_when_idle(Arc::downgrade(self), idle)).abort_handle());
        }
        followers
    }

    pub(super) fn unused_for(&self) -> Duration {
        self.last_used.lock().elapsed()
    }

    pub(super) fn touch(&self) {
        *self.last_used.lock() = Instant::now();
    }

    /// Lets go of the connection; the next call makes a new one.
    pub(super) async fn disconnect(&self) {
        let connection = {
            let mut state = self.state.lock();
            match std::mem::take(&mut state.link) {
                Link::Ready { connection, .. } => Some(connection),
                other => {
                    state.link = other;
                    None
                }
            }
        };
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    fn auto_connect_failed(&self, error: HubError) -> HubError {
        let message = format!("Auto-connect failed for server '{}': {}", self.id(), error.message);
        HubError { message: message.into(), ..error }
    }

    fn rests(&self, state: &State, rest: Duration) -> HubError {
        let why = state.error.clone().unwrap_or_else(|| {
            HubError::new(ErrorKind::Connect, "it was lost soon after every start")
                .with_outcome(Outcome::NotSent)
        });
        let text = format!(
            "Auto-connect failed for server '{}': {} ({} times in a row; the next try is in {:.1} s)",
            self.id(),
            why.message,
            state.fortune.failures(),
            rest.as_secs_f64()
        );
        HubError { message: text.into(), retry_after: Some(rest.as_secs_f64()), ..why }
    }

    fn is_closed(&self) -> HubError {
        let text = format!("Server '{}' is closed; add it again to use it.", self.id());
        HubError::new(ErrorKind::Closed, text).with_outcome(Outcome::NotSent)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.get_mut().followers.iter().for_each(AbortHandle::abort);
    }
}

enum Begun {
    Ready(Arc<Connection>),
    Going(Attempt),
}

async fn outcome(mut attempt: Attempt) -> Result<Arc<Connection>, HubError> {
    let gone =
        || HubError::new(ErrorKind::Closed, "the server was closed meanwhile").with_outcome(Outcome::NotSent);
    match attempt.wait_for(Option::is_some).await {
        Ok(outcome) => outcome.clone().unwrap_or_else(|| Err(gone())),
        Err(_) => Err(gone()),
    }
}
