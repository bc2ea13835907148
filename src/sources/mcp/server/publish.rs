//! From a session to published lists: fetch the tools and skills, and hand them to the [`ListingSink`](super::ListingSink)
//! unless a later session or list has taken their place.
//!
//! A list is requested because a tool is missing, or because a call needs a list that is as current as itself. All that need
//! one at the same time share one request, also one that the session has sent by itself.

use super::{Server, closed_meanwhile, lost};
use crate::mcp::connection::{Connection, ServerIdentity};
use crate::mcp::lifecycle::ConnectReason;
use crate::mcp::protocol::{Era, NegotiatedProtocol, ProtocolHint};
use crate::mcp::skills::{self, Skills};
use crate::mcp::tool_list::{self, Listing};
use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::time::timeout;
use toolhub_store::cassette;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result};
use toolhub_types::model::Freshness;

/// The limit for all pages of the list of skills.
const SKILLS_LIMIT: Duration = Duration::from_secs(10);
/// How often a list is requested over a new connection, because one was lost meanwhile.
const MOST_LOOKS: usize = 4;

impl Server {
    /// Lists the tools again.
    pub async fn refresh(self: &Arc<Self>) -> Result<Arc<Listing>> {
        self.listed(ConnectReason::User, false, |server, begun, _| server.lists.is_since(begun, false)).await
    }

    /// Lists the tools again because one is missing. A server in back-off is left alone, and callers that look at the
    /// same time share one request. `is_for_call`: a caller has named this server, and waits for it.
    pub async fn look(self: &Arc<Self>, is_for_call: bool) -> Result<()> {
        let reason = if is_for_call { ConnectReason::Call } else { ConnectReason::List };
        // A list that was on its way has all changes that were announced before, if it has those that are announced now.
        let is_enough = |server: &Server, begun, generation| {
            server.lists.is_of(generation) && server.lists.came_since(begun) && !server.is_behind()
        };
        self.listed(reason, false, is_enough).await.map(drop)
    }

    /// Has the present session list its tools, unless it has done so and the list is as current as this.
    pub async fn list_as(self: &Arc<Self>, freshness: Freshness) -> Result<()> {
        let begun = Instant::now();
        let of_now = freshness == Freshness::Now;
        let is_enough = |server: &Server| {
            server.has_listed() && server.lists.is_since(begun, of_now)
                || !of_now && server.has_current_list()
        };
        for _ in 0..MOST_LOOKS {
            if is_enough(self) {
                return Ok(());
            }
            match self.listed(ConnectReason::Call, of_now, |server, _, _| is_enough(server)).await {
                Err(error) if error.kind == ErrorKind::Closed => {}
                listed => return listed.map(drop),
            }
        }
        Err(lost())
    }

    /// Connects, and has the session list its tools unless the list that is there by then `is_enough`, from the beginning of this
    /// and the generation of the session.
    pub(super) async fn listed(
        self: &Arc<Self>,
        reason: ConnectReason,
        of_now: bool,
        is_enough: impl Fn(&Server, Instant, u64) -> bool,
    ) -> Result<Arc<Listing>> {
        if let Some(recorded) = self.take_recorded_list() {
            return recorded;
        }
        let begun = Instant::now();
        let connection = self.connected(reason).await?;
        let generation = connection.generation;
        let is_enough = |server: &Server| is_enough(server, begun, generation);
        Self::list(Arc::downgrade(self), connection, begun, of_now, is_enough).await
    }

    /// Since when the request for the lists that is running has no answer.
    pub fn listing_since(&self) -> Option<Instant> {
        self.lists.running_since()
    }

