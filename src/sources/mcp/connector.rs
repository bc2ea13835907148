//! From a configuration to a live connection: open the way, find out which era the server is of, shake hands.

use super::auth::Credentials;
use super::config::{Dialect, Endpoint, Remote, ServerConfig};
use super::connection::{Connection, Probe, ServerIdentity};
use super::host::ServerCallbacks;
use super::inbox::Inbox;
use super::protocol::{Era, ProtocolHint};
use super::transport::Transport;
use super::transport::http::{HttpOptions, StreamableHttp};
use super::transport::legacy_sse::LegacySse;
use super::transport::stdio::{FirstOutput, Program, Stdio};
use crate::error::{ErrorKind, HubError};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

pub struct Connector {
    pub config: ServerConfig,
    pub callbacks: Arc<ServerCallbacks>,
    pub credentials: Option<Arc<dyn Credentials>>,
}

/// A server that refused the first question of the modern era in one of these ways may be an older one.
fn may_be_older(error: &HubError) -> bool {
    match error.kind {
        ErrorKind::Http => error.status.is_some_and(|status| (400..=501).contains(&status) && status != 429),
        ErrorKind::Closed => error.status == Some(404),
        _ => false,
    }
}

/// Only these say that there is no such endpoint for POST.
fn has_no_post(error: &HubError) -> bool {
    matches!(error.status, Some(400 | 404 | 405))
}

impl Connector {
    /// Connects within the time that the configuration gives.
    pub async fn connect_in_time(
        &self,
        hint: Option<ProtocolHint>,
    ) -> Result<(Connection, ProtocolHint), HubError> {
        let limit = self.config.options.startup_timeout;
        let first_output = Arc::new(FirstOutput::default());
        let connect = async {
            match self.connect(hint, &first_output).await {
                // The server may have been an older version of itself when the hint was learnt.
                Err(error) if hint == Some(ProtocolHint::Legacy) && error.kind == ErrorKind::Rpc => {
                    self.connect(None, &first_output).await
                }
                connected => connected,
            }
        };
        timeout(limit, connect).await.unwrap_or_else(|_| {
            let is_program = matches!(self.config.endpoint, Endpoint::Stdio(_));
            let doubt = first_output.doubt().filter(|_| is_program);
            let doubt = doubt.map(|doubt| format!(": {doubt}")).unwrap_or_default();
            let text = format!("no answer within {} s{doubt}", limit.as_secs_f64());
            Err(HubError::new(ErrorKind::Timeout, text))
        })
    }

