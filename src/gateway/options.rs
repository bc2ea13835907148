//! The options of a gateway.

use crate::identity::{Authenticator, Caller};
use crate::operate::{AuditLog, GatewayLimits};
use crate::session::{SESSION_LIFETIME, SessionKeys};
use std::sync::Arc;
use std::time::Duration;
use toolhub_engine::served::Views;

/// The longest result for a client with one stream. Clients written with the TypeScript SDK close a stream whose message is
/// longer than 10 MiB, and with it all their calls.
const ONE_STREAM_RESULT: usize = 10_000_000;

/// What the operator of a gateway decides.
#[derive(Clone)]
pub struct GatewayOptions {
    /// The path of the HTTP endpoint.
    pub path: Arc<str>,
    /// The path of the transport HTTP+SSE of 2024-11-05, which is served only if there is one.
    pub sse_path: Option<Arc<str>>,
    /// Names of this server that clients may use as `Host`, with or without a port, beside `localhost` and any address.
    pub allowed_hosts: Vec<String>,
    /// The origins of web pages that may use this server, beside those of this machine.
    pub allowed_origins: Vec<String>,
    /// `serverInfo.name`.
    pub name: Arc<str>,
    /// Given to clients as guidance for their model.
    pub instructions: Option<Arc<str>>,
    /// What session ids are signed with; replicas share them. Without keys, sessions end with the process.
    pub session_keys: Option<Arc<SessionKeys>>,
    pub session_lifetime: Duration,
    /// The tools of one page of `tools/list`.
    pub page_size: usize,
    /// Who may call; without it, everyone may, as the anonymous principal.
    pub authenticator: Option<Arc<Authenticator>>,
    /// What callers see; without it, everything.
    pub views: Option<Views>,
    /// Where calls are written down.
    pub audit: Option<Arc<AuditLog>>,
    pub limits: GatewayLimits,
    /// The longest message, in bytes.
    pub max_body: usize,
    /// The longest result, in bytes; `None`: any, or [`ONE_STREAM_RESULT`] for a client with one stream.
    pub max_result: Option<usize>,
    /// How long an answer may stay silent before it becomes an event stream with comments, so that proxies keep the
    /// connection.
    pub keep_alive: Duration,
    /// Gives memory that is free back to the system: who runs the gateway knows its allocator.
    pub give_back: fn(),
}

impl Default for GatewayOptions {
    fn default() -> Self {
        GatewayOptions {
            path: Arc::from("/mcp"),
            sse_path: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            name: Arc::from("toolhub"),
            instructions: None,
            session_keys: None,
            session_lifetime: SESSION_LIFETIME,
            page_size: 1_000,
            authenticator: None,
            views: None,
            audit: None,
            limits: GatewayLimits::default(),
            max_body: 16 * 1024 * 1024,
            max_result: None,
            keep_alive: Duration::from_secs(15),
            give_back: || (),
        }
    }
}

impl GatewayOptions {
    /// The longest result for this caller, in bytes.
    pub fn max_result(&self, caller: &Caller) -> usize {
        let standard = if caller.has_one_stream { ONE_STREAM_RESULT } else { usize::MAX };
        self.max_result.unwrap_or(standard)
    }
}
