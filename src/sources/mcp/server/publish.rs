//! From a session to published lists: fetch the tools and skills, and hand them to the [`ListingSink`](super::ListingSink)
//! unless a later session or list has taken their place.

use super::{Server, closed_meanwhile, lost};
use crate::mcp::connection::Connection;
use crate::mcp::protocol::{Era, NegotiatedProtocol, ProtocolHint};
use crate::mcp::server::cached_lists::{ListFailure, ListRound};
use crate::mcp::skills::{self, Skills};
use crate::mcp::tool_list::{self, Listed, ListedBy, Listing};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::time::timeout;
use toolhub_store::tape;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip};
use toolhub_types::model::ToolSpec;
use toolhub_types::tool::Freshness;

/// The limit for all pages of the list of skills.
const SKILLS_LIMIT: Duration = Duration::from_secs(10);

/// Where a list comes from.
#[derive(Clone, Copy)]
enum ListOrigin<'a> {
    Server(&'a Connection),
    /// An earlier process has heard it from the server.
    Store(NegotiatedProtocol),
    /// What was spoken with the server stays as it was.
    Host,
}

impl Server {
    /// Fetches and publishes the lists of a session, unless the list that is there by then `is_enough`. One request is made at a
    /// time. One that failed since `begun` failed for all that waited for it. Holds the connection meanwhile, and not the server.
    pub(super) async fn list(
        server: Weak<Self>,
        connection: Arc<Connection>,
        begun: Instant,
        of_now: bool,
        is_enough: impl Fn(&Server) -> bool,
    ) -> Result<Arc<Listing>, HubError> {
        let turn = server.upgrade().ok_or_else(closed_meanwhile)?.lists.turn();
        let mut failure = turn.lock_owned().await;
        let (round, changes, limit) = {
            let server = server.upgrade().ok_or_else(closed_meanwhile)?;
            match &*failure {
                Some(failure) if failure.generation == connection.generation && failure.at >= begun => {
                    return Err(failure.error.clone());
                }
                _ => {}
            }
            if let Some(listing) = server.listing().filter(|_| is_enough(&server)) {
                return Ok(listing);
            }
            // Read before the request is sent: a change that is announced meanwhile needs another list.
            let changes = server.callbacks().changes();
            let round = server.lists.begin(connection.generation, connection.transport().breaks(), of_now);
            (round, changes, server.list_limit())
        };
        // Side by side: a slow one does not delay the other.
        let tools = async {
            let listing = tool_list::fetch(&connection, limit, of_now).await?;
            let server = server.upgrade().ok_or_else(closed_meanwhile)?;
            let connection = connection.clone();
            blocking(move || {
                server.publish(round, listing, Some(Instant::now()), ListOrigin::Server(&connection))
            })
            .await?
        };
        let (listed, ()) = tokio::join!(tools, Self::list_skills(&server, &connection, round));
        let (generation, error) = (connection.generation, listed.as_ref().err().cloned());
        *failure = error.clone().map(|error| ListFailure { generation, at: Instant::now(), error });
        if let Some(server) = server.upgrade() {
            server.life.lock().machine.listed(generation, error);
            if listed.is_ok() {
                server.lists.cover(changes);
            }
        }
        listed
    }

    /// Takes a list and publishes it, unless it is of an earlier session or a later one is there already.
    fn publish(
        self: &Arc<Self>,
        round: ListRound,
        mut listing: Listing,
        at: Option<Instant>,
        origin: ListOrigin<'_>,
    ) -> Result<Arc<Listing>, HubError> {
        let _publishing = self.lists.publishing();
        if !self.is_current(round) {
            return Err(closed_meanwhile());
        }
        if let Some(latest) = self.lists.tools().filter(|_| !self.lists.is_newer(round)) {
            return Ok(latest);
        }
        let protocol = match origin {
            ListOrigin::Server(connection) => Some(connection.protocol()),
            ListOrigin::Store(protocol) => Some(protocol),
            ListOrigin::Host => self.lists.protocol(),
        };
        if let ListOrigin::Server(connection) = origin {
            let identity = connection.server();
            listing.program_version = identity.program_version().map(Arc::from);
            tape::record_list(self.id(), || listing.to_json());
            self.sink.fetched(self, identity, &listing);
        }
        listing.tools.retain(|tool| self.config().options.wants(&tool.name));
        if let Some(earlier) = self.lists.tools() {
            listing.share_with(&earlier);
        }
        let listing = Arc::new(listing);
        self.lists.put_tools(round, listing.clone(), protocol, at);
        self.sink.publish_tools(self, &listing);
        Ok(listing)
    }

