//! Gives up an answer over HTTP/2 that its client does not take.
//!
//! A client of HTTP/2 says how much of each answer it takes (flow control). One that takes nothing does not block the socket, so
//! its connection looks sound, and its answers would stay in memory for as long as it answers pings. So the body of an answer
//! notes when it has handed out a part, and the task of its stream ends when the next one is not fetched in time; that resets
//! the stream, and the others of the connection go on.
//!
//! hyper fetches the next part when the client has taken something of the last one. What it holds then is gone from here, so the
//! parts are small. A stream that has nothing to say may stay idle.

use crate::operate::Drain;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Frame, SizeHint};
use hyper::rt::Executor;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};
use toolhub_types::sync::{Arc, Mutex};

/// The longest part of an answer, in bytes.
const PART: usize = 16 * 1024;

/// Since when a part of the answer waits for the client.
#[derive(Clone, Default)]
struct OfferedPart(Arc<Mutex<Option<Instant>>>);

tokio::task_local! {
    /// The part of the stream whose task this is.
    static OFFERED: OfferedPart;
}

/// Runs the streams of a connection.
#[derive(Clone)]
pub struct StreamExecutor {
    pub timeout: Duration,
    /// Those that run.
    pub streams: Drain,
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, stream: F) {
        let offered = OfferedPart::default();
        let stream = Box::pin(OFFERED.scope(offered.clone(), stream));
        let running = self.streams.enter_beside();
        let stream = TimedStream { stream, offered, timeout: self.timeout, waiting: None };
        tokio::spawn(async move {
            stream.await;
            drop(running);
        });
    }
}

/// A stream that ends when its client does not take a part of the answer in time.
struct TimedStream<S> {
    stream: Pin<Box<S>>,
    offered: OfferedPart,
    timeout: Duration,
    /// Runs while a part waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S: Future> Future for TimedStream<S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let own = self.get_mut();
        if own.stream.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let Some(since) = *own.offered.0.lock() else {
            own.waiting = None;
            return Poll::Pending;
        };
        let end = since + own.timeout;
        let waiting = own.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        if waiting.deadline() != end {
            waiting.as_mut().reset(end);
        }
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(())
    }
}

/// The body of an answer, in parts whose time is noted.
pub struct TimedBody {
    body: UnsyncBoxBody<Bytes, Infallible>,
    /// What is left of the last part of the body.
    rest: Bytes,
    offered: Option<OfferedPart>,
}

impl TimedBody {
    /// Made in the task of its stream.
    pub fn new(body: UnsyncBoxBody<Bytes, Infallible>) -> Self {
        TimedBody { body, rest: Bytes::new(), offered: OFFERED.try_with(OfferedPart::clone).ok() }
    }

    fn note(&self, since: Option<Instant>) {
        if let Some(offered) = &self.offered {
            *offered.0.lock() = since;
        }
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let own = self.get_mut();
        own.note(None);
        if own.rest.is_empty() {
            match ready!(Pin::new(&mut own.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => own.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
        own.note(Some(Instant::now()));
        let part = own.rest.split_to(own.rest.len().min(PART));
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.body.size_hint().exact() {
            Some(exact) => SizeHint::with_exact(exact + self.rest.len() as u64),
            None => SizeHint::default(),
        }
    }
}
