//! OAuth 2.1 towards one server, as the MCP specification wants it.
//!
//! A valid token is used. When it is about to expire, or the server refuses it or wants more scopes, one *flight* gets the
//! next one: a separate task that all callers wait for. It continues when a caller gives up, because a refresh token may be
//! valid only once, and a login that a user has begun should not be lost.

mod client;
mod config;
mod discovery;
mod exchange;
mod login;
mod store;
mod web;

pub use config::{Grant, OAuthConfig, OAuthSettings, Opener, open_browser};
pub use exchange::{TokenExchange, TokenExchangeOptions};
pub use store::{Client, StoredToken, TokenStore};

use super::{Credentials, bearer_header, denied, quote};
use client::{Cure, Failure};
use discovery::{Challenge, Discovered, discover};
use futures_util::FutureExt;
use futures_util::future::Shared;
use login::Login;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;
use tokio::task::AbortHandle;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result};
use toolhub_types::tool::BoxFuture;
use web::Web;

pub struct OAuth(Arc<OAuthShared>);

impl OAuth {
    pub fn new(config: OAuthConfig) -> Result<Self> {
        let server = config.check()?;
        let web = Web::new(server, config.named_urls());
        Ok(OAuth(Arc::new(OAuthShared { config, web, loaded: OnceCell::new(), state: Mutex::default() })))
    }

    /// The server refused what was sent. When another token is there by now, nothing has to be done.
    async fn next_token(&self, sent: &str, status: u16, challenge: Option<&str>) -> Result<bool> {
        let mut challenge = Challenge::parse(challenge.unwrap_or_default());
        // Only a 403 asks for more.
        challenge.error.take_if(|_| status != 403);
        if status != 401 && !challenge.wants_more_scope() {
            return Ok(false);
        }
        self.0.load().await?;
        loop {
            if self.0.has_another(sent, &challenge.scopes) {
                return Ok(true);
            }
            let (flight, is_ours) = self.0.fly(Some(challenge.clone()));
            flight.await?;
            if is_ours {
                return Ok(self.0.state.lock().held.is_some());
            }
        }
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
    fn authorization<'a>(&'a self) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(self.0.header())
    }

    fn refused<'a>(
        &'a self,
        sent: &'a str,
        status: u16,
        challenge: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.next_token(sent, status, challenge))
    }
}

impl OAuthShared {
    /// Without a token the request is sent as it is: the refusal says which scopes to request, and the server may need none.
    async fn header(self: &Arc<Self>) -> Result<Option<String>> {
        self.load().await?;
        let held = self.state.lock().held.clone();
        let is_robot = self.config.settings.grant == Grant::ClientCredentials;
        match held {
            Some(held) if !held.token.is_due() => return held.header().map(Some),
            Some(held) if is_robot || held.token.refresh_token.is_some() => match self.fly(None).0.await {
                Err(error) if error.kind == ErrorKind::Connect && !held.token.is_over() => {}
                ended => ended?,
            },
            Some(held) if !held.token.is_over() => {}
            // A login may already be in progress.
            _ => {
                let under_way = self.state.lock().under_way();
                if let Some(flight) = under_way {
                    flight.await?;
                }
            }
        }
        let held = self.state.lock().held.clone().filter(|held| !held.token.is_over());
        held.map(|held| held.header()).transpose()
    }

    /// Whether the refused token is not the current one, and the current one may be accepted.
    fn has_another(&self, sent: &str, scopes: &[String]) -> bool {
        let Some(held) = self.state.lock().held.clone() else { return false };
        sent.strip_prefix("Bearer ") != Some(held.token.access_token.expose())
            && !held.token.is_over()
            && scopes.iter().all(|scope| held.token.scopes.contains(scope))
    }
}

// The tokens for one server: the one in use, why it is not enough, and the flight that gets the next one.

/// A token that was refused within this time after a login will not be accepted after another one.
const FRESH: Duration = Duration::from_secs(60);

struct OAuthShared {
    config: OAuthConfig,
    web: Web,
    /// The store has been read.
    loaded: OnceCell<()>,
    state: Mutex<LoginState>,
}

#[derive(Default)]
struct LoginState {
    held: Option<Arc<Held>>,
    /// The task that gets the next token; all that need it wait for its end.
    flight: Option<(Flight, AbortHandle)>,
    /// The number of times that the server wanted more scopes.
    step_ups: u32,
}

/// The token in use.
struct Held {
    token: StoredToken,
    origin: Origin,
    since: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Store,
    Refresh,
    Login,
}

impl Held {
    fn new(token: StoredToken, origin: Origin) -> Arc<Self> {
        Arc::new(Held { token, origin, since: Instant::now() })
    }

    fn header(&self) -> Result<String> {
        bearer_header(self.token.access_token.expose())
    }
}

type Flight = Shared<BoxFuture<'static, Result<()>>>;

/// Limits how often a server can ask the user for more scopes.
const MAX_STEP_UPS: u32 = 5;