    /// Fetches and publishes the lists of a session, unless the list that is there by then `is_enough`. One request is made at a
    /// time. One that failed since `begun` failed for all that waited for it. Holds the connection meanwhile, and not the server.
    pub(super) async fn list(
        server: Weak<Self>,
        connection: Arc<Connection>,
        begun: Instant,
        of_now: bool,
        is_enough: impl Fn(&Server) -> bool,
    ) -> Result<Arc<Listing>> {
        let turn = server.upgrade().ok_or_else(closed_meanwhile)?.lists.turn.clone();
        let mut failure = turn.lock_owned().await;
        let (round, changes, limit) = {
            let server = server.upgrade().ok_or_else(closed_meanwhile)?;
            let is_of_it = |one: &&ListFailure| one.generation == connection.generation && one.at >= begun;
            if let Some(failure) = failure.as_ref().filter(is_of_it) {
                return Err(failure.error.clone());
            }
            if let Some(listing) = server.listing().filter(|_| is_enough(&server)) {
                return Ok(listing);
            }
            // Read before the request is sent: a change that is announced meanwhile needs another list.
            let changes = server.callbacks().changes();
            let round = server.lists.begin(connection.generation, connection.transport.breaks(), of_now);
            (round, changes, server.config().options.startup_timeout)
        };
        // Side by side: a slow one does not delay the other.
        let tools = async {
            let listing = tool_list::fetch(&connection, limit, of_now).await?;
            let server = server.upgrade().ok_or_else(closed_meanwhile)?;
            let connection = connection.clone();
            blocking(move || {
                let (protocol, heard) = (Some(connection.protocol()), Some(&connection.server));
                server.publish(round, listing, Some(Instant::now()), protocol, heard)
            })
            .await?
        };
        let (listed, ()) = tokio::join!(tools, Self::list_skills(&server, &connection, round));
        let (generation, error) = (connection.generation, listed.as_ref().err().cloned());
        *failure = error.clone().map(|error| ListFailure { generation, at: Instant::now(), error });
        if let Some(server) = server.upgrade() {
            server.life.lock().listed(generation, error);
            if listed.is_ok() {
                server.lists.covered.fetch_max(changes, Ordering::AcqRel);
            }
        }
        listed
    }

    /// Takes a list and publishes it, unless it is of an earlier session or a later one is there already. `heard`: this server has
    /// sent it just now.
    fn publish(
        self: &Arc<Self>,
        round: ListRound,
        mut listing: Listing,
        at: Option<Instant>,
        protocol: Option<NegotiatedProtocol>,
        heard: Option<&ServerIdentity>,
    ) -> Result<Arc<Listing>> {
        let _publishing = self.lists.publishing.lock();
        if !self.is_current(round) {
            return Err(closed_meanwhile());
        }
        if let Some(latest) = self.lists.tools().filter(|_| !self.lists.is_newer(round)) {
            return Ok(latest);
        }
        if let Some(identity) = heard {
            listing.program_version = identity.program_version().map(Arc::from);
            cassette::record_list(self.id(), || listing.to_json());
            self.sink.iter().for_each(|sink| sink.fetched(self, identity, &listing));
        }
        listing.tools.retain(|tool| self.config().options.wants(&tool.name));
        if let Some(earlier) = self.lists.tools() {
            listing.share_with(&earlier);
        }
        let listing = Arc::new(listing);
        let latest = TakenList { listing: listing.clone(), round, at, protocol };
        self.lists.latest.store(Some(Arc::new(latest)));
        self.sink.iter().for_each(|sink| sink.publish_tools(self, &listing));
        Ok(listing)
    }

    /// Returns when the list that was taken last is published: at once, or after the moment that this takes.
    pub fn wait_for_publication(&self) {
        drop(self.lists.publishing.lock());
    }

    /// Publishes the list again, because what the hub takes of it has changed.
    pub fn publish_again(self: &Arc<Self>) {
        let _publishing = self.lists.publishing.lock();
        if let Some((sink, listing)) = self.sink.as_ref().zip(self.lists.tools()) {
            sink.publish_tools(self, &listing);
        }
    }

    /// Takes a list of an earlier process, until the server is connected and lists its tools itself.
    pub fn restore(self: &Arc<Self>, listing: Listing, protocol: NegotiatedProtocol, age: Duration) {
        self.life.lock().hint = Some(ProtocolHint::from(protocol.era));
        let at = Instant::now().checked_sub(age);
        let _ = self.publish(ListRound::default(), listing, at, Some(protocol), None);
    }

