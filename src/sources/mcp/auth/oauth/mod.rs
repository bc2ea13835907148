//! OAuth 2.1 towards one server, as the MCP specification wants it.
//!
//! A valid token is used. When it is about to expire, or the server refuses it or wants more scopes, one *flight* gets the
//! next one: a separate task that all callers wait for. It continues when a caller gives up, because a refresh token may be
//! valid only once, and a login that a user has begun should not be lost.

mod challenge;
mod client;
mod config;
mod discovery;
mod exchange;
mod flight;
mod login;
mod redirect;
mod store;
mod web;

pub use config::{Grant, OAuthConfig, OAuthSettings, Opener, open_browser};
pub use exchange::{TokenExchange, TokenExchangeOptions};
pub use store::{Client, FileStore, MemoryStore, StoredToken, TokenStore};

use super::Credentials;
use challenge::Challenge;
use flight::{Need, OAuthShared};
use parking_lot::Mutex;
use std::sync::Arc;
use toolhub_types::error::{ErrorKind, HubError};
use toolhub_types::tool::BoxFuture;
use web::Web;

pub struct OAuth(Arc<OAuthShared>);

impl OAuth {
    pub fn new(config: OAuthConfig) -> Result<Self, HubError> {
        let server = config.check()?;
        let web = Web::new(server.clone(), config.named_urls()?);
        Ok(OAuth(Arc::new(OAuthShared { config, server, web, state: Mutex::default() })))
    }

    /// The server refused what was sent. When another token is there by now, nothing has to be done.
    async fn next_token(&self, sent: &str, status: u16, challenge: Option<&str>) -> Result<bool, HubError> {
        let challenge = Challenge::parse(challenge.unwrap_or_default());
        let need = match status {
            401 => Need::Other(challenge),
            403 if challenge.wants_more_scope() => Need::Scopes(challenge),
            _ => return Ok(false),
        };
        self.0.load().await?;
        loop {
            if self.0.has_another(sent, &need) {
                return Ok(true);
            }
            let (flight, is_ours) = self.0.fly(need.clone());
            flight.await?;
            if is_ours {
                return Ok(self.0.state.lock().held.is_some());
            }
        }
    }

    /// Signs in now if there is no valid token, so that the first call does not have to wait for the user.
    pub async fn login(&self) -> Result<(), HubError> {
        match self.0.header().await? {
            Some(_) => Ok(()),
            None => self.next_token("", 401, None).await.map(|_| ()),
        }
    }

    /// Forgets all tokens for this server.
    pub async fn logout(&self) -> Result<(), HubError> {
        self.0.state.lock().held = None;
        self.0.stored(|store, server| store.remove(server)).await
    }
}

impl Drop for OAuth {
    fn drop(&mut self) {
        if let Some((_, task)) = self.0.state.lock().flight.take() {
            task.abort();
        }
    }
}

impl Credentials for OAuth {
    fn authorization<'a>(&'a self) -> BoxFuture<'a, Result<Option<String>, HubError>> {
        Box::pin(self.0.header())
    }

    fn refused<'a>(
        &'a self,
        sent: &'a str,
        status: u16,
        challenge: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, HubError>> {
        Box::pin(self.next_token(sent, status, challenge))
    }
}

impl OAuthShared {
    /// Without a token the request is sent as it is: the refusal says which scopes to request, and the server may need none.
    async fn header(self: &Arc<Self>) -> Result<Option<String>, HubError> {
        self.load().await?;
        let held = self.state.lock().held.clone();
        match held {
            Some(held) if !held.token.is_due() => return held.header().map(Some),
            Some(held) if self.can_renew(&held.token) => match self.fly(Need::Renewal).0.await {
                Err(error) if error.kind == ErrorKind::Connect && !held.token.is_over() => {
                    return held.header().map(Some);
                }
                ended => ended?,
            },
            Some(held) if !held.token.is_over() => return held.header().map(Some),
            // A login may already be in progress.
            _ => self.join().await?,
        }
        let held = self.state.lock().held.clone().filter(|held| !held.token.is_over());
        held.map(|held| held.header()).transpose()
    }

    fn can_renew(&self, token: &StoredToken) -> bool {
        token.refresh_token.is_some() || self.config.settings.grant == Grant::ClientCredentials
    }

    /// Whether the refused token is not the current one, and the current one may be accepted.
    fn has_another(&self, sent: &str, need: &Need) -> bool {
        let Some(held) = self.state.lock().held.clone() else { return false };
        sent.strip_prefix("Bearer ") != Some(held.token.access_token.expose())
            && !held.token.is_over()
            && need.challenge().scopes.iter().all(|scope| held.token.scopes.contains(scope))
    }
}
