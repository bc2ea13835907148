//! The socket of a client who may stall or leave. It fails
//! - when a write waits and the client takes nothing for a while. A socket on which nothing is to be written may stay idle;
//! - when the client has gone while its request runs.
//!
//! hyper sees the end of a connection only by reading, and while a request runs it stops reading as soon as it holds bytes that
//! came after that request: an empty line, or the next request of a client that sends ahead. The end of the connection is
//! after those bytes, so the call of a client that has gone would run on. hyper flushes at the end of each of its steps: if its
//! last read gave bytes, the flush looks at the socket. A client that says that it sends no more is taken for gone, as hyper
//! takes it.
//!
//! ```text
//! last read   nothing left, or the end     hyper is woken by what comes, and sees it
//!             bytes ─► the socket is   closed             the flush fails
//!                                      without bytes      woken by what comes, and looks again
//!                                      with bytes         nothing wakes: looks again after a while
//! ```
//!
//! The system says that the other side has closed as soon as it knows (`EPOLLRDHUP`). It cannot know it before it has taken what
//! was sent, so the end of a client that sends ahead more than the socket holds is seen after its request.

use crate::operate::Drain;
use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Frame, SizeHint};
use hyper::rt::Executor;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};
use toolhub_types::sync::{Arc, Mutex};

/// How long the end of a connection may stay unseen after bytes that nobody reads. A call must be cancelled within a second.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

pub struct ClientSocket {
    stream: TcpStream,
    write_timeout: Duration,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
    /// Whether a write waits for the client, for who does not hold the socket.
    pub is_stalled: Arc<AtomicBool>,
    /// The last read gave bytes, so there may be no other before the request has ended.
    is_reading_paused: bool,
    /// Runs while bytes wait to be read.
    look_again: Option<Pin<Box<Sleep>>>,
}

impl ClientSocket {
    pub fn new(stream: TcpStream, write_timeout: Duration) -> Self {
        ClientSocket {
            stream,
            write_timeout,
            waiting: None,
            is_stalled: Arc::default(),
            is_reading_paused: false,
            look_again: None,
        }
    }

    fn watch<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.is_stalled.store(written.is_pending(), Ordering::Relaxed);
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let timeout = self.write_timeout;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Fails when the other side has gone; otherwise the task is woken to look again.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if !self.is_reading_paused {
            self.look_again = None;
            return Ok(());
        }
        loop {
            // Polled once: it says what is known of the socket now.
            match self.stream.ready(Interest::READABLE).now_or_never().transpose()? {
                Some(ready) if ready.is_read_closed() => return Err(io::ErrorKind::ConnectionReset.into()),
                Some(_) => {
                    let pause =
                        self.look_again.get_or_insert_with(|| Box::pin(tokio::time::sleep(LOOK_AGAIN)));
                    if pause.as_mut().poll(cx).is_pending() {
                        return Ok(());
                    }
                    pause.as_mut().reset(Instant::now() + LOOK_AGAIN);
                }
                None => {
                    self.look_again = None;
                    if self.stream.poll_read_ready(cx)?.is_pending() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

impl AsyncRead for ClientSocket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        let before = buf.filled().len();
        let read = Pin::new(&mut own.stream).poll_read(cx, buf);
        own.is_reading_paused = buf.filled().len() > before;
        read
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let own = self.get_mut();
        let written = Pin::new(&mut own.stream).poll_write(cx, buf);
        own.watch(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let own = self.get_mut();
        let written = Pin::new(&mut own.stream).poll_write_vectored(cx, bufs);
        own.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        let flushed = Pin::new(&mut own.stream).poll_flush(cx);
        ready!(own.watch(cx, flushed))?;
        Poll::Ready(own.check(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        let shut = Pin::new(&mut own.stream).poll_shutdown(cx);
        own.watch(cx, shut)
    }
}

// Gives up an answer over HTTP/2 that its client does not take.
//
// A client of HTTP/2 says how much of each answer it takes (flow control). One that takes nothing does not block the socket, so
// its connection looks sound, and its answers would stay in memory for as long as it answers pings. So the body of an answer
// notes when it has handed out a part, and the task of its stream ends when the next one is not fetched in time; that resets
// the stream, and the others of the connection go on.
//
// hyper fetches the next part when the client has taken something of the last one. What it holds then is gone from here, so the
// parts are small. A stream that has nothing to say may stay idle.

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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// More than the sockets of both sides keep.
    const MUCH: usize = 64 * 1024 * 1024;

    async fn pair(timeout: Duration) -> (ClientSocket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        (ClientSocket::new(server, timeout), client)
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_given_up() {
        let (mut server, _client) = pair(Duration::from_millis(20)).await;
        let error = server.write_all(&vec![0; MUCH]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_client_that_reads_gets_all() {
        let (mut server, mut client) = pair(Duration::from_secs(30)).await;
        let reading = tokio::spawn(async move {
            let mut all = Vec::new();
            client.read_to_end(&mut all).await.unwrap();
            all.len()
        });
        server.write_all(&vec![0; MUCH]).await.unwrap();
        server.shutdown().await.unwrap();
        assert_eq!(reading.await.unwrap(), MUCH);
    }

    #[tokio::test]
    async fn a_stream_on_which_nothing_is_written_may_stay_idle() {
        let (mut server, mut client) = pair(Duration::from_millis(1)).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        server.write_all(b"x").await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), b'x');
    }
}
