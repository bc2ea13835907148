//! An answer as server-sent events: messages for the client as they come, then the answer itself.

use super::AnsweredRequest;
use super::reply::held_bytes;
use crate::aside::heavy;
use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::DropGuard;

/// A comment, which clients ignore and which keeps proxies from closing the connection.
const COMMENT: &[u8] = b": \n\n";

/// Nothing, so that proxies keep the connection.
pub fn comment() -> Bytes {
    Bytes::from_static(COMMENT)
}

/// A JSON-RPC message as an event. Messages have no line ends.
pub fn event(message: &str) -> Bytes {
    heavy(message.len(), || Bytes::from(format!("event: message\ndata: {message}\n\n")))
}

/// The answer to a request as an event.
pub fn answer_event(answer: AnsweredRequest) -> Bytes {
    let text = heavy(answer.message.len(), || format!("event: message\ndata: {}\n\n", answer.message));
    held_bytes(text, answer.held.ok().flatten())
}

/// A request that is answered by an event stream. Dropping it cancels the request.
pub struct AnswerStream {
    /// What is sent before anything else.
    pub first: Option<String>,
    pub messages: mpsc::Receiver<String>,
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
                return Some((event(&first), Some(stream)));
            }
            tokio::select! {
                biased;
                Some(message) = stream.messages.recv() => Some((event(&message), Some(stream))),
                // Without an answer the request has been dropped with the runtime: the stream just ends.
                answered = &mut stream.answer => Some((answer_event(answered.ok()?), None)),
                () = tokio::time::sleep(stream.keep_alive) => Some((comment(), Some(stream))),
            }
        })
    }
}
