//! An answer as server-sent events: messages for the client as they come, then the answer itself.

use crate::operate::HeldMessage;
use bytes::Bytes;
use futures_util::stream::{Stream, StreamExt, unfold};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::mpsc;
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

/// Answers as an event stream. Dropping it cancels their requests.
pub struct AnswerStream<A> {
    /// What is sent before anything else.
    pub first: VecDeque<HeldMessage>,
    pub messages: mpsc::Receiver<HeldMessage>,
    /// The end of it is the end of the stream.
    pub answers: A,
    pub keep_alive: Duration,
    /// Cancels the requests when it is dropped.
    pub _guard: DropGuard,
}

impl<A: Stream<Item = HeldMessage> + Send + Unpin> AnswerStream<A> {
    /// The events, up to the last answer. A tool may keep its way to the client, but that answer is the end.
    pub fn events(self) -> impl Stream<Item = Bytes> + Send {
        unfold(self, |mut stream| async move {
            if let Some(first) = stream.first.pop_front() {
                return Some((event(first), stream));
            }
            tokio::select! {
                biased;
                Some(message) = stream.messages.recv() => Some((event(message), stream)),
                answer = stream.answers.next() => Some((event(answer?), stream)),
                () = tokio::time::sleep(stream.keep_alive) => Some((comment(), stream)),
            }
        })
    }
}
