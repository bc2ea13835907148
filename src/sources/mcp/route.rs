//! From a configuration to a live connection: open the way, find out which era the server is of, shake hands.

use super::auth::Credentials;
use super::config::{Dialect, Endpoint, Remote, ServerConfig};
use super::connection::{Connection, Peer, Probe};
use super::host::Ear;
use super::inbox::Inbox;
use super::transport::http::{HttpOptions, StreamableHttp};
use super::transport::legacy_sse::LegacySse;
use super::transport::stdio::{Program, Stdio};
use super::transport::{Era, Transport};
use crate::error::{ErrorKind, HubError};
use std::sync::Arc;
use tokio::time::timeout;

/// What a connection showed about its server; the next one starts from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Modern,
    Legacy,
    /// The oldest transport, HTTP+SSE.
    OldHttp,
}

pub struct Route {
    pub config: ServerConfig,
    pub ear: Arc<Ear>,
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

impl Route {
    pub async fn connect(&self, known: Option<Known>) -> Result<(Connection, Known), HubError> {
        match &self.config.endpoint {
            Endpoint::Stdio(command) => {
                let program = Program {
                    command: command.program.clone(),
                    args: command.args.clone(),
                    env: command.env.clone(),
                    cwd: command.cwd.clone(),
                    inherit: self.config.options.inherit_env.clone(),
                };
                self.stdio(&program, known).await
            }
            Endpoint::Http(remote) => self.http(remote, known).await,
        }
    }

    /// A silent server is started afresh for the older handshake: queued behind an unanswered question, it might be
    /// taken for a mistake by a modern server that is only slow.
    async fn stdio(&self, program: &Program, known: Option<Known>) -> Result<(Connection, Known), HubError> {
        if known != Some(Known::Legacy) {
            let mut connection = self.start(program)?;
            match timeout(self.config.options.startup_timeout / 2, connection.probe()).await {
                Ok(Ok(Probe::Modern(peer))) => return Ok((self.settled(connection, peer), Known::Modern)),
                Ok(Ok(Probe::Legacy)) => {
                    self.initialize(&mut connection).await?;
                    return Ok(self.greeted(connection, Known::Legacy));
                }
                // It ended on the question, or says nothing at all.
                Ok(Err(error)) if error.kind == ErrorKind::Closed => {}
                Err(_) => {}
                Ok(Err(error)) => return Err(error),
            }
        }
        let mut connection = self.start(program)?;
        self.initialize(&mut connection).await?;
        Ok(self.greeted(connection, Known::Legacy))
    }

    fn start(&self, program: &Program) -> Result<Connection, HubError> {
        let inbox = Inbox::new(self.ear.clone());
        let limit = self.config.options.max_message_bytes;
        let ear = self.ear.clone();
        let said = Box::new(move |line: &str| ear.said("debug", line));
        let transport = Stdio::open(self.config.id.clone(), program, limit, inbox.clone(), said)?;
        Ok(Connection::new(transport, inbox, &self.ear))
    }

    async fn http(&self, remote: &Remote, known: Option<Known>) -> Result<(Connection, Known), HubError> {
        if remote.dialect == Dialect::Sse || known == Some(Known::OldHttp) {
            return self.old_http(remote).await;
        }
        let inbox = Inbox::new(self.ear.clone());
        let transport = StreamableHttp::open(self.http_options(remote), inbox.clone())?;
        let mut connection = Connection::new(transport, inbox, &self.ear);
        if known != Some(Known::Legacy) {
            match timeout(self.config.options.startup_timeout / 2, connection.probe()).await {
                Ok(Ok(Probe::Modern(peer))) => return Ok((self.settled(connection, peer), Known::Modern)),
                Ok(Ok(Probe::Legacy)) | Err(_) => {}
                Ok(Err(error)) if may_be_older(&error) => {}
                Ok(Err(error)) => return Err(error),
            }
        }
        match self.initialize(&mut connection).await {
            Ok(()) => Ok(self.greeted(connection, Known::Legacy)),
            Err(error) if remote.dialect == Dialect::Auto && has_no_post(&error) => {
                connection.close().await;
                // What the POST was answered with says more than that there is no stream either.
                self.old_http(remote).await.map_err(|_| error)
            }
            Err(error) => {
                connection.close().await;
                Err(error)
            }
        }
    }

    async fn old_http(&self, remote: &Remote) -> Result<(Connection, Known), HubError> {
        let inbox = Inbox::new(self.ear.clone());
        let transport: Arc<dyn Transport> = LegacySse::open(self.http_options(remote), inbox.clone()).await?;
        let mut connection = Connection::new(transport, inbox, &self.ear);
        self.initialize(&mut connection).await?;
        Ok(self.greeted(connection, Known::OldHttp))
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
            Probe::Modern(peer) => {
                connection.settle_on(peer);
                Ok(())
            }
            Probe::Legacy => Err(refused),
        }
    }

    fn settled(&self, mut connection: Connection, peer: Peer) -> Connection {
        connection.settle_on(peer);
        self.ear.set_instructions(connection.peer().instructions.clone());
        connection
    }

    fn greeted(&self, connection: Connection, known: Known) -> (Connection, Known) {
        self.ear.set_instructions(connection.peer().instructions.clone());
        let known = if connection.peer().era == Era::Modern { Known::Modern } else { known };
        (connection, known)
    }
}
