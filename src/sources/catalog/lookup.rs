//! Looks up a tool that no server has listed: lists the servers whose list is missing or stale, once, concurrently.

use super::{CONNECT_AT_ONCE, ServerReport, Servers};
use crate::mcp::backoff;
use crate::mcp::server::Server;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant as Clock, sleep, timeout, timeout_at};
use toolhub_engine::plan::{LookUpRequest, Unreachable};
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result};
use toolhub_types::model::{CallOptions, Source};
use toolhub_types::sync::Mutex;

/// After a look-up has waited for a server without an answer, others skip it for this long. The attempt to connect continues; once the
/// server has listed its tools, no look-up is needed.
const LEFT_ALONE: Duration = Duration::from_secs(30);

impl Servers {
    /// The servers to ask when no candidate has what a call wants: those that may have more than they have listed, that are
    /// allowed to be started, and that have not failed lately. A call that names a server asks that one even after failures;
    /// a call of a native tool asks none.
    pub fn for_a_miss(&self, source: Option<Source>, server: Option<&str>) -> Vec<Arc<Server>> {
        let mut asked = self.missing_lists(source, server);
        asked.retain(|one| server.is_some() || !self.is_left_alone(one));
        asked
    }

    fn missing_lists(&self, source: Option<Source>, server: Option<&str>) -> Vec<Arc<Server>> {
        let candidates = match (server, source) {
            (Some(id), _) => self.get(id).into_iter().collect(),
            (None, Some(Source::Tools)) => Vec::new(),
            (None, _) => self.all(),
        };
        let asked = |one: &Arc<Server>| one.may_have_more() && (server.is_some() || !one.config().disabled);
        candidates.into_iter().filter(asked).collect()
    }

    pub(super) fn is_left_alone(&self, server: &Server) -> bool {
        self.silence(server).is_some() || server.is_backing_off()
    }

    /// Why look-ups skip this server; `None` when they do not.
    fn silence(&self, server: &Server) -> Option<Message> {
        let silent = self.silent.lock();
        let (_, reason) = silent.get(server.id()).filter(|(since, _)| since.elapsed() < LEFT_ALONE)?;
        Some(reason.clone())
    }

    /// The servers that have never listed their tools, each once: what is shown of a hub has them listed first, and a server that
    /// failed then waits for a call, `connect` or `refresh`.
    pub fn take_never_listed(&self) -> Vec<Arc<str>> {
        let mut taken = self.list_requested.lock();
        self.never_listed(None, None).into_iter().filter(|id| taken.insert(id.clone())).collect()
    }

    /// The servers in this scope that have not listed their tools.
    pub fn never_listed(&self, source: Option<Source>, server: Option<&str>) -> Vec<Arc<str>> {
        let missing = self.missing_lists(source, server).into_iter();
        missing.filter(|one| one.listing().is_none()).map(|one| one.id().clone()).collect()
    }

    /// How long servers may take to list their tools.
    pub fn lookup_timeout(&self) -> Duration {
        self.hub.options.lookup_timeout
    }

    /// Waits until announced changes of these servers are in their lists, for at most `patience`.
    pub async fn catch_up(&self, ids: &[String], patience: Duration) {
        let behind = ids.iter().filter_map(|id| self.get(id)).filter(|server| server.is_behind());
        let each = behind.map(|server| async move { server.look(false).await });
        let _ = timeout(patience, join_all(each)).await;
    }

    /// Carries out what a plan asks for; the servers that could not be asked.
    pub async fn carry_out(&self, request: &LookUpRequest, end: Clock) -> Unreachable {
        let report = match &request.servers[..] {
            [] => self.look_up(request, end).await,
            ids => self.list_again(ids, request, end).await,
        };
        report.into_iter().filter_map(|(id, asked)| Some((id, asked.err()?))).collect()
    }

    /// Has servers list their tools over the connections that they have, or get now.
    async fn list_again(&self, ids: &[Arc<str>], request: &LookUpRequest, end: Clock) -> ServerReport {
        let each = ids.iter().filter_map(|id| self.get(id)).map(|server| async move {
            let listed = server.list_as(request.freshness);
            (server.id().clone(), self.ask(&server, listed, request.patience, end).await)
        });
        join_all(each).await
    }