    /// While calls are replayed, the list that was recorded takes the place of a connection.
    pub(super) fn take_recorded_list(self: &Arc<Self>) -> Option<Result<Arc<Listing>>> {
        let recorded = cassette::recorded_list(self.id())?;
        Some(recorded.and_then(|tools| {
            let listing = Listing::from_json(&tools, Era::Modern, None).map_err(|why| {
                let text = message!("The recorded tools of server '{}' cannot be read: {}.", self.id(), why);
                HubError::new(ErrorKind::Protocol, text).with_outcome(Outcome::NotSent)
            })?;
            self.take_list_of_host(listing, Era::Modern)
        }))
    }

    /// Takes a list from the host of a server in this process, which knows the tools before a session asks for them.
    pub fn take_list_of_host(self: &Arc<Self>, listing: Listing, era: Era) -> Result<Arc<Listing>> {
        let mut life = self.life.lock();
        life.hint = Some(ProtocolHint::from(era));
        let round = self.lists.begin(life.generation, 0, false);
        drop(life);
        self.publish(round, listing, Some(Instant::now()), self.lists.protocol(), None)
    }

    fn is_current(&self, round: ListRound) -> bool {
        self.life.lock().is_current(round.generation)
    }

    /// Lists the skills again, if the server has any. When that fails, the known ones stay.
    async fn list_skills(server: &Weak<Self>, connection: &Connection, round: ListRound) {
        let known = server.upgrade().and_then(|server| server.lists.skills.load_full());
        let offered = skills::offered(connection);
        if known.is_none() && !offered {
            return;
        }
        let mut skills = match offered {
            true => match timeout(SKILLS_LIMIT, skills::fetch(connection)).await {
                Ok(Ok(skills)) => skills,
                Ok(Err(error)) => Skills::not_listed(known.as_deref(), &error.message),
                Err(_) => Skills::not_listed(known.as_deref(), "no answer in time"),
            },
            false => Skills::default(),
        };
        let Some(server) = server.upgrade() else { return };
        skills.skills.retain(|skill| server.config().options.wants(&skill.name));
        let skills = Arc::new(skills);
        let publish = move || {
            let _publishing = server.lists.publishing.lock();
            if server.is_current(round) {
                server.lists.skills.store(Some(skills.clone()));
                server.sink.iter().for_each(|sink| sink.publish_skills(&server, &skills));
            }
        };
        let _ = blocking(publish).await;
    }

    /// Whether the present session has listed its tools. A list of an earlier session, or of another process, says nothing about
    /// the server of today.
    pub fn has_listed(&self) -> bool {
        self.live_connection().is_some_and(|connection| self.lists.is_of(connection.generation))
    }

    /// Whether the list of the present session is still evidence: the server has not announced another one, allows it to be as
    /// old as it is, and was there all the time.
    pub fn has_current_list(&self) -> bool {
        self.live_connection().is_some_and(|connection| self.current_over(&connection).is_some())
    }

    /// How often the way to the server was interrupted until now, if the list is current.
    fn current_over(&self, connection: &Connection) -> Option<u64> {
        let breaks = connection.transport.breaks();
        let is_of_it = self.lists.is_of(connection.generation) && !self.is_behind();
        (is_of_it && !self.lists.is_outdated(breaks)).then_some(breaks)
    }

    /// The tools as the session of this connection has listed them. It lists them first, unless it has done so and the list is as
    /// current as this: then with how often the way to the server was interrupted by then, because it is evidence for no other
    /// program. A list of this moment is the best there is; a server that closes each connection has none over one.
    pub(crate) async fn listed_over(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        freshness: Freshness,
    ) -> Result<(Arc<Listing>, Option<u64>)> {
        let breaks = self.current_over(connection).filter(|_| freshness != Freshness::Now);
        if breaks.is_none() {
            self.list_as(freshness).await.map_err(|error| error.with_outcome(Outcome::NotSent))?;
            if let Some(error) = self.life.lock().error.clone() {
                return Err(error.with_outcome(Outcome::NotSent));
            }
        }
        let listing = self.listing().filter(|_| self.lists.is_of(connection.generation));
        listing.map(|listing| (listing, breaks)).ok_or_else(lost)
    }
}