    /// Reports the end of an attempt to the hub's listeners.
    pub fn report(&self, connected: &Result<(Connection, ProtocolHint), HubError>, took: Duration) {
        let duration_ms = took.as_secs_f64() * 1e3;
        match connected {
            Ok((connection, _)) => {
                let (era, version) = (connection.server().era.name(), connection.server().version);
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

    async fn connect(
        &self,
        hint: Option<ProtocolHint>,
        first_output: &Arc<FirstOutput>,
    ) -> Result<(Connection, ProtocolHint), HubError> {
        match &self.config.endpoint {
            Endpoint::Stdio(command) => {
                let program = Program {
                    command: command.program.clone(),
                    args: command.args.clone(),
                    env: command.env.clone(),
                    cwd: command.cwd.clone(),
                    inherit: self.config.options.inherit_env.clone(),
                };
                self.stdio(&program, hint, first_output).await
            }
            Endpoint::Http(remote) => self.http(remote, hint).await,
        }
    }

    /// A silent server is started afresh for the older handshake: queued behind an unanswered question, it might be
    /// taken for a mistake by a modern server that is only slow.
    async fn stdio(
        &self,
        program: &Program,
        hint: Option<ProtocolHint>,
        first_output: &Arc<FirstOutput>,
    ) -> Result<(Connection, ProtocolHint), HubError> {
        if hint != Some(ProtocolHint::Legacy) {
            let mut connection = self.start(program, first_output)?;
            match timeout(self.config.options.startup_timeout / 2, connection.probe()).await {
                Ok(Ok(Probe::Modern(server))) => {
                    return Ok((self.settled(connection, server), ProtocolHint::Modern));
                }
                Ok(Ok(Probe::Legacy)) => {
                    self.initialize(&mut connection).await?;
                    return Ok(self.greeted(connection, ProtocolHint::Legacy));
                }
                // It ended on the question, or says nothing at all.
                Ok(Err(error)) if error.kind == ErrorKind::Closed => {}
                Err(_) => {}
                Ok(Err(error)) => return Err(error),
            }
        }
        let mut connection = self.start(program, first_output)?;
        self.initialize(&mut connection).await?;
        Ok(self.greeted(connection, ProtocolHint::Legacy))
    }

    fn start(&self, program: &Program, first_output: &Arc<FirstOutput>) -> Result<Connection, HubError> {
        let inbox = Inbox::new(self.callbacks.clone());
        let limit = self.config.options.max_message_bytes;
        let callbacks = self.callbacks.clone();
        let on_stderr_line = Box::new(move |line: &str| callbacks.log("debug", line));
        let transport = Stdio::open(
            self.config.id.clone(),
            program,
            limit,
            inbox.clone(),
            on_stderr_line,
            first_output.clone(),
        )?;
        Ok(Connection::new(transport, inbox, &self.callbacks))
    }

    async fn http(
        &self,
        remote: &Remote,
        hint: Option<ProtocolHint>,
    ) -> Result<(Connection, ProtocolHint), HubError> {
        if remote.dialect == Dialect::Sse || hint == Some(ProtocolHint::HttpSse) {
            return self.http_sse(remote).await;
        }
        let inbox = Inbox::new(self.callbacks.clone());
        let transport = StreamableHttp::open(self.http_options(remote), inbox.clone())?;
        let mut connection = Connection::new(transport, inbox, &self.callbacks);
        if hint != Some(ProtocolHint::Legacy) {
            match timeout(self.config.options.startup_timeout / 2, connection.probe()).await {
                Ok(Ok(Probe::Modern(server))) => {
                    return Ok((self.settled(connection, server), ProtocolHint::Modern));
                }
                Ok(Ok(Probe::Legacy)) | Err(_) => {}
                Ok(Err(error)) if may_be_older(&error) => {}
                Ok(Err(error)) => return Err(error),
            }
        }
        match self.initialize(&mut connection).await {
            Ok(()) => Ok(self.greeted(connection, ProtocolHint::Legacy)),
            Err(error) if remote.dialect == Dialect::Auto && has_no_post(&error) => {
                connection.close().await;
                // What the POST was answered with says more than that there is no stream either.
                self.http_sse(remote).await.map_err(|_| error)
            }
            Err(error) => {
                connection.close().await;
                Err(error)
            }
        }
    }

    async fn http_sse(&self, remote: &Remote) -> Result<(Connection, ProtocolHint), HubError> {
        let inbox = Inbox::new(self.callbacks.clone());
        let transport: Arc<dyn Transport> = LegacySse::open(self.http_options(remote), inbox.clone()).await?;
        let mut connection = Connection::new(transport, inbox, &self.callbacks);
        self.initialize(&mut connection).await?;
        Ok(self.greeted(connection, ProtocolHint::HttpSse))
    }

    fn http_options(&self, remote: &Remote) -> HttpOptions {
        HttpOptions {
            url: remote.url.clone(),
            headers: remote
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), value.expose().to_owned()))
                .collect(),
            limit: self.config.options.max_message_bytes,
            credentials: self.credentials.clone(),
        }
    }

    /// A server that takes the older greeting for a wrong version of the modern protocol is a modern one after all.
    async fn initialize(&self, connection: &mut Connection) -> Result<(), HubError> {
        let refused = match connection.initialize().await {
            Err(error) if error.code == Some(-32022) => error,
            other => return other,
        };
        match connection.probe().await? {
            Probe::Modern(server) => {
                connection.settle_on(server);
                Ok(())
            }
            Probe::Legacy => Err(refused),
        }
    }

    fn settled(&self, mut connection: Connection, server: ServerIdentity) -> Connection {
        connection.settle_on(server);
        self.callbacks.set_instructions(connection.server().instructions.clone());
        connection
    }

    fn greeted(&self, connection: Connection, hint: ProtocolHint) -> (Connection, ProtocolHint) {
        self.callbacks.set_instructions(connection.server().instructions.clone());
        let hint = if connection.server().era == Era::Modern { ProtocolHint::Modern } else { hint };
        (connection, hint)
    }
}
