//! Notices that a client of HTTP/1.1 has gone while its request runs.
//!
//! hyper sees the end of a connection only by reading, and while a request runs it stops reading as soon as it holds bytes that
//! came after that request: an empty line, or the next request of a client that sends ahead. The end of the connection is
//! behind those bytes, so the call of a client that has gone would run on.
//!
//! hyper flushes at the end of each of its steps. If its last read gave bytes, so that it may have stopped there, the flush
//! looks at the socket, and fails when the other side has closed it. The connection then ends as it does when hyper sees the
//! end itself, half-closed connections included: a client that says that it sends no more is taken for gone.
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

use futures_util::FutureExt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// How long the end of a connection may stay unseen behind bytes that nobody reads. A call must be cancelled within a second.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// A socket whose flushes fail when the other side has gone.
pub struct HangUpWatch {
    stream: TcpStream,
    is_on: bool,
    /// The last read gave bytes, so there may be no other before the request has ended.
    is_reading_paused: bool,
    /// Runs while bytes wait to be read.
    look_again: Option<Pin<Box<Sleep>>>,
}

impl HangUpWatch {
    /// Watches a socket from which something was read already.
    pub fn new(stream: TcpStream) -> Self {
        HangUpWatch { stream, is_on: true, is_reading_paused: true, look_again: None }
    }

    /// Watches nothing: HTTP/2 reads all the time.
    pub fn off(stream: TcpStream) -> Self {
        HangUpWatch { is_on: false, ..HangUpWatch::new(stream) }
    }

    /// Fails when the other side has gone; otherwise the task is woken to look again.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if !self.is_on || !self.is_reading_paused {
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
                    pause.as_mut().reset(tokio::time::Instant::now() + LOOK_AGAIN);
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

impl AsyncRead for HangUpWatch {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        let before = buf.filled().len();
        let read = Pin::new(&mut own.stream).poll_read(cx, buf);
        own.is_reading_paused = buf.filled().len() > before;
        read
    }
}

impl AsyncWrite for HangUpWatch {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        ready!(Pin::new(&mut own.stream).poll_flush(cx))?;
        Poll::Ready(own.check(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
