//! Closes the connection of a client that does not read its answer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A stream whose writes fail when the other side takes nothing for a while. A stream on which nothing is to be written may
/// stay idle.
pub struct WriteTimeout<S> {
    stream: S,
    timeout: Duration,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
    progress: Arc<WriteProgress>,
}

/// How far the writes of a stream have come, for who does not hold the stream.
#[derive(Default)]
pub struct WriteProgress {
    written: AtomicU64,
    is_waiting: AtomicBool,
}

impl WriteProgress {
    /// The bytes that were written.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// The other side takes nothing at the moment.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::Relaxed)
    }
}

impl<S> WriteTimeout<S> {
    pub fn new(stream: S, timeout: Duration) -> Self {
        WriteTimeout { stream, timeout, waiting: None, progress: Arc::default() }
    }

    pub fn progress(&self) -> Arc<WriteProgress> {
        self.progress.clone()
    }

    fn count(&self, written: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(count)) = written {
            self.progress.written.fetch_add(*count as u64, Ordering::Relaxed);
        }
    }

    fn watch<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.progress.is_waiting.store(written.is_pending(), Ordering::Relaxed);
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let timeout = self.timeout;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let own = self.get_mut();
        let written = Pin::new(&mut own.stream).poll_write(cx, buf);
        own.count(&written);
        own.watch(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let own = self.get_mut();
        let written = Pin::new(&mut own.stream).poll_write_vectored(cx, bufs);
        own.count(&written);
        own.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        let flushed = Pin::new(&mut own.stream).poll_flush(cx);
        own.watch(cx, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        let shut = Pin::new(&mut own.stream).poll_shutdown(cx);
        own.watch(cx, shut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    /// More than the sockets of both sides keep.
    const MUCH: usize = 64 * 1024 * 1024;

    async fn pair(timeout: Duration) -> (WriteTimeout<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        (WriteTimeout::new(server, timeout), client)
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
