//! The first lists of the servers behind a gateway. One task requests them, so a client that leaves stops nothing.
//!
//! Clients wait for a server until it has answered once, for at most the hub's `lookup_timeout` after it was first asked, or
//! longer if the list would be empty: some clients list once, and take an empty list for the truth. A server that failed is
//! tried again after growing pauses. Clients do not wait for that: they hear of its tools as of any other change.

use super::look_up::too_slow;
use super::{CONNECT_AT_ONCE, Servers};
use crate::mcp::server::Server;
use futures_util::future::join_all;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use toolhub_types::error::{ErrorKind, HubError};
use toolhub_types::sync::Mutex;

/// The pause before a server that failed is asked again; it grows.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How long a client waits at most for the first server that has a tool for it; clients have time limits of their own.
const LONGEST_WAIT: Duration = Duration::from_secs(45);

/// Dropping it ends the task.
#[derive(Default)]
pub struct FirstLists {
    shared: Arc<FirstListState>,
    task: Mutex<JoinSet<()>>,
}

#[derive(Default)]
struct FirstListState {
    servers: Mutex<AskedServers>,
    /// Counts the answers that have come.
    answers: watch::Sender<u64>,
    /// A server was added that was never asked.
    added: Notify,
}

#[derive(Default)]
struct AskedServers {
    by_id: HashMap<Arc<str>, AskedServer>,
    is_running: bool,
}

/// A server that has not listed its tools yet.
struct AskedServer {
    /// Another server may get the same id.
    server: Weak<Server>,
    since: Instant,
    has_answered: bool,
    /// It waits for a person, so asking again does not help.
    needs_login: bool,
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
        let missing = without_list(servers);
        if !missing.is_empty() {
            let end = patience.map(|patience| Instant::now() + patience);
            let mut answers = self.shared.answers.subscribe();
            self.shared.enter(&missing);
            self.start(servers);
            while let Some(last) = self.shared.waits_until(&missing, servers, shows_any()) {
                let until = end.map_or(last, |end| end.min(last));
                if !matches!(timeout_at(until, answers.changed()).await, Ok(Ok(()))) {
                    break;
                }
            }
        }
        // A list is there a moment before its tools are.
        servers.all().iter().for_each(|server| server.wait_for_publication());
        self.shared.still_starting(&missing).map(|(server, _)| server.id().clone()).collect()
    }

    fn start(&self, servers: &Arc<Servers>) {
        if std::mem::replace(&mut self.shared.servers.lock().is_running, true) {
            return;
        }
        let mut task = self.task.lock();
        // Those that have ended.
        while task.try_join_next().is_some() {}
        task.spawn(request_lists(self.shared.clone(), Arc::downgrade(servers)));
    }
}

impl FirstListState {
    /// Takes note of servers. Those that were never asked are asked now.
    fn enter(&self, missing: &[Arc<Server>]) {
        let mut asked = self.servers.lock();
        for server in missing {
            if asked.by_id.get(server.id()).is_none_or(|known| !known.is(server)) {
                let (server_ref, since) = (Arc::downgrade(server), Instant::now());
                let entry =
                    AskedServer { server: server_ref, since, has_answered: false, needs_login: false };
                asked.by_id.insert(server.id().clone(), entry);
                self.added.notify_one();
            }
        }
    }

    /// The servers that have not answered, and since when they have been asked.
    fn still_starting<'a>(
        &'a self,
        missing: &'a [Arc<Server>],
    ) -> impl Iterator<Item = (&'a Arc<Server>, Instant)> {
        missing.iter().filter(|server| server.listing().is_none()).filter_map(|server| {
            let asked = self.servers.lock();
            let known = asked.by_id.get(server.id()).filter(|known| known.is(server))?;
            (!known.has_answered).then_some((server, known.since))
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

    /// The servers to ask; `None` when none is left, and the task ends.
    fn next(&self, servers: &Servers) -> Option<Vec<Arc<Server>>> {
        let mut asked = self.servers.lock();
        let mut left = without_list(servers);
        asked.by_id.retain(|_, known| left.iter().any(|server| known.is(server)));
        left.retain(|server| asked.by_id.get(server.id()).is_none_or(|known| !known.needs_login));
        asked.is_running = !left.is_empty();
        asked.is_running.then_some(left)
    }

    fn answered(&self, server: &Arc<Server>, failure: Option<ErrorKind>) {
        if let Some(known) = self.servers.lock().by_id.get_mut(server.id()).filter(|known| known.is(server)) {
            known.has_answered = true;
            known.needs_login = failure == Some(ErrorKind::Auth);
        }
        self.answers.send_modify(|answers| *answers += 1);
    }
}

/// How long a server may take to start when clients wait for it and for nothing else.
fn longest_wait(servers: &Servers, server: &Server) -> Duration {
    server.config().options.startup_timeout.min(LONGEST_WAIT).max(servers.lookup_timeout())
}

fn without_list(servers: &Servers) -> Vec<Arc<Server>> {
    servers.never_listed(None, None).iter().filter_map(|id| servers.get(id)).collect()
}

/// The pause after which a server that was just lost may be connected again, if clients can wait for that long.
fn short_pause(error: &HubError) -> Option<Duration> {
    let pause = Duration::try_from_secs_f64(error.retry_after?).ok()?;
    (pause <= FIRST_PAUSE).then_some(pause)
}

async fn request_lists(state: Arc<FirstListState>, servers: Weak<Servers>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(servers) = servers.upgrade() else { return };
        let Some(left) = state.next(&servers) else { return };
        let places = Semaphore::new(CONNECT_AT_ONCE);
        let one = async |server: Arc<Server>| {
            let mut listed = list(&servers, &server, &places).await;
            if let Some(pause) = listed.as_ref().err().and_then(short_pause) {
                sleep(pause).await;
                listed = list(&servers, &server, &places).await;
            }
            state.answered(&server, listed.err().map(|error| error.kind));
        };
        join_all(left.into_iter().map(one)).await;
        drop(servers);
        // A new server is not kept waiting by those that failed.
        match timeout(pause, state.added.notified()).await {
            Ok(()) => pause = FIRST_PAUSE,
            Err(_) => pause = (pause * 2).min(LONGEST_PAUSE),
        }
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
