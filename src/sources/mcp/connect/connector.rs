//! From a configuration to a live connection: open the way, find out which era the server is of, shake hands.

use crate::mcp::auth::Credentials;
use crate::mcp::callbacks::{Host, ServerCallbacks};
use crate::mcp::config::{Command, Dialect, Endpoint, Remote, ServerConfig};
use crate::mcp::connection::{Connection, ServerIdentity};
use crate::mcp::inbox::Inbox;
use crate::mcp::protocol::{Era, ProtocolHint};
use crate::mcp::transport::Transport;
use crate::mcp::transport::http::{HttpOptions, HttpTransport};
use crate::mcp::transport::in_process::InProcess;
use crate::mcp::transport::stdio::{ProcessOutput, Stdio};
use arc_swap::ArcSwapOption;
use serde_json::json;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};
use toolhub_protocol::UNSUPPORTED_VERSION;
use toolhub_types::error::{ErrorKind, HubError, Result, shown_seconds};

/// A server that has read the first question of the modern era and is silent for this long is an older one.
const PROBE: Duration = Duration::from_secs(2);
/// How often a process is asked whether it has read the question.
const GLANCE: Duration = Duration::from_millis(50);

pub struct Connector {
    pub config: ServerConfig,
    pub callbacks: Arc<ServerCallbacks>,
    pub credentials: Option<Arc<dyn Credentials>>,
    /// Those of a remote server, for the caller that the connection is made for.
    headers: Vec<(String, String)>,
    /// Of the process that was started last.
    pub output: ArcSwapOption<ProcessOutput>,
}

/// A server that refused the first question of the modern era in one of these ways may be an older one.
fn may_be_older(error: &HubError) -> bool {
    match error.kind {
        ErrorKind::Http => error.status.is_some_and(|status| (400..=501).contains(&status) && status != 429),
        ErrorKind::Closed => error.status == Some(404),
        _ => false,
    }
}

impl Connector {
    pub fn new(
        config: ServerConfig,
        host: Host,
        credentials: Option<Arc<dyn Credentials>>,
        headers: Vec<(String, String)>,
    ) -> Self {
        let callbacks = ServerCallbacks::new(&config, host);
        Connector { config, callbacks, credentials, headers, output: ArcSwapOption::empty() }
    }

    /// Connects within the time that the configuration gives. `hint`: what an earlier connection showed.
    pub async fn connect_in_time(&self, hint: Option<ProtocolHint>) -> Result<Connection> {
        let limit = self.config.options.startup_timeout;
        let connect = async {
            match self.connect(hint).await {
                // The server may have been an older version of itself when the hint was learnt.
                Err(error) if hint == Some(ProtocolHint::Legacy) && error.kind == ErrorKind::Rpc => {
                    self.connect(None).await
                }
                connected => connected,
            }
        };
        let connected = timeout(limit, connect).await.unwrap_or_else(|_| Err(self.too_slow(limit)));
        if let Ok(connection) = &connected {
            connection.apply_log_level().await;
        }
        connected.map_err(|error| self.callbacks.secrets.hide_error(error))
    }

    fn too_slow(&self, limit: Duration) -> HubError {
        let mut text = format!("no answer within {} s", shown_seconds(limit.as_secs_f64()));
        if let Some(output) = &*self.output.load() {
            output.doubt().into_iter().for_each(|doubt| text.push_str(&format!(": {doubt}")));
            let last = output.reason().into_iter();
            last.for_each(|reason| text.push_str(&format!("; its error stream says '{reason}'")));
        }
        HubError::new(ErrorKind::Timeout, text)
    }

    /// Reports the end of an attempt to the hub's listeners.
    pub fn report(&self, connected: &Result<Connection>, took: Duration) {
        let duration_ms = took.as_secs_f64() * 1e3;
        match connected {
            Ok(connection) => {
                let (era, version) = (connection.server.era.name(), connection.server.version);
                let details = json!({"duration_ms": duration_ms, "era": era, "version": version});
                self.callbacks.tell("connected", details);
            }
            Err(error) => {
                let (kind, message) = (error.kind.name(), &*error.message);
                let details = json!({"duration_ms": duration_ms, "kind": kind, "error": message});
                self.callbacks.tell("connect_failed", details);
            }
        }
    }

    async fn connect(&self, hint: Option<ProtocolHint>) -> Result<Connection> {
        match &self.config.endpoint {
            Endpoint::Stdio(command) => self.negotiate(|| self.start(command), hint).await,
            Endpoint::Http(remote) => self.http(remote, hint).await,
            Endpoint::InProcess(link) => {
                let id = &self.config.id;
                let open = || self.open(|inbox| InProcess::open(id.clone(), link, inbox));
                self.negotiate(open, hint).await
            }
        }
    }

