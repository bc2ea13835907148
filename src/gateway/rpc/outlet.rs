//! Messages for the client of one request, other than its answer.

use crate::operate::HeldMessage;
use crate::rpc::notification_message;
use serde_json::Value;
use tokio::sync::mpsc;
use toolhub_types::sync::{Arc, Mutex};

/// How many messages may wait for a slow client. Further reports of progress are dropped.
const MOST_WAITING: usize = 64;

/// Where messages for the client of one request go. Clones share it.
#[derive(Clone, Debug)]
pub struct Outlet(Arc<Mutex<mpsc::Sender<HeldMessage>>>);

impl Outlet {
    /// An outlet and the end from which the endpoint takes its messages.
    pub fn open() -> (Outlet, mpsc::Receiver<HeldMessage>) {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        (Outlet::of(sender), receiver)
    }

    /// An outlet of a client that gets all messages in one stream.
    pub fn of(sender: mpsc::Sender<HeldMessage>) -> Outlet {
        Outlet(Arc::new(Mutex::new(sender)))
    }

    /// An outlet of its own that leads to the same place.
    pub fn branch(&self) -> Outlet {
        Outlet::of(self.sender())
    }

    /// It leads to where the other one does, from now on.
    pub fn redirect(&self, to: &Outlet) {
        let to = to.sender();
        *self.0.lock() = to;
    }

    fn sender(&self) -> mpsc::Sender<HeldMessage> {
        self.0.lock().clone()
    }

    /// Reports progress of the request that gave this token. A report may be lost: if the client is slow, the next one says
    /// more than this one.
    pub fn progress(&self, token: &Value, report: &Value) {
        if let Value::Object(mut params) = report.clone() {
            params.insert("progressToken".to_owned(), token.clone());
            self.notify("notifications/progress", &Value::Object(params));
        }
    }

    /// Sends a notification that may be lost if the client is slow.
    pub fn notify(&self, method: &str, params: &Value) {
        let _ = self.0.lock().try_send(notification_message(method, params).into());
    }

    /// Sends a message; waits while the client is slow. False if it takes no messages.
    pub async fn send(&self, message: String) -> bool {
        let sender = self.sender();
        sender.send(message.into()).await.is_ok()
    }
}
