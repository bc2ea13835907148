//! An answer as server-sent events: messages for the client as they come, then the answer itself.

use crate::answer::AnsweredRequest;
use crate::operate::HeldMessage;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{Stream, StreamExt, unfold};
use std::collections::VecDeque;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
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

/// Gives the answer, or `None` if the request panicked.
pub struct RunningAnswer(Option<BoxFuture<'static, Option<AnsweredRequest>>>);

impl RunningAnswer {
    pub fn new(request: impl Future<Output = AnsweredRequest> + Send + 'static) -> Self {
        Self(Some(AssertUnwindSafe(request).catch_unwind().map(Result::ok).boxed()))
    }

    /// Goes on in a task of its own, which gives the answer.
    pub fn detach(mut self) -> oneshot::Receiver<AnsweredRequest> {
        let (done, answered) = oneshot::channel();
        if let Some(request) = self.0.take() {
            tokio::spawn(async move {
                if let Some(answer) = request.await {
                    // The client may have gone.
                    let _ = done.send(answer);
                }
            });
        }
        answered
    }
}

impl Future for RunningAnswer {
    type Output = Option<AnsweredRequest>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(request) = &mut self.0 else { return Poll::Ready(None) };
        let answer = std::task::ready!(request.poll_unpin(context));
        self.0 = None;
        Poll::Ready(answer)
    }
}

impl Drop for RunningAnswer {
    fn drop(&mut self) {
        let Some(request) = self.0.take() else { return };
        // Without a runtime nothing can go on, and the tools have ended with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(request);
        }
    }
}
