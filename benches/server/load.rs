//! The client of the serving benchmarks: calls a tool on kept HTTP/1.1 connections as fast as answers come.
//!
//! It reads an order a line and answers each with a line:
//!
//! ```text
//! {"url": "http://127.0.0.1:8000/mcp", "tool": "add", "connections": 32, "calls": 100, "legacy": false}
//! {"p50": 120.1, "p99": 300.0, "per_second": 9000.0, "failed": 0}
//! ```
//!
//! `calls` counts for each connection; times are in microseconds. A legacy client opens a session for each connection.
//! `accept` is the header of that name; with `"events": true` an answer that is no event stream is a failure.

use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{self, BufRead, Write};
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";
/// Calls before the clock starts.
const WARM_UP: u64 = 20;

#[derive(Deserialize)]
struct Order {
    url: String,
    tool: String,
    connections: usize,
    calls: u64,
    #[serde(default)]
    legacy: bool,
    #[serde(default = "both")]
    accept: String,
    #[serde(default)]
    events: bool,
}

fn both() -> String {
    "application/json, text/event-stream".to_owned()
}

struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
    path: String,
    accept: String,
    /// Header lines that every request has.
    headers: String,
    line: String,
    body: Vec<u8>,
    /// The last reply was an event stream.
    is_events: bool,
    session: Option<String>,
}

impl Connection {
    async fn open(order: &Order) -> io::Result<Connection> {
        let rest =
            order.url.strip_prefix("http://").ok_or_else(|| io::Error::other("the url is not http"))?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let mut connection = Connection {
            stream: BufReader::new(stream),
            host: host.to_owned(),
            path: format!("/{path}"),
            accept: order.accept.clone(),
            headers: String::new(),
            line: String::new(),
            body: Vec::new(),
            is_events: false,
            session: None,
        };
        if order.legacy {
            let client = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}});
            let opened = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client});
            connection.request(&opened.to_string()).await?;
            connection.headers = format!("mcp-protocol-version: {LEGACY}\r\n");
            if let Some(session) = connection.session.take() {
                connection.headers.push_str(&format!("mcp-session-id: {session}\r\n"));
            }
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            connection.request(&ready.to_string()).await?;
        } else {
            connection.headers = format!(
                "mcp-protocol-version: {MODERN}\r\nmcp-method: tools/call\r\nmcp-name: {}\r\n",
                order.tool
            );
        }
        Ok(connection)
    }

    /// Sends a message and reads the whole reply into `body`; returns its status.
    async fn request(&mut self, message: &str) -> io::Result<u16> {
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: {}\r\n{}content-length: {}\r\n\r\n{message}",
            self.path,
            self.host,
            self.accept,
            self.headers,
            message.len()
        );
        self.stream.write_all(head.as_bytes()).await?;
        let status = self.line().await?.split(' ').nth(1).and_then(|code| code.parse().ok());
        let (mut length, mut is_chunked) = (0, false);
        self.is_events = false;
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
                "content-type" => self.is_events = value.trim().starts_with("text/event-stream"),
                "transfer-encoding" => is_chunked = value.contains("chunked"),
                "mcp-session-id" => self.session = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        self.body.clear();
        if is_chunked {
            loop {
                let size = usize::from_str_radix(self.line().await?, 16).map_err(io::Error::other)?;
                let from = self.body.len();
                self.body.resize(from + size + 2, 0);
                self.stream.read_exact(&mut self.body[from..]).await?;
                self.body.truncate(from + size);
                if size == 0 {
                    break;
                }
            }
        } else {
            self.body.resize(length, 0);
            self.stream.read_exact(&mut self.body).await?;
        }
        status.ok_or_else(|| io::Error::other("the reply has no status"))
    }

    async fn line(&mut self) -> io::Result<&str> {
        self.line.clear();
        if self.stream.read_line(&mut self.line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(self.line.trim_end())
    }

    /// Whether the call was answered with the sum.
    async fn call(&mut self, order: &Order, number: u64) -> io::Result<bool> {
        let meta = match order.legacy {
            true => "",
            false => {
                r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#
            }
        };
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"{}","arguments":{{"a":{number},"b":1}}{meta}}}}}"#,
            order.tool
        );
        let status = self.request(&message).await?;
        let sum = format!("\"text\":\"{}\"", number + 1);
        let spaced = format!("\"text\": \"{}\"", number + 1);
        let has = |text: &str| memchr::memmem::find(&self.body, text.as_bytes()).is_some();
        let is_wanted = self.is_events || !order.events;
        Ok(status == 200 && is_wanted && (has(&sum) || has(&spaced)))
    }
}

/// The times of all calls on one connection, in microseconds, and how many failed.
async fn drive(mut connection: Connection, order: &Order) -> io::Result<(Vec<f64>, u64)> {
    let (mut times, mut failed) = (Vec::with_capacity(order.calls as usize), 0);
    for number in 1..=order.calls {
        let begun = Instant::now();
        failed += u64::from(!connection.call(order, number).await?);
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    Ok((times, failed))
}

async fn warm(order: &Order) -> io::Result<Connection> {
    let mut connection = Connection::open(order).await?;
    for number in 1..=WARM_UP {
        connection.call(order, number).await?;
    }
    Ok(connection)
}

async fn obey(order: Order) -> io::Result<Value> {
    // All at once: servers close connections that wait for a few seconds.
    let connections = (0..order.connections).map(|_| warm(&order));
    let connections = futures_util::future::try_join_all(connections).await?;
    let begun = Instant::now();
    let driven = connections.into_iter().map(|connection| drive(connection, &order));
    let driven = futures_util::future::try_join_all(driven).await?;
    let took = begun.elapsed().as_secs_f64();
    let failed: u64 = driven.iter().map(|(_, failed)| failed).sum();
    let mut times: Vec<f64> = driven.into_iter().flat_map(|(times, _)| times).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied();
    Ok(json!({"p50": at(0.5), "p99": at(0.99), "per_second": times.len() as f64 / took, "failed": failed}))
}

fn main() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    for line in io::stdin().lock().lines() {
        let order = serde_json::from_str(&line?).map_err(io::Error::other)?;
        let found = runtime.block_on(obey(order)).unwrap_or_else(|error| json!({"error": error.to_string()}));
        println!("{found}");
        io::stdout().flush()?;
    }
    Ok(())
}