    /// Asks them, until one has the tool or the time is over; without a name, all of them. Returns the servers that could not be
    /// asked, each with the reason.
    ///
    /// A caller that names no server does not wait for a list that has been running for longer than its patience already, nor
    /// after `end`.
    async fn look_up(&self, request: &LookUpRequest, end: Clock) -> ServerReport {
        let LookUpRequest { name, options, patience, .. } = request;
        let named = options.server.as_deref();
        let missing = self.missing_lists(options.source, named).into_iter();
        let (left, mut asked): (Vec<_>, Vec<_>) =
            missing.partition(|one| named.is_none() && self.is_left_alone(one));
        let mut failed: ServerReport =
            left.iter().map(|one| (one.id().clone(), Err(self.left_alone(one)))).collect();
        // Those that answer at once are not kept waiting by those that have to be started.
        asked.sort_by_key(|server| server.info().state != "connected");
        let one = |server: Arc<Server>| async move {
            let end = if named.is_some() { end } else { self.end_of_patience(&server, *patience, end) };
            let answer = self.ask(&server, server.look(named.is_some()), *patience, end).await;
            (server, answer)
        };
        let mut answers = stream::iter(asked).map(one).buffer_unordered(CONNECT_AT_ONCE);
        while let Some((server, answer)) = answers.next().await {
            if answer.is_err() {
                failed.push((server.id().clone(), answer));
            } else if name.as_deref().is_some_and(|name| self.has_tool(name, options)) {
                break;
            }
        }
        failed
    }

    /// Whether the hub has this tool for such a call.
    pub(super) fn has_tool(&self, name: &str, wanted: &CallOptions) -> bool {
        self.hub.offers(&self.hub.registry.load(), name, wanted).is_ok()
    }

    /// When to stop waiting for a server that nobody has named: its list may have been running for a while.
    fn end_of_patience(&self, server: &Server, patience: Duration, end: Clock) -> Clock {
        server.listing_since().map_or(end, |since| end.min(Clock::from_std(since) + patience))
    }

    async fn ask(
        &self,
        server: &Arc<Server>,
        listed: impl Future<Output = Result<()>>,
        patience: Duration,
        end: Clock,
    ) -> Result<()> {
        let looked = timeout_at(end, listed).await;
        let answer = looked.unwrap_or_else(|_| Err(too_slow(server, patience)));
        // Nothing was called, however the list failed.
        let answer = answer.map_err(|error| with_name(server.id(), error).with_outcome(Outcome::NotSent));
        self.remember(server, answer.as_ref().err());
        answer
    }

    /// Failures to connect have their own rests.
    pub(super) fn remember(&self, server: &Server, failure: Option<&HubError>) {
        match failure.filter(|error| error.kind != ErrorKind::Connect) {
            Some(error) => {
                let silence = (Instant::now(), error.message.clone());
                self.silent.lock().insert(server.id().clone(), silence);
            }
            None => drop(self.silent.lock().remove(server.id())),
        }
    }

    pub(super) fn left_alone(&self, server: &Server) -> HubError {
        let reason = self.silence(server).or_else(|| server.info().error.map(|error| error.message));
        let id = server.id();
        let text = match reason {
            Some(reason) => {
                message!(
                    "Server '{}' failed recently; it is tried again after a pause: {}",
                    id,
                    reason.clause()
                )
            }
            None => message!("Server '{}' failed recently; it is tried again after a pause.", id),
        };
        HubError::new(ErrorKind::Connect, text)
    }
}

/// The sentence says which server it was.
fn with_name(id: &str, error: HubError) -> HubError {
    if error.message.contains(&format!("'{id}'")) {
        return error;
    }
    let message = message!("Server '{}' could not list its tools: {}", id, error.message);
    HubError { message, ..error }
}

pub(super) fn too_slow(server: &Server, patience: Duration) -> HubError {
    let (id, seconds) = (server.id(), patience.as_secs_f64());
    let text = match server.startup_output() {
        Some(reason) => message!(
            "Server '{}' did not list its tools within {} s; its error stream says '{}'.",
            id,
            seconds,
            reason
        ),
        None => message!("Server '{}' did not list its tools within {} s.", id, seconds),
    };
    HubError::new(ErrorKind::Timeout, text).with_outcome(Outcome::NotSent)
}

// The first lists of the servers behind a gateway. A task for each server requests it, so a client that leaves stops nothing.
//
// Clients wait for a server until it has answered once, for at most the hub's `lookup_timeout` after it was first asked, or
// longer if the list would be empty: some clients list once, and take an empty list for the truth. A server that failed is
// tried again after growing pauses. Clients do not wait for that: they hear of its tools as of any other change.

/// The pause before a server that failed is asked again; it grows.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How long a client waits at most for the first server that has a tool for it; clients have time limits of their own.
const LONGEST_WAIT: Duration = Duration::from_secs(45);

pub struct FirstLists {
    asked: Mutex<HashMap<Arc<str>, Arc<AskedServer>>>,
    /// Dropping it ends the tasks.
    tasks: Mutex<JoinSet<()>>,
    /// Counts the answers that have come.
    answers: watch::Sender<u64>,
    places: Arc<Semaphore>,
}

impl Default for FirstLists {
    fn default() -> Self {
        let places = Arc::new(Semaphore::new(CONNECT_AT_ONCE));
        FirstLists {
            asked: Mutex::default(),
            tasks: Mutex::default(),
            answers: watch::Sender::default(),
            places,
        }
    }
}

struct AskedServer {
    server: Weak<Server>,
    since: Clock,
    has_answered: AtomicBool,
}

