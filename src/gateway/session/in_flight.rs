//! The requests that are running, so that a later message can cancel one.

use crate::rpc::RpcParams;
use crate::session::{GuardedTable, TableEntry};
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use toolhub_types::tool::CancelReason;

/// The session or pipe of a client, and the id of its request: an id is unique within its session.
type RequestKey = (Arc<str>, String);
type Cancellation = (CancellationToken, CancelReason);
pub type RequestsInFlight = GuardedTable<RequestKey, Cancellation>;
pub type RunningRequest = TableEntry<RequestKey, Cancellation>;

impl RequestsInFlight {
    /// Takes a notification of a session: one that cancels a request. A request that has ended, or never was, is not an error:
    /// the messages may cross.
    pub fn notified(&self, session: &Arc<str>, method: &str, params: &RpcParams) {
        let id = params.get("requestId").filter(|id| id.is_string() || id.is_number());
        let (Some(id), "notifications/cancelled") = (id, method) else { return };
        self.find(&(session.clone(), id.to_string()), |(cancel, reason)| {
            if let Some(said) = params.get("reason").and_then(Value::as_str) {
                let _ = reason.set(said.to_owned());
            }
            cancel.cancel();
            Some(())
        });
    }

    /// Cancels the requests of a session.
    pub fn cancel_session(&self, session: &str) {
        self.each(|(own, _), (cancel, _)| {
            if **own == *session {
                cancel.cancel();
            }
        });
    }
}
