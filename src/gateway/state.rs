//! What all requests share.

use crate::http::serve_http;
use crate::identity::{Authenticator, Caller, Identity};
use crate::kept::KeptCalls;
use crate::operate::{AuditLog, DrainPermit, GatewayLimits, MetricsRow, Operation, seconds};
use crate::rpc::{ClientMessage, RpcRequest};
use crate::session::{SESSION_LIFETIME, SessionKeys, Sessions, no_random};
use crate::stdio::serve_process_stdio;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use toolhub_engine::hub::Hub;
use toolhub_engine::served::{Upstreams, Views};
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Result};
use toolhub_types::principal::Principal;

/// The longest last part of a drain; a short one has two fifths of its grace.
const LAST_PART: Duration = Duration::from_secs(2);

/// The last part of the grace of a drain. Half of it is for calls that had to be cancelled, a quarter for their answers to
/// reach the clients, and a quarter for the process to end.
fn last_part(grace: Duration) -> Duration {
    (grace * 2 / 5).min(LAST_PART)
}

/// How long after the beginning of a drain connections are closed, whatever is still to be written on them.
fn connections_end(grace: Duration) -> Duration {
    grace - last_part(grace) / 4
}

/// The path of the inspector's page.
pub const INSPECTOR: &str = "/inspect";

/// The hub as an MCP server, one replica of it. A session needs no replica: its signed id says all that it is. The tables here
/// belong to this replica alone; `docs/concepts/gateway.md` lists them.
pub struct Gateway {
    pub hub: Arc<Hub>,
    pub upstreams: Arc<dyn Upstreams>,
    pub options: GatewayOptions,
    pub identity: Identity,
    pub sessions: Sessions,
    pub kept: KeptCalls,
    pub operation: Operation,
}

impl Gateway {
    /// Fails when keys for sessions are needed and the OS gives no random bytes.
    pub fn new(hub: Arc<Hub>, upstreams: Arc<dyn Upstreams>, options: GatewayOptions) -> Result<Self> {
        let operation = Operation::new(&options);
        Ok(Gateway {
            hub,
            upstreams,
            identity: Identity::new(&options)?,
            sessions: Sessions::new(&options)?,
            kept: KeptCalls::new(operation.closing.clone()).ok_or_else(no_random)?,
            operation,
            options,
        })
    }

    /// Applies the credentials, views and limits of these options to all requests from now on. Calls that run are not
    /// affected; long-lived streams end if they would not be let in any more.
    /// Changes nothing when they have a mistake. The other options are those of the start.
    pub async fn reload(&self, options: &GatewayOptions) -> Result<()> {
        self.identity.reload(options).await?;
        self.operation.admission.set_limits(options.limits);
        Ok(())
    }

    /// Stops without breaking calls, within `grace`: new requests are refused, and running ones end. Those that have not ended
    /// when the last part begins are cancelled; a tool that ignores that is not waited for, its client gets an error.
    pub async fn drain(&self, grace: Duration) {
        let rest = last_part(grace);
        let Operation { drain, calls, closing, cancel_running, abandon, .. } = &self.operation;
        drain.wait(grace - rest).await;
        // Calls that wait for an answer end too: requests that bring one are refused.
        cancel_running.cancel();
        tokio::join!(calls.idle(rest / 2), drain.idle(rest / 2));
        abandon.cancel();
        // They write their lines into the audit log.
        calls.idle(rest / 8).await;
        closing.cancel();
        self.options.audit.iter().for_each(|audit| audit.settle());
        self.log_written().await;
    }

    /// A place for a request; `None` while draining. Calls and tasks that run may end then, so requests about tasks and those
    /// that bring the answers of a client are still taken.
    pub fn enter(&self, request: &RpcRequest) -> Option<DrainPermit> {
        let of_task = ["tasks/get", "tasks/result", "tasks/update", "tasks/cancel"];
        let goes_on = || of_task.contains(&request.method.as_str()) || request.brings_answers();
        self.operation.drain.enter().or_else(|| goes_on().then(|| self.operation.drain.enter_beside()))
    }

    /// A request was refused before a method has read it, with this status.
    pub fn refused(&self, status: StatusCode, principal: Option<&Principal>) {
        self.operation.metrics.refused(status.as_u16());
        if let Some(audit) = &self.options.audit {
            audit.refused(status.as_u16(), principal.map_or("", |principal| &principal.id));
        }
    }

    /// The calls of one principal that may be kept while they run: as many as may run at once.
    pub fn most_kept(&self) -> usize {
        self.operation.admission.limits().max_in_flight
    }

    /// Takes a message that gets no answer: one that cancels a request, or answers a question. Without a session, one client
    /// could name the request of another.
    pub fn notice(&self, caller: &Caller, message: ClientMessage) {
        match (message, &caller.session) {
            (ClientMessage::Notification { method, params }, Some(session)) => {
                self.sessions.in_flight.notified(session, &method, &params);
            }
            (ClientMessage::Response { id, outcome }, _) => {
                self.kept.questions.answer(&caller.client_key(), &id, outcome);
            }
            (ClientMessage::Request(_) | ClientMessage::Notification { .. }, _) => {}
        }
    }