impl AskedServer {
    /// The server, if it has neither listed its tools nor failed to.
    fn starting(&self) -> Option<Arc<Server>> {
        let server = self.server.upgrade().filter(|_| !self.has_answered.load(Ordering::Acquire));
        server.filter(|server| server.listing().is_none())
    }
}

impl FirstLists {
    /// Waits until every server has listed its tools, or has failed to once, for at most `patience`. Returns those that are still
    /// starting. `shows_any`: whether the client sees a tool already.
    pub async fn wait(
        &self,
        servers: &Arc<Servers>,
        patience: Option<Duration>,
        shows_any: impl Fn() -> bool,
    ) -> Vec<Arc<str>> {
        let end = patience.map(|patience| Clock::now() + patience);
        let mut answers = self.answers.subscribe();
        let never_listed = servers.never_listed(None, None).into_iter().filter_map(|id| servers.get(&id));
        let asked: Vec<_> = never_listed.map(|server| self.request(servers, &server)).collect();
        while !asked.is_empty() {
            let is_shown = shows_any();
            let limit = |server: &Server| match is_shown {
                true => servers.lookup_timeout(),
                false => longest_wait(servers, server),
            };
            let ends = asked.iter().filter_map(|one| Some(one.since + limit(&*one.starting()?)));
            let Some(last) = ends.max() else { break };
            let until = end.map_or(last, |end| end.min(last));
            if !matches!(timeout_at(until, answers.changed()).await, Ok(Ok(()))) {
                break;
            }
        }
        // A list is there a moment before its tools are.
        servers.all().iter().for_each(|server| server.wait_for_publication());
        asked.iter().filter_map(|one| Some(one.starting()?.id().clone())).collect()
    }

    /// Has a server asked, unless it was.
    fn request(&self, servers: &Arc<Servers>, server: &Arc<Server>) -> Arc<AskedServer> {
        let mut asked = self.asked.lock();
        asked.retain(|_, known| known.server.strong_count() > 0);
        // Another server may get the same id.
        let is_same = |known: &&Arc<AskedServer>| std::ptr::eq(known.server.as_ptr(), Arc::as_ptr(server));
        if let Some(known) = asked.get(server.id()).filter(is_same) {
            return known.clone();
        }
        let has_answered = AtomicBool::new(false);
        let new = Arc::new(AskedServer { server: Arc::downgrade(server), since: Clock::now(), has_answered });
        asked.insert(server.id().clone(), new.clone());
        let mut tasks = self.tasks.lock();
        // Those that have ended.
        while tasks.try_join_next().is_some() {}
        let (places, answers) = (self.places.clone(), self.answers.clone());
        tasks.spawn(request_list(Arc::downgrade(servers), new.clone(), places, answers));
        new
    }
}

/// How long a server may take to start when clients wait for it and for nothing else.
fn longest_wait(servers: &Servers, server: &Server) -> Duration {
    server.config().options.startup_timeout.min(LONGEST_WAIT).max(servers.lookup_timeout())
}

/// Lists a server until it has a list.
async fn request_list(
    servers: Weak<Servers>,
    asked: Arc<AskedServer>,
    places: Arc<Semaphore>,
    answers: watch::Sender<u64>,
) {
    let mut pause = FIRST_PAUSE;
    loop {
        let (Some(servers), Some(server)) = (servers.upgrade(), asked.server.upgrade()) else { return };
        let is_known = servers.get(server.id()).is_some_and(|known| Arc::ptr_eq(&known, &server));
        if !is_known || server.listing().is_some() {
            return;
        }
        let mut listed = list(&servers, &server, &places).await;
        // A server that was just lost may be connected again after a pause; clients can wait for a short one.
        let asked_pause = listed.as_ref().err().and_then(backoff::asked_pause);
        if let Some(pause) = asked_pause.filter(|pause| *pause <= FIRST_PAUSE) {
            sleep(pause).await;
            listed = list(&servers, &server, &places).await;
        }
        asked.has_answered.store(true, Ordering::Release);
        answers.send_modify(|answers| *answers += 1);
        // One that waits for a person is not helped by being asked again.
        if listed.is_err_and(|error| error.kind == ErrorKind::Auth) {
            return;
        }
        drop((servers, server));
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Lists a server. One that takes long gives its place to others, and look-ups leave it alone.
async fn list(servers: &Servers, server: &Arc<Server>, places: &Semaphore) -> Result<()> {
    let place = places.acquire().await;
    let (patience, longest) = (servers.lookup_timeout(), longest_wait(servers, server));
    let end = servers.end_of_patience(server, longest, Clock::now() + longest);
    let mut listing = pin!(servers.ask(server, server.look(false), longest, end));
    if let Ok(listed) = timeout(patience, &mut listing).await {
        return listed;
    }
    drop(place);
    servers.remember(server, Some(&too_slow(server, patience)));
    listing.await
}
