//! The first lists of the servers behind a gateway. A task for each server requests it, so a client that leaves stops nothing.
//!
//! Clients wait for a server until it has answered once, for at most the hub's `lookup_timeout` after it was first asked, or
//! longer if the list would be empty: some clients list once, and take an empty list for the truth. A server that failed is
//! tried again after growing pauses. Clients do not wait for that: they hear of its tools as of any other change.

use super::look_up::too_slow;
use super::{CONNECT_AT_ONCE, Servers};
use crate::mcp::backoff;
use crate::mcp::server::Server;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use toolhub_types::error::{ErrorKind, HubError};
use toolhub_types::sync::Mutex;

/// The pause before a server that failed is asked again; it grows.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How long a client waits at most for the first server that has a tool for it; clients have time limits of their own.
const LONGEST_WAIT: Duration = Duration::from_secs(45);

pub struct FirstLists {
    asked: Mutex<HashMap<Arc<str>, AskedServer>>,
    /// Dropping it ends the tasks.
    tasks: Mutex<JoinSet<()>>,
    /// Counts the answers that have come.
    answers: Arc<watch::Sender<u64>>,
    places: Arc<Semaphore>,
}

impl Default for FirstLists {
    fn default() -> Self {
        let places = Arc::new(Semaphore::new(CONNECT_AT_ONCE));
        FirstLists { asked: Mutex::default(), tasks: Mutex::default(), answers: Arc::default(), places }
    }
}

struct AskedServer {
    /// Another server may get the same id.
    server: Weak<Server>,
    since: Instant,
    has_answered: Arc<AtomicBool>,
}

impl AskedServer {
    fn is(&self, server: &Arc<Server>) -> bool {
        std::ptr::eq(self.server.as_ptr(), Arc::as_ptr(server))
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
        let never_listed = servers.never_listed(None, None);
        let missing: Vec<Arc<Server>> = never_listed.iter().filter_map(|id| servers.get(id)).collect();
        if !missing.is_empty() {
            let end = patience.map(|patience| Instant::now() + patience);
            let mut answers = self.answers.subscribe();
            missing.iter().for_each(|server| self.request(servers, server));
            while let Some(last) = self.waits_until(&missing, servers, shows_any()) {
                let until = end.map_or(last, |end| end.min(last));
                if !matches!(timeout_at(until, answers.changed()).await, Ok(Ok(()))) {
                    break;
                }
            }
        }
        // A list is there a moment before its tools are.
        servers.all().iter().for_each(|server| server.wait_for_publication());
        self.still_starting(&missing).map(|(server, _)| server.id().clone()).collect()
    }

    /// Has a server asked that never was.
    fn request(&self, servers: &Arc<Servers>, server: &Arc<Server>) {
        let mut asked = self.asked.lock();
        asked.retain(|_, known| known.server.strong_count() > 0);
        if asked.get(server.id()).is_some_and(|known| known.is(server)) {
            return;
        }
        let (has_answered, server_ref) = (Arc::default(), Arc::downgrade(server));
        let task = request_list(
            Arc::downgrade(servers),
            server_ref.clone(),
            self.places.clone(),
            (Arc::clone(&has_answered), self.answers.clone()),
        );
        let entry = AskedServer { server: server_ref, since: Instant::now(), has_answered };
        asked.insert(server.id().clone(), entry);
        let mut tasks = self.tasks.lock();
        // Those that have ended.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// The servers that have not answered, and since when they have been asked.
    fn still_starting<'a>(
        &'a self,
        missing: &'a [Arc<Server>],
    ) -> impl Iterator<Item = (&'a Arc<Server>, Instant)> {
        missing.iter().filter(|server| server.listing().is_none()).filter_map(|server| {
            let asked = self.asked.lock();
            let known = asked.get(server.id()).filter(|known| known.is(server))?;
            (!known.has_answered.load(Ordering::Acquire)).then_some((server, known.since))
        })
    }

    /// When a client stops waiting; `None` when all have answered.
    fn waits_until(&self, missing: &[Arc<Server>], servers: &Servers, shows_any: bool) -> Option<Instant> {
        let limit = |server: &Server| match shows_any {
            true => servers.lookup_timeout(),
            false => longest_wait(servers, server),
        };
        self.still_starting(missing).map(|(server, since)| since + limit(server)).max()
    }
}

/// How long a server may take to start when clients wait for it and for nothing else.
fn longest_wait(servers: &Servers, server: &Server) -> Duration {
    server.config().options.startup_timeout.min(LONGEST_WAIT).max(servers.lookup_timeout())
}

/// The pause after which a server that was just lost may be connected again, if clients can wait for that long.
fn short_pause(error: &HubError) -> Option<Duration> {
    backoff::asked_pause(error).filter(|pause| *pause <= FIRST_PAUSE)
}

/// Lists a server until it has a list.
async fn request_list(
    servers: Weak<Servers>,
    server: Weak<Server>,
    places: Arc<Semaphore>,
    (has_answered, answers): (Arc<AtomicBool>, Arc<watch::Sender<u64>>),
) {
    let mut pause = FIRST_PAUSE;
    loop {
        let (Some(servers), Some(server)) = (servers.upgrade(), server.upgrade()) else { return };
        let is_known = servers.get(server.id()).is_some_and(|known| Arc::ptr_eq(&known, &server));
        if !is_known || server.listing().is_some() {
            return;
        }
        let mut listed = list(&servers, &server, &places).await;
        if let Some(pause) = listed.as_ref().err().and_then(short_pause) {
            sleep(pause).await;
            listed = list(&servers, &server, &places).await;
        }
        has_answered.store(true, Ordering::Release);
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
async fn list(servers: &Servers, server: &Arc<Server>, places: &Semaphore) -> Result<(), HubError> {
    let place = places.acquire().await;
    let mut listing = pin!(servers.list_one(server, longest_wait(servers, server)));
    let patience = servers.lookup_timeout();
    if let Ok(listed) = timeout(patience, &mut listing).await {
        return listed;
    }
    drop(place);
    servers.remember(server, Some(&too_slow(server, patience)));
    listing.await
}
