//! The first lists of the servers behind a gateway. One task requests them, so a client that leaves stops nothing.
//!
//! Clients wait for a server until it has answered once, for at most the hub's `lookup_timeout`. A server that failed is tried
//! again after growing pauses. Clients do not wait for that: they hear of its tools as of any other change.

use super::{CONNECT_AT_ONCE, Servers};
use crate::error::{ErrorKind, HubError};
use crate::sources::mcp::server::Server;
use crate::sync::Mutex;
use futures_util::stream::{self, StreamExt};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The pause before a server that failed is asked again; it grows.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

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
    /// Waits until every server has listed its tools, or has failed to once.
    pub async fn wait(&self, servers: &Arc<Servers>) {
        self.wait_for_answers(servers).await;
        // A list is there a moment before its tools are.
        servers.all().iter().for_each(|server| server.wait_for_publication());
    }

    async fn wait_for_answers(&self, servers: &Arc<Servers>) {
        let missing = without_list(servers);
        if missing.is_empty() {
            return;
        }
        let mut answers = self.shared.answers.subscribe();
        self.shared.enter(&missing);
        self.start(servers);
        let all_answered =
            async { while self.shared.is_waited_for(&missing) && answers.changed().await.is_ok() {} };
        let _ = timeout(servers.lookup_timeout(), all_answered).await;
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
                let entry =
                    AskedServer { server: Arc::downgrade(server), has_answered: false, needs_login: false };
                asked.by_id.insert(server.id().clone(), entry);
                self.added.notify_one();
            }
        }
    }

    fn is_waited_for(&self, missing: &[Arc<Server>]) -> bool {
        let asked = self.servers.lock();
        let is_open = |server: &&Arc<Server>| {
            server.listing().is_none()
                && asked.by_id.get(server.id()).is_some_and(|known| known.is(server) && !known.has_answered)
        };
        missing.iter().any(|server| is_open(&server))
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
        let patience = servers.lookup_timeout();
        let one = |server: Arc<Server>| {
            let (state, servers) = (&state, &servers);
            async move {
                let mut listed = servers.list_one(&server, patience).await;
                if let Some(pause) = listed.as_ref().err().and_then(short_pause) {
                    sleep(pause).await;
                    listed = servers.list_one(&server, patience).await;
                }
                state.answered(&server, listed.err().map(|error| error.kind));
            }
        };
        stream::iter(left).for_each_concurrent(CONNECT_AT_ONCE, one).await;
        drop(servers);
        // A new server is not kept waiting by those that failed.
        match timeout(pause, state.added.notified()).await {
            Ok(()) => pause = FIRST_PAUSE,
            Err(_) => pause = (pause * 2).min(LONGEST_PAUSE),
        }
    }
}
