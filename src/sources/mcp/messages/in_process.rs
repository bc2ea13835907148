//! A server in this process: sessions and messages change hands through channels, without a socket or a child process.
//!
//! ```text
//! connector ─ open() ─► ServerLink ═ sessions ═► SessionQueue ─ next() ─► HostedSession (runs the server)
//! transport ◄════════════════ messages, both ways, bounded ═══════════════►
//! ```
//!
//! The host is the owner of the server. It takes one session after another; a host that has ended takes none.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::sync::{Mutex, mpsc, watch};
use toolhub_types::error::{ErrorKind, HubError, Outcome};

/// How many messages may wait on each side of a session.
const WAITING_MESSAGES: usize = 64;

/// The way to a server in this process.
#[derive(Clone)]
pub struct ServerLink {
    sessions: mpsc::UnboundedSender<HostedSession>,
}

/// The client's side of a session.
pub struct ClientSide {
    pub to_server: mpsc::Sender<String>,
    pub from_server: mpsc::Receiver<String>,
    /// Why the host ended the session, if it says so.
    pub reason: Arc<OnceLock<String>>,
    /// Set when the host has ended the session: nothing that is sent now is read.
    pub is_over: Arc<AtomicBool>,
}

/// The sessions that wait for the host.
pub struct SessionQueue {
    waiting: Mutex<mpsc::UnboundedReceiver<HostedSession>>,
    /// Counts the places at which the host has run.
    place: watch::Sender<u64>,
}

/// The server's side of a session. Dropping it ends the session.
pub struct HostedSession {
    from_client: Mutex<mpsc::Receiver<String>>,
    to_client: parking_lot::Mutex<Option<mpsc::Sender<String>>>,
    reason: Arc<OnceLock<String>>,
    is_over: Arc<AtomicBool>,
}

/// A link and the queue of its host. Once all links are gone, the queue ends.
pub fn hosted() -> (ServerLink, SessionQueue) {
    let (sessions, queue) = mpsc::unbounded_channel();
    (ServerLink { sessions }, SessionQueue { waiting: Mutex::new(queue), place: watch::Sender::default() })
}

impl ServerLink {
    pub fn open(&self) -> Result<ClientSide, HubError> {
        let (to_server, from_client) = mpsc::channel(WAITING_MESSAGES);
        let (to_client, from_server) = mpsc::channel(WAITING_MESSAGES);
        let (reason, is_over) = (Arc::new(OnceLock::new()), Arc::new(AtomicBool::new(false)));
        let session = HostedSession {
            from_client: Mutex::new(from_client),
            to_client: parking_lot::Mutex::new(Some(to_client)),
            reason: reason.clone(),
            is_over: is_over.clone(),
        };
        self.sessions.send(session).map_err(|_| {
            let text = "the server in this process is not running any more";
            HubError::new(ErrorKind::Connect, text).with_outcome(Outcome::NotSent)
        })?;
        Ok(ClientSide { to_server, from_server, reason, is_over })
    }
}

impl PartialEq for ServerLink {
    fn eq(&self, other: &Self) -> bool {
        self.sessions.same_channel(&other.sessions)
    }
}

impl fmt::Debug for ServerLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerLink")
    }
}

impl SessionQueue {
    /// The next session; `None` when there will be no other one, or the host runs elsewhere by now.
    pub async fn next(&self) -> Option<HostedSession> {
        let mut place = self.place.subscribe();
        tokio::select! {
            biased;
            _ = place.changed() => None,
            session = async { self.waiting.lock().await.recv().await } => session,
        }
    }

    /// The host moves: who waits for a session now gets none, and who asks from now on gets them.
    pub fn hand_over(&self) {
        self.place.send_modify(|place| *place += 1);
    }
}

impl HostedSession {
    /// The next message of the client; `None` after it has closed the session.
    pub async fn receive(&self) -> Option<String> {
        self.from_client.lock().await.recv().await
    }

    /// Sends a message to the client; false when the session is over.
    pub async fn send(&self, message: String) -> bool {
        let to_client = self.to_client.lock().clone();
        match to_client {
            Some(to_client) => to_client.send(message).await.is_ok(),
            None => false,
        }
    }

    /// Ends the session. Requests in flight fail with the reason.
    pub fn end(&self, reason: Option<String>) {
        if let Some(reason) = reason {
            let _ = self.reason.set(reason);
        }
        self.is_over.store(true, Ordering::Release);
        self.to_client.lock().take();
    }
}
