//! The HTTP transports of the MCP client against a real server on this machine that misbehaves on request.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::borrow::Borrow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use toolhub::error::{ErrorKind, HubError, Outcome};
use toolhub::notices::LogSink;
use toolhub::sources::mcp::callbacks::{Host, ServerCallbacks};
use toolhub::sources::mcp::config::{Auth, Command, Endpoint, ServerConfig, ServerOptions};
use toolhub::sources::mcp::inbox::Inbox;
use toolhub::sources::mcp::protocol::Era;
use toolhub::sources::mcp::transport::http::{HttpOptions, HttpTransport};
use toolhub::sources::mcp::transport::{OutgoingRequest, Transport};
use toolhub::tool::BoxFuture;

use crate::support::http_server;
use http_server::{HttpServer, Reply};

mod answers;
mod credentials;
mod ends;
mod failures;
mod legacy_era;
mod legacy_sse;
mod streams;

const LIMIT: usize = 1 << 20;
const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// What the server has logged.
#[derive(Default)]
struct Heard {
    heard: watch::Sender<Vec<String>>,
}

impl Heard {
    /// Waits until this number of messages have come.
    async fn heard(&self, count: usize) -> Vec<String> {
        self.heard.subscribe().wait_for(|heard| heard.len() >= count).await.unwrap().clone()
    }
}

impl LogSink for Heard {
    fn wants(&self, _: &str) -> bool {
        true
    }

    fn write(&self, _: &str, _: &str, text: &str) {
        self.heard.send_modify(|heard| heard.push(text.to_owned()));
    }
}

const ROOT: &str = "file:///work";

/// The inbox of a server that is told of one root when it asks for them.
fn inbox_with(log: Arc<Heard>) -> Arc<Inbox> {
    let options = ServerOptions { roots: vec![ROOT.to_owned()], ..ServerOptions::default() };
    let endpoint = Endpoint::Stdio(Command::default());
    let config = ServerConfig { id: "it".into(), endpoint, auth: Auth::None, options, disabled: false };
    Inbox::new(ServerCallbacks::new(&config, Host { log: Some(log), ..Host::default() }))
}

fn inbox() -> Arc<Inbox> {
    inbox_with(Arc::default())
}

fn options(server: &HttpServer) -> HttpOptions {
    let headers = vec![("X-Key".to_owned(), "hush-hush-hush".to_owned())];
    HttpOptions {
        url: format!("{}/mcp", server.base_url()),
        headers,
        limit: LIMIT,
        credentials: None,
        secrets: Arc::default(),
    }
}

fn open(server: &HttpServer) -> Arc<HttpTransport> {
    open_with(options(server))
}

fn open_with(options: HttpOptions) -> Arc<HttpTransport> {
    HttpTransport::open(options, inbox()).unwrap()
}

fn call(id: u64) -> OutgoingRequest {
    request(id, "tools/call", Some("echo"))
}

fn request(id: u64, method: &'static str, name: Option<&str>) -> OutgoingRequest {
    let body = json!({"jsonrpc": "2.0", "id": id, "method": method}).to_string();
    OutgoingRequest {
        trace: None,
        id,
        method,
        name: name.map(Into::into),
        headers: Vec::new(),
        body,
        breaks: None,
        stage: Arc::default(),
    }
}

fn answer(id: u64) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": {"ok": id}}).to_string()
}

fn event(data: &str) -> String {
    format!("event: message\ndata: {data}\n\n")
}

/// A log message of the server.
fn note(text: &str) -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": text}}).to_string()
}

/// The raw answer as a value.
async fn ask(transport: &dyn Transport, request: impl Borrow<OutgoingRequest>) -> Result<Value, HubError> {
    let raw = transport.request(request.borrow()).await?;
    Ok(serde_json::from_str(raw.get()).unwrap())
}

/// The error of one modern call to a server with this one reply. The server must have seen one request.
async fn error_of(reply: Reply) -> HubError {
    let server = HttpServer::start([reply]).await;
    let transport = open(&server);
    transport.on_negotiated(Era::Modern, MODERN);
    let error = ask(&*transport, call(1)).await.unwrap_err();
    assert_eq!(server.requests().len(), 1, "{error}");
    assert!(!format!("{error:?}").contains("hush"), "{error:?}");
    error
}

/// The JSON-RPC id of a request.
fn id_of(request: &http_server::Request) -> u64 {
    serde_json::from_str::<Value>(&request.body).unwrap()["id"].as_u64().unwrap()
}

fn method_of(request: &http_server::Request) -> String {
    let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
    body["method"].as_str().unwrap_or_default().to_owned()
}

const SESSION: &str = "mcp-session-id: s-1";

/// A server of the legacy era with a session; `route` sees what is not part of the handshake.
async fn legacy_server(mut route: impl FnMut(&http_server::Request) -> Reply + Send + 'static) -> HttpServer {
    HttpServer::routed(move |request| match method_of(request).as_str() {
        "initialize" => {
            Reply::new(200, &[SESSION, "content-type: application/json"], &answer(id_of(request)))
        }
        _ => route(request),
    })
    .await
}

async fn shake_hands(transport: &dyn Transport) {
    ask(transport, request(1, "initialize", None)).await.unwrap();
    transport.on_negotiated(Era::Legacy, LEGACY);
}