impl OAuthShared {
    /// Reads the store, once.
    async fn load(self: &Arc<Self>) -> Result<()> {
        let read = || async {
            let stored = self.newest_stored().await?;
            self.state.lock().held = stored.map(|token| Held::new(token, Origin::Store));
            Ok(())
        };
        self.loaded.get_or_try_init(read).await.copied()
    }

    /// The last token that was stored for this server and this client.
    async fn newest_stored(self: &Arc<Self>) -> Result<Option<StoredToken>> {
        if self.config.settings.grant == Grant::ClientCredentials {
            return Ok(None);
        }
        let tokens = self.stored(|store, server| store.load(server)).await?;
        Ok(tokens.into_iter().rfind(|token| token.client.suits(&self.config.settings)))
    }

    /// Asks the store from a thread that may block.
    async fn stored<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&TokenStore, &str) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (store, server) = (Arc::clone(&self.config.store), self.config.server_url.clone());
        let asked = tokio::task::spawn_blocking(move || ask(&store, &server)).await;
        asked.unwrap_or_else(|_| Err(denied("The token store failed unexpectedly.")))
    }

    /// Joins the flight that is under way, or starts one for this refusal of the server, or to renew the token; true if it was
    /// started.
    fn fly(self: &Arc<Self>, refusal: Option<Challenge>) -> (Flight, bool) {
        let mut state = self.state.lock();
        if let Some(flight) = state.under_way() {
            return (flight, false);
        }
        let shared = Arc::clone(self);
        let task = tokio::spawn(async move {
            let result = shared.next_token(refusal).await;
            shared.state.lock().flight = None;
            result
        });
        let abort = task.abort_handle();
        let ended = task.map(|ended| {
            let cancelled = || HubError::new(ErrorKind::Cancelled, "The login was cancelled.");
            ended.unwrap_or_else(|_| Err(cancelled().with_outcome(Outcome::NotSent)))
        });
        let flight = (Box::pin(ended) as BoxFuture<'static, _>).shared();
        state.flight = Some((flight.clone(), abort));
        (flight, true)
    }

    async fn next_token(self: &Arc<Self>, refusal: Option<Challenge>) -> Result<()> {
        let old = self.state.lock().held.clone();
        if refusal.is_none() && old.as_ref().is_none_or(|held| !held.token.is_due()) {
            // An earlier flight has brought a new one, or taken the old one away.
            return Ok(());
        }
        if old.is_none() {
            // Before anything is sent, so that the caller does not wait for an authorization server in vain.
            self.config.check_attended()?;
        }
        let (is_refused, challenge) = (refusal.is_some(), refusal.unwrap_or_default());
        let found = discover(&self.web, &self.config.settings, &challenge).await?;
        self.check_client_stays(old.as_deref(), &found)?;
        // A token of another issuer, or for another resource, cannot be used.
        let bound = |held: &Arc<Held>| {
            held.token.issuer == found.issuer.id && held.token.resource == found.resource.id
        };
        let old = old.filter(bound);
        let scopes = self.scopes(&challenge, old.as_deref(), &found)?;
        let login = Login { config: &self.config, web: &self.web, found: &found, scopes };
        if self.config.settings.grant == Grant::ClientCredentials {
            let token = login.with_client_credentials().await?;
            self.state.lock().held = Some(Held::new(token, Origin::Login));
            return Ok(());
        }
        match is_refused {
            true => self.renew_or_sign_in(&login, old, &challenge).await,
            false => self.renew(&login, old).await,
        }
    }

    /// A client that the user registered at one authorization server is not shown to another one just because the server
    /// names it.
    fn check_client_stays(&self, old: Option<&Held>, found: &Discovered) -> Result<()> {
        let moved = old.map(|held| &held.token.issuer).filter(|issuer| **issuer != found.issuer.id);
        match (moved, &self.config.settings.client_id, &self.config.settings.issuer) {
            (Some(before), Some(client_id), None) => Err(denied(message!(
                "The client '{}' was used at '{}', but the server now names '{}' as its authorization server; set issuer in the configuration if that is right.",
                client_id,
                quote(before, &[]),
                quote(&found.issuer.id, &[])
            ))),
            _ => Ok(()),
        }
    }

    /// What to ask for: the scopes of the user, or those of the server's refusal, or of its metadata; and what was asked for
    /// before, so that a new token can do what the old one could.
    fn scopes(&self, challenge: &Challenge, old: Option<&Held>, found: &Discovered) -> Result<Vec<String>> {
        let wanted = &challenge.scopes;
        let mut scopes: Vec<String> = old.map(|held| held.token.asked_scopes.clone()).unwrap_or_default();
        let first = [&self.config.settings.scopes, wanted, &found.resource.scopes]
            .into_iter()
            .find(|list| !list.is_empty());
        scopes.extend(first.into_iter().flatten().cloned());
        if let Some(old) = old.filter(|_| challenge.wants_more_scope()) {
            if wanted.iter().all(|scope| old.token.asked_scopes.contains(scope)) {
                return Err(denied(message!(
                    "The server requires the scopes '{}', which were already requested; ask its administrator for access, then remove this login from the token file and sign in again.",
                    quote(&wanted.join(" "), &[])
                )));
            }
            let mut state = self.state.lock();
            state.step_ups += 1;
            if state.step_ups > MAX_STEP_UPS {
                return Err(denied("The server keeps asking for more scopes; no more are requested."));
            }
        }
        if challenge.wants_more_scope() {
            scopes.extend(wanted.iter().cloned());
        }
        let offline = "offline_access".to_owned();
        if !scopes.is_empty()
            && self.config.settings.grant == Grant::AuthorizationCode
            && found.issuer.scopes.contains(&offline)
        {
            scopes.push(offline);
        }
        let mut seen = std::collections::HashSet::new();
        scopes.retain(|scope| seen.insert(scope.clone()));
        Ok(scopes)
    }

    /// Without the user. If that fails there is no token, and the server's refusal decides what to do next.
    async fn renew(self: &Arc<Self>, login: &Login<'_>, old: Option<Arc<Held>>) -> Result<()> {
        if let Some(old) = old {
            let Err(failure) = self.refresh(login, &old.token).await else { return Ok(()) };
            match failure.cure {
                Cure::NewLogin => {
                    // The client is still registered; the next login uses it.
                    let over = StoredToken { refresh_token: None, expires_at: Some(0), ..old.token.clone() };
                    return self.keep(over, old.origin).await;
                }
                Cure::NewClient => {}
                Cure::NextWay | Cure::None => return Err(failure.error),
            }
        }
        self.state.lock().held = None;
        Ok(())
    }

    async fn renew_or_sign_in(
        self: &Arc<Self>,
        login: &Login<'_>,
        old: Option<Arc<Held>>,
        challenge: &Challenge,
    ) -> Result<()> {
        let mut registered = old.as_ref().map(|held| held.token.client.clone()).filter(Client::is_registered);
        if let Some(old) = old.filter(|_| !challenge.wants_more_scope()) {
            let lacks = challenge.scopes.iter().any(|scope| !old.token.asked_scopes.contains(scope));
            let fresh = old.since.elapsed() < FRESH && !old.token.is_over();
            match old.origin {
                Origin::Login if fresh && !lacks => {
                    return Err(denied(message!(
                        "The server refuses the token that its authorization server '{}' has just issued.",
                        quote(&login.found.issuer.id, &[])
                    )));
                }
                // A refresh has just failed to help.
                Origin::Refresh if fresh => {}
                _ if lacks => {}
                _ => {
                    let Err(failure) = self.refresh(login, &old.token).await else { return Ok(()) };
                    match failure.cure {
                        Cure::NewLogin => {}
                        Cure::NewClient if self.config.settings.client_id.is_none() => registered = None,
                        Cure::NewClient | Cure::NextWay | Cure::None => return Err(failure.error),
                    }
                }
            }
        }
        self.config.check_attended()?;
        let token = login.in_browser(registered).await?;
        self.keep(token, Origin::Login).await
    }

    /// Another process that shares the store may have been first; a refresh token is often good only once.
    async fn refresh(self: &Arc<Self>, login: &Login<'_>, old: &StoredToken) -> Result<(), Failure> {
        let newest = self.newest_like(old).await?;
        if self.adopt(old, &newest) {
            return Ok(());
        }
        match login.refresh(&newest).await {
            Ok(token) => Ok(self.keep(token, Origin::Refresh).await?),
            Err(failure) if failure.cure == Cure::NewLogin => match self.newest_like(old).await {
                Ok(newest) if self.adopt(old, &newest) => Ok(()),
                _ => Err(failure),
            },
            Err(failure) => Err(failure),
        }
    }

    /// The stored token of the same kind, or this one.
    async fn newest_like(self: &Arc<Self>, old: &StoredToken) -> Result<StoredToken> {
        let stored = self.newest_stored().await?;
        let alike = |token: &StoredToken| token.issuer == old.issuer && token.resource == old.resource;
        Ok(stored.filter(alike).unwrap_or_else(|| old.clone()))
    }

    /// Takes a valid token that another process stored.
    fn adopt(&self, old: &StoredToken, newest: &StoredToken) -> bool {
        let better = newest.access_token != old.access_token && !newest.is_due();
        if better {
            self.state.lock().held = Some(Held::new(newest.clone(), Origin::Store));
        }
        better
    }

    /// The token is used even when it cannot be stored; the error is reported once.
    async fn keep(self: &Arc<Self>, token: StoredToken, origin: Origin) -> Result<()> {
        self.state.lock().held = Some(Held::new(token.clone(), origin));
        self.stored(move |store, _| store.save(&token)).await
    }
}

impl LoginState {
    /// A flight that has ended and is still here died with its runtime.
    fn under_way(&self) -> Option<Flight> {
        self.flight.as_ref().filter(|(_, task)| !task.is_finished()).map(|(flight, _)| flight.clone())
    }
}