    /// Finds out the era. A silent program is started afresh for the older handshake: queued behind an unanswered question, it might
    /// be taken for a mistake by a modern server that is only slow.
    async fn negotiate(
        &self,
        open: impl Fn() -> Result<Connection>,
        hint: Option<ProtocolHint>,
    ) -> Result<Connection> {
        let is_remote = matches!(self.config.endpoint, Endpoint::Http(_));
        let mut connection = open()?;
        let (mut is_silent, mut has_ended) = (false, false);
        if hint != Some(ProtocolHint::Legacy) {
            let answer = match self.credentials.is_some() {
                // A login may take time, and belongs to the first request.
                true => timeout(self.config.options.startup_timeout / 2, connection.probe()).await.ok(),
                false => self.probe(&connection).await,
            };
            match answer {
                Some(Ok(Some(server))) => {
                    connection.settle_on(server);
                    return Ok(self.greeted(connection, ProtocolHint::Modern));
                }
                Some(Ok(None)) => {}
                Some(Err(error)) if is_remote && may_be_older(&error) => {}
                // It ended on the question.
                Some(Err(error)) if !is_remote && error.kind == ErrorKind::Closed => has_ended = true,
                Some(Err(error)) => return Err(error),
                None => is_silent = true,
            }
        }
        if !is_remote && (is_silent || has_ended) {
            drop(connection);
            connection = open()?;
        }
        if let Err(error) = self.initialize(&mut connection, is_silent).await {
            if is_remote {
                connection.transport.close().await;
            }
            return Err(error);
        }
        Ok(self.greeted(connection, ProtocolHint::Legacy))
    }

    /// Asks for the era; `None` when the server stays silent. A program that has not read the question yet is still starting,
    /// and is given as long as half of the whole attempt.
    async fn probe(&self, connection: &Connection) -> Option<Result<Option<ServerIdentity>>> {
        let begun = Instant::now();
        let longest = self.config.options.startup_timeout / 2;
        let mut probe = pin!(connection.probe());
        let mut silent_since = None;
        loop {
            tokio::select! {
                biased;
                answer = &mut probe => return Some(answer),
                () = sleep(GLANCE) => {}
            }
            if connection.transport.has_unread() {
                silent_since = None;
            }
            let silence = silent_since.get_or_insert_with(Instant::now).elapsed();
            if silence >= PROBE || begun.elapsed() >= longest {
                return None;
            }
        }
    }

    fn open<T: Transport + 'static>(
        &self,
        open: impl FnOnce(Arc<Inbox>) -> Result<Arc<T>>,
    ) -> Result<Connection> {
        let inbox = Inbox::new(self.callbacks.clone());
        Ok(Connection::new(open(inbox.clone())?, inbox, &self.callbacks))
    }

    fn start(&self, program: &Command) -> Result<Connection> {
        let callbacks = self.callbacks.clone();
        let on_stderr_line = Box::new(move |line: &str| callbacks.log("debug", line));
        let output = Arc::new(ProcessOutput::default());
        self.output.store(Some(output.clone()));
        let (id, options) = (self.config.id.clone(), &self.config.options);
        self.open(|inbox| Stdio::open(id, program, options, inbox, on_stderr_line, output))
    }

    async fn http(&self, remote: &Remote, hint: Option<ProtocolHint>) -> Result<Connection> {
        if remote.dialect == Dialect::Sse || hint == Some(ProtocolHint::HttpSse) {
            return self.http_sse(remote).await;
        }
        let open = || self.open(|inbox| HttpTransport::open(self.http_options(remote), inbox));
        match self.negotiate(open, hint).await {
            // Only these say that there is no such endpoint for POST. That says more than that there is no stream either.
            Err(error)
                if remote.dialect == Dialect::Auto && matches!(error.status, Some(400 | 404 | 405)) =>
            {
                self.http_sse(remote).await.map_err(|_| error)
            }
            connected => connected,
        }
    }

    async fn http_sse(&self, remote: &Remote) -> Result<Connection> {
        let inbox = Inbox::new(self.callbacks.clone());
        let transport = HttpTransport::open_sse(self.http_options(remote), inbox.clone()).await?;
        let mut connection = Connection::new(transport, inbox, &self.callbacks);
        self.initialize(&mut connection, false).await?;
        Ok(self.greeted(connection, ProtocolHint::HttpSse))
    }

    fn http_options(&self, remote: &Remote) -> HttpOptions {
        HttpOptions {
            url: remote.url.clone(),
            headers: self.headers.clone(),
            limit: self.config.options.max_message_bytes,
            credentials: self.credentials.clone(),
            secrets: self.callbacks.secrets.clone(),
        }
    }

    /// A server that refuses the older greeting may be a modern one after all: it says so, or it was too slow for the first question.
    async fn initialize(&self, connection: &mut Connection, was_silent: bool) -> Result<()> {
        let may_be_modern = |error: &HubError| match error.kind {
            ErrorKind::Rpc => was_silent || error.code == Some(UNSUPPORTED_VERSION),
            _ => was_silent && may_be_older(error),
        };
        let refused = match connection.initialize().await {
            Err(error) if may_be_modern(&error) => error,
            other => return other,
        };
        let Ok(Some(server)) = connection.probe().await else { return Err(refused) };
        connection.settle_on(server);
        Ok(())
    }

    fn greeted(&self, mut connection: Connection, hint: ProtocolHint) -> Connection {
        // What the server says about itself is kept.
        let server = &connection.server;
        self.callbacks.session_began(server);
        connection.hint = if server.era == Era::Modern { ProtocolHint::Modern } else { hint };
        connection
    }
}
