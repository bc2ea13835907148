//! An answer as server-sent events: messages for the client as they come, then the answer itself.

use super::AnsweredRequest;
use crate::held_bytes::HeldMessage;
use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::DropGuard;
use toolhub_types::aside::heavy;

/// A comment, which clients ignore and which keeps proxies from closing the connection.
const COMMENT: &[u8] = b": \n\n";

/// Nothing, so that proxies keep the connection.
pub fn comment() -> Bytes {
    Bytes::from_static(COMMENT)
}

/// A JSON-RPC message as an event. Messages have no line ends.
pub fn event(message: impl Into<HeldMessage>) -> Bytes {
    let message = message.into();
    heavy(message.text.len(), || message.map(|text| format!("event: message\ndata: {text}\n\n"))).into_bytes()
}

/// A request that is answered by an event stream. Dropping it cancels the request.
pub struct AnswerStream {
    /// What is sent before anything else.
    pub first: Option<HeldMessage>,
    pub messages: mpsc::Receiver<HeldMessage>,
    pub answer: oneshot::Receiver<AnsweredRequest>,
    pub keep_alive: Duration,
    /// Cancels the request when it is dropped.
    pub _guard: DropGuard,
}

impl AnswerStream {
    /// The events, up to the answer.
    pub fn events(self) -> impl Stream<Item = Bytes> + Send {
        unfold(Some(self), |stream| async move {
            let mut stream = stream?;
            if let Some(first) = stream.first.take() {
                return Some((event(first), Some(stream)));
            }
            tokio::select! {
                biased;
                Some(message) = stream.messages.recv() => Some((event(message), Some(stream))),
                // Without an answer the request has been dropped with the runtime: the stream just ends.
                answered = &mut stream.answer => Some((event(answered.ok()?.message), None)),
                () = tokio::time::sleep(stream.keep_alive) => Some((comment(), Some(stream))),
            }
        })
    }
}
