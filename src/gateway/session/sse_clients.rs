//! The clients of the transport HTTP+SSE that are connected. A client has one stream, and sends its messages by other requests,
//! which must reach the same process.

use crate::kept::questions::random_id;
use crate::rpc::payload::ClientPayload;
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::mpsc;
use toolhub_types::sync::Mutex;

/// What a request holds while it is worked on.
pub type BoxedPermit = Box<dyn Any + Send>;

/// What a client has sent.
pub struct PostedMessage {
    pub payload: ClientPayload,
    pub place: BoxedPermit,
}

struct ConnectedClient {
    /// The only caller whose messages count: its principal and its view.
    principal: Arc<str>,
    view: Arc<str>,
    messages: mpsc::Sender<PostedMessage>,
}

/// The connected clients by an id that only the client knows.
#[derive(Clone, Default)]
pub struct SseClients(Arc<Mutex<HashMap<String, ConnectedClient>>>);

impl SseClients {
    /// Enters a client. `None` when the OS gives no random bytes: an id that can be guessed would let others speak for it.
    pub fn enter(
        &self,
        principal: Arc<str>,
        view: Arc<str>,
        messages: mpsc::Sender<PostedMessage>,
    ) -> Option<SseConnection> {
        let id = random_id()?;
        self.0.lock().insert(id.clone(), ConnectedClient { principal, view, messages });
        Some(SseConnection { all: self.clone(), id })
    }

    /// Where the messages of a client go; `None` if there is no such client of this caller.
    pub fn find(&self, id: &str, principal: &str, view: &str) -> Option<mpsc::Sender<PostedMessage>> {
        let all = self.0.lock();
        let client = all.get(id).filter(|client| &*client.principal == principal && &*client.view == view)?;
        Some(client.messages.clone())
    }
}

/// A connected client; dropping it ends the connection.
pub struct SseConnection {
    all: SseClients,
    pub id: String,
}

impl Drop for SseConnection {
    fn drop(&mut self) {
        self.all.0.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_found_by_its_own_caller_while_it_is_connected() {
        let clients = SseClients::default();
        let (messages, _) = mpsc::channel(1);
        let connection = clients.enter(Arc::from("marit"), Arc::from("reader"), messages).unwrap();
        assert!(clients.find(&connection.id, "marit", "reader").is_some());
        assert!(clients.find(&connection.id, "other", "reader").is_none());
        assert!(clients.find(&connection.id, "marit", "").is_none());
        assert!(clients.find("guessed", "marit", "reader").is_none());
        drop(connection);
        assert!(clients.0.lock().is_empty());
    }
}