/// Runs what may block (SQLite, long lists) where it holds up no other server.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| closed_meanwhile())
}

// What a server has listed: its tools and skills, with the session and time they come from.
//
// Lists are taken in the order in which they were requested. One that was requested earlier and arrives later is dropped.

/// Without a `ttlMs`, a list counts as fresh for this long before a missing tool makes the hub list again.
const DEFAULT_TTL: Duration = Duration::from_secs(300);
/// The least time between two lists that missing tools cause, however short a server's `ttlMs` is.
const SHORTEST_TTL: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct ServerLists {
    latest: ArcSwapOption<TakenList>,
    /// `None` until the server says that it has skills.
    pub skills: ArcSwapOption<Skills>,
    /// Waited for before a request for the lists is made.
    pub turn: ListTurn,
    /// When the last request was made.
    requested: Mutex<Option<Instant>>,
    /// Held while a list is taken and published, so that lists are published in the order in which they are taken.
    pub publishing: Mutex<()>,
    /// How many of the announced changes are in the list.
    pub covered: AtomicU64,
    /// The server cannot announce changes, whatever it promises.
    pub is_silent: AtomicBool,
}

/// Held by the one request for the lists of a server that is running. It has the last one that failed, if no later one succeeded.
pub type ListTurn = Arc<tokio::sync::Mutex<Option<ListFailure>>>;

pub struct ListFailure {
    pub generation: u64,
    pub at: Instant,
    pub error: HubError,
}

/// The list of tools that was taken last.
struct TakenList {
    listing: Arc<Listing>,
    round: ListRound,
    at: Option<Instant>,
    /// What was spoken when the tools were listed, perhaps by an earlier process.
    protocol: Option<NegotiatedProtocol>,
}

/// One request for the lists of a server: which session sent it, and its place among all requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListRound {
    pub generation: u64,
    /// When the request was made; `None` for a list of an earlier process.
    requested: Option<Instant>,
    /// How often the way to the server had been interrupted by then.
    breaks: u64,
    /// Hubs in between had their servers list theirs for it.
    of_now: bool,
}

impl ServerLists {
    pub fn tools(&self) -> Option<Arc<Listing>> {
        self.latest.load().as_ref().map(|latest| latest.listing.clone())
    }

    pub fn protocol(&self) -> Option<NegotiatedProtocol> {
        self.latest.load().as_ref()?.protocol
    }

    pub fn age(&self) -> Option<Duration> {
        self.latest.load().as_ref()?.at.map(|at| at.elapsed())
    }

    /// Whether there is a list, and it is such a one.
    fn has(&self, is_such: impl FnOnce(&TakenList) -> bool) -> bool {
        self.latest.load().as_deref().is_some_and(is_such)
    }

    /// Whether a session of this generation has listed its tools.
    pub fn is_of(&self, generation: u64) -> bool {
        self.has(|latest| latest.round.generation == generation)
    }

    /// Whether the list is as old as its server allows, or older, or was made before the way to the server was interrupted.
    pub fn is_outdated(&self, breaks: u64) -> bool {
        let is_old = || self.age().zip(self.ttl()).is_some_and(|(age, ttl)| age > ttl);
        !self.has(|latest| latest.round.breaks == breaks) || is_old()
    }

    /// Whether the list was requested at this moment or later. `of_now`: also where a hub is in between.
    pub fn is_since(&self, moment: Instant, of_now: bool) -> bool {
        self.has(|TakenList { round, .. }| round.requested >= Some(moment) && (round.of_now || !of_now))
    }

    /// Whether the list arrived at this moment or later.
    pub fn came_since(&self, moment: Instant) -> bool {
        self.has(|latest| latest.at.is_some_and(|at| at >= moment))
    }

