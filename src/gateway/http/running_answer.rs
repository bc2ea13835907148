//! A request that runs in the task of its connection for as long as the client waits for a plain answer.
//!
//! Most requests end that way, and another task for each would cost two changes of threads. Dropping the future of a
//! request is not enough to stop a tool, cancelling its token is; so a request whose connection ends, or whose answer
//! becomes a stream, goes on in a task of its own.

use crate::answer::AnsweredRequest;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::oneshot;

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