    /// A session has ended: its requests are cancelled, and what its client has set counts no more.
    pub fn forget_session(&self, principal: &str, session: &str) {
        self.sessions.in_flight.cancel_session(session);
        self.sessions.streams.end(session);
        let subscribed = self.sessions.subscriptions.lock().remove(principal, session);
        drop(subscribed);
        let had_level = self.sessions.levels.lock().remove(principal, session).is_some();
        if had_level && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (upstreams, lowest) = (self.upstreams.clone(), self.sessions.lowest_level());
            runtime.spawn(async move { upstreams.want_log_level(lowest).await });
        }
    }

    /// Returns when the audit log has what was done until now, unless that takes long.
    pub async fn log_written(&self) {
        if let Some(audit) = &self.options.audit {
            audit.writer.caught_up().await;
        }
    }

    /// Stops at once: long-lived streams end, and what runs is answered if its client still waits.
    pub fn stop_now(&self) {
        self.operation.drain.begun.cancel();
        self.operation.closing.cancel();
        self.options.audit.iter().for_each(|audit| audit.settle());
    }

    /// Whether the inspector can be reached: on this machine, or where callers need credentials, unless an MCP client
    /// gets the answer at its path.
    pub fn has_inspector(&self) -> bool {
        let is_allowed = self.identity.inspector.is_local() || self.identity.authenticator.load().is_closed();
        is_allowed && !self.is_endpoint(INSPECTOR)
    }

    /// Whether MCP clients are served at this path: the endpoint itself, or one of its views.
    pub fn is_endpoint(&self, path: &str) -> bool {
        let base = self.options.path.trim_end_matches('/');
        path.strip_prefix(base).is_some_and(|rest| match rest.strip_prefix('/') {
            Some(view) => self.identity.views.load().named.contains_key(view),
            None => rest.is_empty(),
        })
    }

    /// What is running now.
    pub fn gauges(&self) -> [MetricsRow; 6] {
        let Operation { admission, drain, .. } = &self.operation;
        let (requests, streams) = admission.running();
        let lost = self.options.audit.as_ref().map_or(0, |audit| audit.writer.lost() as usize);
        [
            ("audit_lost_total", "counter", "Lines of the audit log that could not be written.", lost),
            ("connections", "gauge", "Open connections.", admission.connections.count()),
            ("requests", "gauge", "Requests that are running.", requests),
            ("streams", "gauge", "Standing streams.", streams),
            ("tools", "gauge", "Tools of the hub.", self.hub.registry.load().len()),
            ("draining", "gauge", "1 while new requests are refused.", usize::from(drain.is_draining())),
        ]
    }

    /// `serverInfo`.
    pub fn server_info(&self) -> Value {
        json!({"name": &*self.options.name, "version": env!("CARGO_PKG_VERSION")})
    }
}

/// Serves a socket, or else the client that started this process, until its end or a drain. What runs then gets `grace` to end;
/// connections that are left are closed.
pub async fn serve_until_drained(
    gateway: Arc<Gateway>,
    listener: Option<TcpListener>,
    grace: Duration,
) -> Result<()> {
    let serving = async {
        match listener {
            Some(listener) => serve_http(gateway.clone(), listener).await,
            None => return serve_process_stdio(gateway.clone()).await,
        }
        Ok(())
    };
    let mut serving = pin!(serving);
    let served = tokio::select! {
        served = serving.as_mut() => Some(served),
        () = gateway.operation.drain.begun.cancelled() => {
            let drained = async { tokio::join!(gateway.drain(grace), serving).1 };
            tokio::time::timeout(connections_end(grace), drained).await.ok()
        }
    };
    gateway.log_written().await;
    let failed =
        |error: io::Error| HubError::new(ErrorKind::Connect, message!("Cannot serve on stdio: {}", error));
    served.unwrap_or(Ok(())).map_err(failed)
}

// The options of a gateway.

/// The longest result for a client with one stream. Clients written with the TypeScript SDK close a stream whose message is
/// longer than 10 MiB, and with it all their calls.
const ONE_STREAM_RESULT: usize = 10_000_000;

/// What the operator of a gateway decides.
#[derive(Clone, Deserialize)]
#[serde(default)]
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
    #[serde(skip)]
    pub session_keys: Option<Arc<SessionKeys>>,
    #[serde(deserialize_with = "seconds")]
    pub session_lifetime: Duration,
    /// The tools of one page of `tools/list`.
    pub page_size: usize,
    /// Who may call; without it, everyone may, as the anonymous principal.
    #[serde(skip)]
    pub authenticator: Option<Arc<Authenticator>>,
    /// What callers see; without it, everything.
    #[serde(skip)]
    pub views: Option<Views>,
    /// Where calls are written down.
    #[serde(skip)]
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
    #[serde(skip)]
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
