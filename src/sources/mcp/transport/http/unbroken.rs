//! Whether the way to a server has been open all the time. A server without sessions may be stopped and another program started
//! at its address; then its connections are closed, all of them. As long as one is open, the same program answers.

use futures_util::future::BoxFuture;
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tower_service::Service;

/// Shorter than the five seconds after which many servers close an idle connection, so that a request hardly ever meets
/// one that is just being closed. (What was closed before is seen, and a request that was not begun on it is moved.)
pub(super) const IDLE: Duration = Duration::from_secs(4);

/// The open connections of one client, and how often there were none.
#[derive(Clone, Default)]
pub(super) struct OpenConnections(Arc<Mutex<ConnectionCounts>>);

#[derive(Default)]
struct ConnectionCounts {
    open: usize,
    breaks: u64,
    /// Where connections cannot be counted: they are kept for a while after the last request.
    kept_since: Option<Instant>,
}

/// A connection, or a request where connections cannot be counted.
pub(super) struct OpenConnection(OpenConnections);

impl OpenConnections {
    /// How often all connections were closed so far.
    pub(super) fn breaks(&self) -> u64 {
        let counts = self.0.lock();
        counts.breaks + u64::from(counts.has_expired())
    }

    pub(super) fn opened(&self) -> OpenConnection {
        let mut counts = self.0.lock();
        counts.breaks += u64::from(counts.has_expired());
        counts.kept_since = None;
        counts.open += 1;
        OpenConnection(self.clone())
    }

    /// A request failed on its way.
    pub(super) fn broken(&self) {
        self.0.lock().breaks += 1;
    }
}

impl ConnectionCounts {
    fn has_expired(&self) -> bool {
        self.kept_since.is_some_and(|since| since.elapsed() >= IDLE)
    }
}

impl OpenConnection {
    /// A request has ended; its connection, which nobody sees, is kept.
    pub(super) fn keep(self) {
        self.0.0.lock().kept_since = Some(Instant::now());
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut counts = self.0.0.lock();
        counts.open -= 1;
        if counts.open == 0 && counts.kept_since.is_none() {
            counts.breaks += 1;
        }
    }
}

/// A connector that counts what it has opened.
#[derive(Clone)]
pub(super) struct CountingConnector {
    pub(super) connector: HttpConnector,
    pub(super) open: OpenConnections,
}

impl Service<Uri> for CountingConnector {
    type Response = CountedStream;
    type Error = <HttpConnector as Service<Uri>>::Error;
    type Future = BoxFuture<'static, Result<CountedStream, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, open) = (self.connector.call(uri), self.open.clone());
        Box::pin(async move { Ok(CountedStream { stream: connecting.await?, _open: open.opened() }) })
    }
}

pub(super) struct CountedStream {
    stream: TokioIo<TcpStream>,
    _open: OpenConnection,
}

impl Connection for CountedStream {
    fn connected(&self) -> Connected {
        self.stream.connected()
    }
}

impl Read for CountedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for CountedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}