    /// Whether the server may have tools that are not in the list: there is none, or it is no longer fresh.
    pub fn may_have_more(&self) -> bool {
        let Some(age) = self.age() else { return true };
        let default = if self.is_silent.load(Ordering::Relaxed) { SHORTEST_TTL } else { DEFAULT_TTL };
        age > self.ttl().unwrap_or(default)
    }

    fn ttl(&self) -> Option<Duration> {
        let ttl = self.latest.load().as_ref()?.listing.ttl_ms?;
        Some(Duration::from_millis(ttl).max(SHORTEST_TTL))
    }

    /// Begins a request for the lists.
    pub fn begin(&self, generation: u64, breaks: u64, of_now: bool) -> ListRound {
        let requested = Some(Instant::now());
        *self.requested.lock() = requested;
        ListRound { generation, requested, breaks, of_now }
    }

    /// Since when the request that is running has no answer.
    pub fn running_since(&self) -> Option<Instant> {
        self.requested.lock().filter(|_| self.turn.try_lock().is_err())
    }

    /// Whether a list of this round is not older than the one that is there.
    pub fn is_newer(&self, round: ListRound) -> bool {
        !self.has(|latest| latest.round > round)
    }
}

#[cfg(test)]
mod cached_lists_tests {
    use super::*;

    fn put(lists: &ServerLists, round: ListRound, listing: Arc<Listing>, at: Option<Instant>) {
        lists.latest.store(Some(Arc::new(TakenList { listing, round, at, protocol: None })));
    }

    fn listing(ttl_ms: u64) -> Arc<Listing> {
        Arc::new(Listing { ttl_ms: Some(ttl_ms), ..Listing::default() })
    }

    #[test]
    fn a_list_that_was_requested_earlier_and_comes_later_is_dropped() {
        let lists = ServerLists::default();
        let (first, second, third) =
            (lists.begin(1, 0, false), lists.begin(1, 0, false), lists.begin(2, 0, false));
        assert!(lists.is_newer(second));
        put(&lists, second, listing(2), None);
        assert!(!lists.is_newer(first) && lists.is_newer(third));
        put(&lists, third, listing(3), None);
        assert!(!lists.is_newer(second));
        assert_eq!(lists.tools(), Some(listing(3)));
        assert!(lists.is_of(2) && !lists.is_of(1));
    }

    #[test]
    fn a_request_runs_until_its_turn_ends() {
        let lists = ServerLists::default();
        assert_eq!(lists.running_since(), None);
        let turn = lists.turn.clone().try_lock_owned().unwrap();
        let round = lists.begin(3, 0, false);
        assert_eq!(lists.running_since(), round.requested);
        drop(turn);
        assert_eq!(lists.running_since(), None);
    }

    #[test]
    fn only_a_request_for_the_tools_of_now_gives_them() {
        let lists = ServerLists::default();
        let begun = Instant::now();
        for of_now in [false, true] {
            put(&lists, lists.begin(1, 0, of_now), listing(1), Some(Instant::now()));
            assert!(lists.is_since(begun, false) && lists.came_since(begun));
            assert_eq!(lists.is_since(begun, true), of_now);
        }
        assert!(!lists.is_since(Instant::now(), false));
    }

    #[test]
    fn a_list_is_fresh_for_as_long_as_its_server_says() {
        let lists = ServerLists::default();
        assert!(lists.may_have_more(), "nothing is listed yet");
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds));
        for (ttl, age, stale) in [(60_000, 30, false), (60_000, 90, true), (0, 0, false), (0, 2, true)] {
            let round = lists.begin(1, 0, false);
            put(&lists, round, listing(ttl), ago(age));
            assert_eq!(lists.may_have_more(), stale, "{ttl} ms, {age} s");
        }
        let round = lists.begin(1, 0, false);
        put(&lists, round, Arc::default(), ago(299));
        assert!(!lists.may_have_more(), "a server that does not say is believed for five minutes");
    }
}
