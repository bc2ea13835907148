//! Whether the way to a server has been open all the time. A server without sessions may be stopped and another program started
//! at its address; then its connections are closed, all of them. As long as one is open, the same program answers.

use crate::mcp::transport::has_events;
use futures_util::future::BoxFuture;
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tower_service::Service;

/// Shorter than the five seconds after which many servers close an idle connection, so that a request hardly ever meets
/// one that is just being closed. (What was closed before is seen, and a request that was not begun on it is moved.)
pub(super) const IDLE: Duration = Duration::from_secs(4);

type WeakStream = Weak<Mutex<TokioIo<TcpStream>>>;

/// Whether the way of one client to its server has been open all the time.
#[derive(Clone, Default)]
pub(super) struct OpenConnections(Arc<Mutex<ConnectionCounts>>);

#[derive(Default)]
struct ConnectionCounts {
    breaks: u64,
    /// The connections since the last break. Each was opened while an earlier one was open.
    streams: Vec<WeakStream>,
    /// Where connections are not seen: how many requests are under way, and when the last one ended well.
    requests: usize,
    kept_since: Option<Instant>,
}

/// A request whose connection is not seen.
pub(super) struct UnseenRequest(OpenConnections);

impl OpenConnections {
    /// How often all connections were closed so far.
    pub(super) fn breaks(&self) -> u64 {
        self.0.lock().noticed()
    }

    fn opened(&self, stream: TcpStream) -> CountedStream {
        let stream = Arc::new(Mutex::new(TokioIo::new(stream)));
        let mut counts = self.0.lock();
        counts.noticed();
        counts.streams.retain(|stream| stream.strong_count() > 0);
        counts.streams.push(Arc::downgrade(&stream));
        CountedStream(stream)
    }

    pub(super) fn begun(&self) -> UnseenRequest {
        let mut counts = self.0.lock();
        counts.noticed();
        counts.kept_since = None;
        counts.requests += 1;
        UnseenRequest(self.clone())
    }

    /// A request failed on its way.
    pub(super) fn broken(&self) {
        self.0.lock().breaks += 1;
    }
}

impl ConnectionCounts {
    fn noticed(&mut self) -> u64 {
        let is_open = |stream: &WeakStream| stream.upgrade().is_some_and(|stream| is_open(&stream.lock()));
        if !self.streams.is_empty() && !self.streams.iter().any(is_open) {
            self.streams.clear();
            self.breaks += 1;
        }
        if self.kept_since.is_some_and(|since| since.elapsed() >= IDLE) {
            self.kept_since = None;
            self.breaks += 1;
        }
        self.breaks
    }
}

/// Tells that the other end has closed its side, also before that is read. Elsewhere it is known when it is read.
#[cfg(target_os = "linux")]
const CLOSED: libc::c_short = libc::POLLRDHUP;
#[cfg(not(target_os = "linux"))]
const CLOSED: libc::c_short = 0;

/// Asks the socket itself: it knows of the end when no task has run since.
fn is_open(stream: &TokioIo<TcpStream>) -> bool {
    has_events(stream.inner(), CLOSED) == Some(false)
}

impl UnseenRequest {
    /// The request has ended; its connection is kept.
    pub(super) fn keep(self) {
        self.0.0.lock().kept_since = Some(Instant::now());
    }
}

impl Drop for UnseenRequest {
    fn drop(&mut self) {
        let mut counts = self.0.0.lock();
        counts.requests -= 1;
        if counts.requests == 0 && counts.kept_since.is_none() {
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
        Box::pin(async move { Ok(open.opened(connecting.await?.into_inner())) })
    }
}

pub(super) struct CountedStream(Arc<Mutex<TokioIo<TcpStream>>>);

impl Connection for CountedStream {
    fn connected(&self) -> Connected {
        self.0.lock().connected()
    }
}

impl Read for CountedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_read(context, buffer)
    }
}

impl Write for CountedStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.lock()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.lock().is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.lock()).poll_write_vectored(context, slices)
    }
}

#[cfg(test)]
mod tests {
    use crate::mcp::transport::http::client::OutgoingBody;
    use crate::mcp::transport::http::client::{HttpClient, client};
    use http::{HeaderMap, Method};
    use reqwest::Url;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread::{self, JoinHandle};

    /// Answers the first request that ends with "body".
    fn answer(listener: &TcpListener) -> JoinHandle<(TcpStream, String)> {
        let listener = listener.try_clone().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut heard, mut bytes) = (String::new(), [0; 4096]);
            while !heard.ends_with("body") {
                match stream.read(&mut bytes).unwrap_or_default() {
                    0 => break,
                    read => heard.push_str(&String::from_utf8_lossy(&bytes[..read])),
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
            (stream, heard)
        })
    }

    async fn post(client: &HttpClient, url: &Url, breaks: u64) -> bool {
        let body = OutgoingBody::of_message("body".to_owned());
        let body = body.unless_interrupted(&client.open, Some(breaks));
        client.send(Method::POST, url, HeaderMap::new(), body).await.is_ok()
    }

    #[tokio::test]
    async fn nothing_reaches_another_program_than_was_asked_before() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url: Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let (client, _) = client(&url).unwrap();
        let first = answer(&listener);
        assert!(post(&client, &url, 0).await);
        assert!(first.join().unwrap().1.ends_with("body"));
        // That stream is closed by now. No task of ours has run since, so nobody has read its end.
        assert_eq!(client.open.breaks(), 1);
        let second = answer(&listener);
        assert!(!post(&client, &url, 0).await);
        // It ends also where nothing was connected.
        drop((client, TcpStream::connect(listener.local_addr().unwrap())));
        assert!(!second.join().unwrap().1.contains("body"));
    }
}