    /// Returns when the list that was taken last is published: at once, or after the moment that this takes.
    pub fn wait_for_publication(&self) {
        drop(self.lists.publishing());
    }

    /// Publishes the list again, because what the hub takes of it has changed.
    pub fn publish_again(self: &Arc<Self>) {
        let _publishing = self.lists.publishing();
        if let Some(listing) = self.lists.tools() {
            self.sink.publish_tools(self, &listing);
        }
    }

    /// Takes a list of an earlier process, until the server is connected and lists its tools itself.
    pub fn restore(self: &Arc<Self>, listing: Listing, protocol: NegotiatedProtocol, age: Duration) {
        self.life.lock().machine.set_hint(ProtocolHint::from(protocol.era));
        let at = Instant::now().checked_sub(age);
        let _ = self.publish(ListRound::default(), listing, at, ListOrigin::Store(protocol));
    }

    /// While calls are replayed, the list that was recorded takes the place of a connection.
    pub(super) fn take_recorded_list(self: &Arc<Self>) -> Option<Result<Arc<Listing>, HubError>> {
        let recorded = tape::recorded_list(self.id())?;
        Some(recorded.and_then(|tools| {
            let listing = Listing::from_json(&tools, Era::Modern, None).map_err(|why| {
                let text = message!("The recorded tools of server '{}' cannot be read: {}.", self.id(), why);
                HubError::new(ErrorKind::Protocol, text).with_outcome(Outcome::NotSent)
            })?;
            self.take_list_of_host(listing, Era::Modern)
        }))
    }

    /// Takes a list from the host of a server in this process, which knows the tools before a session asks for them.
    pub fn take_list_of_host(self: &Arc<Self>, listing: Listing, era: Era) -> Result<Arc<Listing>, HubError> {
        let generation = {
            let mut life = self.life.lock();
            life.machine.set_hint(ProtocolHint::from(era));
            life.machine.generation()
        };
        let round = self.lists.begin(generation, 0, false);
        self.publish(round, listing, Some(Instant::now()), ListOrigin::Host)
    }

    fn is_current(&self, round: ListRound) -> bool {
        self.life.lock().machine.is_current(round.generation)
    }

