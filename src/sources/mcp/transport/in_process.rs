//! A session with a server in this process.

use super::{OutgoingRequest, SendStage, Transport};
use crate::mcp::inbox::{Answerer, Inbox};
use crate::mcp::wire::clean;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use std::sync::{Arc, OnceLock, Weak};
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result};
use toolhub_types::tool::BoxFuture;

/// In characters: the reason for the end of a session is cut to this length.
const LONGEST_REASON: usize = 1_000;

pub struct InProcess {
    server: Arc<str>,
    /// Gone once the transport is closed, which ends the input of the server.
    to_server: Mutex<Option<mpsc::Sender<String>>>,
    inbox: Arc<Inbox>,
    /// Set when the host has ended the session, which may not be noticed yet: what it says about that.
    end: SessionEnd,
}

/// Why the host of a session has ended it, if it says so.
type SessionEnd = Arc<OnceLock<Option<String>>>;

impl InProcess {
    pub fn open(server: Arc<str>, link: &ServerLink, inbox: Arc<Inbox>) -> Result<Arc<Self>> {
        let (to_server, from_server, end) = link.open()?;
        let transport = Arc::new(InProcess { server, to_server: Mutex::new(Some(to_server)), inbox, end });
        tokio::spawn(read(Arc::downgrade(&transport), from_server));
        Ok(transport)
    }

    fn ended(&self) -> HubError {
        let text = match self.end.get() {
            Some(Some(reason)) => {
                message!("Server '{}' ended its session: {}", self.server, clean(reason, LONGEST_REASON))
            }
            _ => message!("Server '{}' ended its session.", self.server),
        };
        HubError::new(ErrorKind::Closed, text)
    }

    /// The way to the server, if neither side has ended the session.
    fn way(&self) -> Option<mpsc::Sender<String>> {
        self.to_server.lock().clone().filter(|_| self.end.get().is_none())
    }

    async fn deliver(&self, message: String, stage: &SendStage) -> Result<()> {
        if let Some(to_server) = self.way()
            && let Ok(place) = to_server.reserve().await
        {
            if stage.leave() {
                place.send(message);
            }
            return Ok(());
        }
        Err(self.ended().with_outcome(Outcome::NotSent))
    }
}

/// Reads what the server sends until it ends the session, or until nobody has the transport any more.
async fn read(transport: Weak<InProcess>, mut from_server: mpsc::Receiver<String>) {
    while let Some(message) = from_server.recv().await {
        let Some(open) = transport.upgrade() else { return };
        open.inbox.receive(message.as_bytes(), None, &|| Some(answerer(transport.clone())));
    }
    if let Some(open) = transport.upgrade() {
        open.to_server.lock().take();
        open.inbox.end(&open.ended());
    }
}

fn answerer(transport: Weak<InProcess>) -> Answerer {
    Box::new(move |answer| {
        Box::pin(async move {
            // Not the transport itself: it would stay as long as the server does not read.
            let way = transport.upgrade().and_then(|open| open.way());
            if let Some(way) = way {
                let _ = way.send(answer).await;
            }
        })
    })
}

impl Transport for InProcess {
    fn request<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<Box<RawValue>>> {
        Box::pin(async move {
            let expected = self.inbox.await_answer(request.id)?;
            self.deliver(request.body.clone(), &request.stage).await?;
            expected.answer().await
        })
    }

    fn send<'a>(&'a self, message: String) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.deliver(message, &SendStage::default()).await })
    }

    fn retired(&self) -> Option<HubError> {
        let ended = self.end.get().map(|_| self.ended().with_outcome(Outcome::NotSent));
        ended.or_else(|| self.inbox.retired())
    }

    fn has_unread(&self) -> bool {
        let to_server = self.to_server.lock();
        to_server.as_ref().is_some_and(|sender| sender.capacity() < sender.max_capacity())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.to_server.lock().take();
            let error = HubError::new(ErrorKind::Closed, "the connection to the server is closed");
            self.inbox.end(&error);
        })
    }
}

// A server in this process: sessions and messages change hands through channels, without a socket or a child process.
//
// ```text
// connector ─ open() ─► ServerLink ═ sessions ═► SessionQueue ─ next() ─► HostedSession (runs the server)
// transport ◄════════════════ messages, both ways, bounded ═══════════════►
// ```
//
// The host is the owner of the server. It takes one session after another; a host that has ended takes none.

/// How many messages may wait on each side of a session.
const WAITING_MESSAGES: usize = 64;

