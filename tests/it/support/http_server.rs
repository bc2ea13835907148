//! A small HTTP/1.1 server for tests that does what its script says, right or wrong.
//!
//! Each request takes the next [`Reply`] of the script, and a reply is a list of steps on the bare socket, so
//! it can stop in the middle of anything. What arrived is recorded. Nothing here sleeps: tests wait for what
//! the server has seen.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncBufRead, AsyncBufReadExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Request {
    #[allow(dead_code, reason = "not every test that uses this server needs it")]
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// Which connection brought it, counted from 0.
    pub connection: usize,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known == name);
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} was sent twice");
        value
    }
}

#[derive(Debug, Clone)]
enum Step {
    Send(Vec<u8>),
    /// Send this for as long as the client listens.
    Flood(Vec<u8>),
    /// Say nothing until the client hangs up.
    Hang,
    /// Say nothing until the test says so.
    Hold,
    Close,
    /// Close so that the client sees a reset connection.
    Reset,
}

/// What the server does for one request.
#[derive(Debug, Clone, Default)]
pub struct Reply(Vec<Step>);

impl Reply {
    /// A whole answer with these header lines and this body.
    pub fn new(status: u16, headers: &[&str], body: &str) -> Self {
        let length = format!("content-length: {}", body.len());
        Self::head(status, headers.iter().copied().chain([&*length])).send(body)
    }

    pub fn json(status: u16, body: &str) -> Self {
        Self::new(status, &["content-type: application/json"], body)
    }

    /// The head of an event stream; the body is sent with [`chunk`](Self::chunk).
    pub fn event_stream() -> Self {
        let headers = ["content-type: text/event-stream", "transfer-encoding: chunked"];
        Self::head(200, headers)
    }

    /// A whole event stream, one chunk for each part.
    pub fn events<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let reply = parts.into_iter().fold(Self::event_stream(), Self::chunk);
        reply.send("0\r\n\r\n")
    }

    /// The status line and headers, with nothing behind them.
    pub fn head<'a>(status: u16, headers: impl IntoIterator<Item = &'a str>) -> Self {
        let lines: String = headers.into_iter().map(|line| format!("{line}\r\n")).collect();
        Self::default().send(format!("HTTP/1.1 {status} Status\r\n{lines}\r\n"))
    }

    pub fn send(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.0.push(Step::Send(bytes.as_ref().to_vec()));
        self
    }

    /// This, and then another reply.
    #[allow(dead_code, reason = "not every test that uses this server needs it")]
    pub fn and(mut self, mut other: Self) -> Self {
        self.0.append(&mut other.0);
        self
    }

    /// Sends bytes as one chunk of a chunked body.
    pub fn chunk(self, bytes: impl AsRef<[u8]>) -> Self {
        self.send(framed(bytes.as_ref()))
    }

    pub fn flood_chunks(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.0.push(Step::Flood(framed(bytes.as_ref())));
        self
    }

    pub fn hang(mut self) -> Self {
        self.0.push(Step::Hang);
        self
    }

    /// Goes on when the test calls [`HttpServer::release`].
    #[allow(dead_code, reason = "not every test that uses this server needs it")]
    pub fn hold(mut self) -> Self {
        self.0.push(Step::Hold);
        self
    }

    pub fn close(mut self) -> Self {
        self.0.push(Step::Close);
        self
    }

    pub fn reset(mut self) -> Self {
        self.0.push(Step::Reset);
        self
    }
}

fn framed(bytes: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// What the server has seen so far.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    requests: usize,
    hang_ups: usize,
    released: bool,
}

/// What the server does for each request as it comes.
type Route = Box<dyn FnMut(&Request) -> Reply + Send>;

struct Shared {
    route: Mutex<Route>,
    requests: Mutex<Vec<Request>>,
    seen: watch::Sender<Seen>,
}

/// A running server; dropping it stops it.
pub struct HttpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl HttpServer {
    pub async fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, script)
    }

    pub fn on(listener: TcpListener, script: impl IntoIterator<Item = Reply>) -> Self {
        let mut script: VecDeque<Reply> = script.into_iter().collect();
        // Not a status that is tried again, so that a request too many fails its test.
        let exhausted = || Reply::json(418, "\"the script has no more replies\"");
        Self::routed_on(listener, move |_| script.pop_front().unwrap_or_else(exhausted))
    }

    /// A server whose replies depend on the requests.
    #[allow(dead_code, reason = "not every test that uses this server needs it")]
    pub async fn routed(route: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::routed_on(listener, route)
    }

    fn routed_on(listener: TcpListener, route: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            route: Mutex::new(Box::new(route)),
            requests: Mutex::default(),
            seen: watch::Sender::new(Seen::default()),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, accepting }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        locked(&self.shared.requests).clone()
    }

    /// Waits until this many requests have arrived.
    pub async fn received(&self, count: usize) {
        let mut seen = self.shared.seen.subscribe();
        seen.wait_for(|seen| seen.requests >= count).await.unwrap();
    }

    /// Lets all replies go on that hold, and those that will.
    #[allow(dead_code, reason = "not every test that uses this server needs it")]
    pub fn release(&self) {
        self.shared.seen.send_modify(|seen| seen.released = true);
    }

    /// Waits until a client has hung up on a reply that was not over.
    pub async fn hung_up(&self) {
        let mut seen = self.shared.seen.subscribe();
        seen.wait_for(|seen| seen.hang_ups > 0).await.unwrap();
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Aborting this task drops the set, which ends the connections.
    let mut connections = tokio::task::JoinSet::new();
    for number in 0.. {
        let Ok((socket, _)) = listener.accept().await else {
            return;
        };
        let shared = Arc::clone(&shared);
        // An error is a client that went away.
        connections.spawn(async move { serve(socket, number, &shared).await.ok() });
    }
}

async fn serve(mut socket: TcpStream, connection: usize, shared: &Shared) -> io::Result<()> {
    socket.set_nodelay(true)?;
    loop {
        let (read, _) = socket.split();
        let Some(request) = read_request(BufReader::new(read), connection).await? else {
            return Ok(());
        };
        let reply = locked(&shared.route)(&request);
        locked(&shared.requests).push(request);
        shared.seen.send_modify(|seen| seen.requests += 1);
        for step in reply.0 {
            match step {
                Step::Send(bytes) => socket.write_all(&bytes).await?,
                Step::Hold => {
                    let mut seen = shared.seen.subscribe();
                    let _ = seen.wait_for(|seen| seen.released).await;
                }
                Step::Close => return socket.shutdown().await,
                Step::Reset => return socket.set_zero_linger(),
                Step::Hang => {
                    while matches!(socket.read(&mut [0; 64]).await, Ok(1..)) {}
                    shared.seen.send_modify(|seen| seen.hang_ups += 1);
                    return Ok(());
                }
                Step::Flood(bytes) => {
                    while socket.write_all(&bytes).await.is_ok() {}
                    shared.seen.send_modify(|seen| seen.hang_ups += 1);
                    return Ok(());
                }
            }
        }
    }
}

/// The next request, or nothing when the client closed.
async fn read_request(mut from: impl AsyncBufRead + Unpin, connection: usize) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if from.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        line.clear();
        from.read_line(&mut line).await?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    from.read_exact(&mut body).await?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some(Request { method, path, headers, body, connection }))
}