    /// Lists the skills again, if the server has any. When that fails, the known ones stay.
    async fn list_skills(server: &Weak<Self>, connection: &Connection, round: ListRound) {
        let known = server.upgrade().and_then(|server| server.lists.skills());
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
            let _publishing = server.lists.publishing();
            if server.is_current(round) {
                server.lists.set_skills(skills.clone());
                server.sink.publish_skills(&server, &skills);
            }
        };
        let _ = blocking(publish).await;
    }

    /// Whether the present session has listed its tools. A list of an earlier session, or of another process, says nothing about
    /// the server of today.
    pub fn has_listed(&self) -> bool {
        let life = self.life.lock();
        let session = life.machine.session().filter(|session| !session.is_lost());
        session.is_some_and(|session| self.lists.is_of(session.connection().generation))
    }

    /// Whether the list of the present session is still evidence: the server has not announced another one, allows it to be as
    /// old as it is, and was there all the time.
    pub fn has_current_list(&self) -> bool {
        let breaks = || self.live_connection().map(|connection| connection.transport().breaks());
        self.has_listed()
            && !self.is_behind()
            && breaks().is_some_and(|breaks| !self.lists.is_outdated(breaks))
    }

    /// The tools as the session of this connection has listed them. It lists them first, unless it has done so and the list is as
    /// current as this.
    pub(in crate::mcp) async fn listed_over(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        freshness: Freshness,
    ) -> Result<Arc<Listing>, HubError> {
        let generation = connection.generation;
        let is_current = || {
            let breaks = connection.transport().breaks();
            self.lists.is_of(generation) && !self.is_behind() && !self.lists.is_outdated(breaks)
        };
        if freshness == Freshness::Now || !is_current() {
            self.list_as(freshness).await.map_err(|error| error.with_outcome(Outcome::NotSent))?;
            if let Some(error) = self.life.lock().machine.error().cloned() {
                return Err(error.with_outcome(Outcome::NotSent));
            }
        }
        let listing = self.listing().filter(|_| self.lists.is_of(generation));
        listing.ok_or_else(lost)
    }

    /// For pins, approvals and runs: refuses a call of a tool whose definition has changed. `called`: `None` if it was not listed.
    pub(in crate::mcp) async fn confirm(
        self: &Arc<Self>,
        name: &str,
        called: Option<&ListedBy>,
        connection: &Arc<Connection>,
        freshness: Freshness,
    ) -> Result<(), HubError> {
        let now = self.listed_over(connection, freshness).await?.find(name);
        // Nearly always nothing has changed since the call was planned.
        if now.as_ref() == called {
            return Ok(());
        }
        let pin = self.config().options.pin;
        // A pin accepts less than an approval.
        let is_pinned = pin && freshness != Freshness::Now;
        let defined = |known: &ListedBy| if is_pinned { known.tool.to_json() } else { known.to_json() };
        let (before, now) = (called.map(defined), now.as_ref().map(defined));
        if now == before {
            return Ok(());
        }
        if !pin {
            return Err(self.changed(name, before.as_ref(), now.as_ref()));
        }
        let text = message!(
            "Server '{}' has changed its tool '{}' since its definition was accepted; look at it with hub.pins.list().",
            self.id(),
            clip(name)
        );
        Err(HubError::new(ErrorKind::NotAllowed, text))
    }

    /// Refuses a call that was prepared as one that may be repeated, if the tool is no longer listed as such over the connection that
    /// the call would leave by. An earlier list, or that of another connection, proves nothing about the program that answers.
    pub(in crate::mcp) async fn confirm_repeatable(
        self: &Arc<Self>,
        spec: &ToolSpec,
        called: &Arc<Listed>,
        judge: &Server,
        connection: &Arc<Connection>,
    ) -> Result<(), HubError> {
        let listing = self.listed_over(connection, Freshness::Connection).await?;
        // Lists share what has not changed, so this is nearly always enough.
        if listing.tools.iter().any(|one| Arc::ptr_eq(one, called)) {
            return Ok(());
        }
        let now = listing.find(&called.name);
        let is_as_harmless = now.as_ref().is_some_and(|now| {
            let is_same = || now.tool == *called;
            is_same() || {
                let (effects, idempotent) = judge.sink.effects(judge, &now.tool);
                effects.are_harmless() || (idempotent && !spec.effects.are_harmless())
            }
        });
        match is_as_harmless {
            true => Ok(()),
            false => {
                let now = now.map(|now| now.tool.to_json());
                Err(self.changed(&called.name, Some(&called.to_json()), now.as_ref()))
            }
        }
    }

    fn changed(&self, name: &str, before: Option<&Value>, now: Option<&Value>) -> HubError {
        let text = message!(
            "Tool '{}' was not called: server '{}' has changed it since the call was prepared ({}). Make the call again.",
            clip(name),
            self.id(),
            listed_change(before, now)
        );
        HubError::new(ErrorKind::NotAllowed, text)
    }
}

/// Two definitions of a tool for people: the descriptions, and the members that differ.
fn listed_change(before: Option<&Value>, now: Option<&Value>) -> String {
    let shown = |tool: Option<&Value>| match tool {
        Some(tool) => format!("'{}'", clip(tool["description"].as_str().unwrap_or_default())),
        None => "not listed".to_owned(),
    };
    let change = format!("then {}, now {}", shown(before), shown(now));
    let (Some(before), Some(now)) = (before, now) else { return change };
    let names = [before, now].into_iter().filter_map(Value::as_object).flat_map(Map::keys);
    let changed: BTreeSet<&str> =
        names.map(String::as_str).filter(|name| before[*name] != now[*name]).collect();
    let changed = changed.into_iter().collect::<Vec<_>>().join(", ");
    format!("{change}; it differs in {changed}")
}

/// Runs what may block (SQLite, long lists) where it holds up no other server.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, HubError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| closed_meanwhile())
}