/// The way to a server in this process.
#[derive(Clone, Debug)]
pub struct ServerLink {
    sessions: mpsc::UnboundedSender<HostedSession>,
}

/// The sessions that wait for the host.
pub struct SessionQueue {
    waiting: AsyncMutex<mpsc::UnboundedReceiver<HostedSession>>,
    moved: Notify,
}

/// The server's side of a session. Dropping it ends the session.
pub struct HostedSession {
    from_client: AsyncMutex<mpsc::Receiver<String>>,
    to_client: Mutex<Option<mpsc::Sender<String>>>,
    end: SessionEnd,
}

/// A link and the queue of its host. Once all links are gone, the queue ends.
pub fn hosted() -> (ServerLink, SessionQueue) {
    let (sessions, queue) = mpsc::unbounded_channel();
    (ServerLink { sessions }, SessionQueue { waiting: AsyncMutex::new(queue), moved: Notify::new() })
}

impl ServerLink {
    /// Begins a session: the way to the server, the way back, and why the host has ended it.
    fn open(&self) -> Result<(mpsc::Sender<String>, mpsc::Receiver<String>, SessionEnd)> {
        let (to_server, from_client) = mpsc::channel(WAITING_MESSAGES);
        let (to_client, from_server) = mpsc::channel(WAITING_MESSAGES);
        let end = SessionEnd::default();
        let session = HostedSession {
            from_client: AsyncMutex::new(from_client),
            to_client: Mutex::new(Some(to_client)),
            end: end.clone(),
        };
        self.sessions.send(session).map_err(|_| {
            let text = "the server in this process is not running any more";
            HubError::new(ErrorKind::Connect, text).with_outcome(Outcome::NotSent)
        })?;
        Ok((to_server, from_server, end))
    }
}

impl PartialEq for ServerLink {
    fn eq(&self, other: &Self) -> bool {
        self.sessions.same_channel(&other.sessions)
    }
}

impl SessionQueue {
    /// The next session; `None` when there will be no other one, or the host runs elsewhere by now.
    pub async fn next(&self) -> Option<HostedSession> {
        let moved = self.moved.notified();
        tokio::select! {
            biased;
            () = moved => None,
            session = async { self.waiting.lock().await.recv().await } => session,
        }
    }

    /// The host moves: who waits for a session now gets none, and who asks from now on gets them.
    pub fn hand_over(&self) {
        self.moved.notify_waiters();
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
        let _ = self.end.set(reason);
        self.to_client.lock().take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::callbacks::ServerCallbacks;
    use std::time::Duration;

    /// Who sends may notice the end before the reader does. One thread: the reader has no turn before the first wait.
    #[tokio::test]
    async fn the_reason_for_the_end_is_known_to_whoever_notices_it_first() {
        let (link, queue) = hosted();
        let inbox = Inbox::new(ServerCallbacks::of_test());
        let transport = InProcess::open("ill".into(), &link, inbox).unwrap();
        let session = queue.next().await.unwrap();
        session.end(Some("the database is away".to_owned()));
        let is_reason =
            |error: &HubError| error.message == "Server 'ill' ended its session: the database is away";
        assert!(transport.retired().is_some_and(|error| is_reason(&error)));
        let stage = SendStage::default();
        let sent = transport.deliver("{}".to_owned(), &stage).await;
        assert!(sent.is_err_and(|error| is_reason(&error) && error.outcome == Outcome::NotSent));
        assert!(!stage.may_have_left());
        // The queue of the session goes with it.
        drop(session);
        let sent = transport.send("{}".to_owned()).await;
        assert!(sent.is_err_and(|error| is_reason(&error)));
    }

    /// An answer that waits for a place behind them must not keep the session open.
    #[tokio::test(start_paused = true)]
    async fn the_host_notices_the_end_of_a_session_in_which_it_has_read_nothing() {
        let (link, queue) = hosted();
        let transport =
            InProcess::open("busy".into(), &link, Inbox::new(ServerCallbacks::of_test())).unwrap();
        let session = queue.next().await.unwrap();
        for _ in 0..WAITING_MESSAGES {
            transport.send("{}".to_owned()).await.unwrap();
        }
        let ping = || session.send(r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#.to_owned());
        assert!(ping().await);
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(transport);
        let mut taken = 0;
        while ping().await {
            taken += 1;
            assert!(taken <= 2 * WAITING_MESSAGES);
        }
    }
}
