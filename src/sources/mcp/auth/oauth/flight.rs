//! The tokens for one server: the one in use, why it is not enough, and the flight that gets the next one.

use super::super::{bearer_header, denied, quote};
use super::challenge::Challenge;
use super::client::{Cure, Failure};
use super::config::{Grant, OAuthConfig};
use super::discovery::{Discovered, discover};
use super::login::Login;
use super::store::{Client, StoredToken, TokenStore};
use super::web::Web;
use futures_util::FutureExt;
use futures_util::future::Shared;
use parking_lot::Mutex;
use reqwest::Url;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome};
use toolhub_types::tool::BoxFuture;

/// A token that was refused within this time after a login will not be accepted after another one.
const FRESH: Duration = Duration::from_secs(60);

pub(super) struct OAuthShared {
    pub(super) config: OAuthConfig,
    pub(super) server: Url,
    pub(super) web: Web,
    pub(super) state: Mutex<LoginState>,
}

#[derive(Default)]
pub(super) struct LoginState {
    /// The store has been read.
    pub(super) loaded: bool,
    pub(super) held: Option<Arc<Held>>,
    /// The task that gets the next token; all that need it wait for its end.
    pub(super) flight: Option<(Flight, AbortHandle)>,
    /// The number of times that the server wanted more scopes.
    pub(super) step_ups: u32,
}

/// The token in use.
pub(super) struct Held {
    pub(super) token: StoredToken,
    pub(super) origin: Origin,
    pub(super) since: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Store,
    Refresh,
    Login,
}

impl Held {
    pub(super) fn new(token: StoredToken, origin: Origin) -> Arc<Self> {
        Arc::new(Held { token, origin, since: Instant::now() })
    }

    pub(super) fn header(&self) -> Result<String, HubError> {
        bearer_header(self.token.access_token.expose())
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.since.elapsed() < FRESH
    }
}

pub(super) type Flight = Shared<BoxFuture<'static, Result<(), HubError>>>;

/// Limits how often a server can ask the user for more scopes.
const MAX_STEP_UPS: u32 = 5;

/// Why the current token is not enough.
#[derive(Clone, Debug)]
pub(super) enum Need {
    /// It has expired, or is about to.
    Renewal,
    /// The server refused it, or there was none.
    Other(Challenge),
    /// The server wants more scopes than it has.
    Scopes(Challenge),
}

impl Need {
    pub(super) fn challenge(&self) -> &Challenge {
        const NONE: &Challenge = &Challenge { scopes: Vec::new(), error: None, resource_metadata: None };
        match self {
            Need::Renewal => NONE,
            Need::Other(challenge) | Need::Scopes(challenge) => challenge,
        }
    }
}

impl OAuthShared {
    pub(super) async fn load(self: &Arc<Self>) -> Result<(), HubError> {
        if self.state.lock().loaded {
            return Ok(());
        }
        let stored = self.newest_stored().await?;
        let mut state = self.state.lock();
        if !state.loaded {
            state.loaded = true;
            state.held = stored.map(|token| Held::new(token, Origin::Store));
        }
        Ok(())
    }

    /// The last token that was stored for this server and this client.
    pub(super) async fn newest_stored(self: &Arc<Self>) -> Result<Option<StoredToken>, HubError> {
        if self.config.settings.grant == Grant::ClientCredentials {
            return Ok(None);
        }
        let tokens = self.stored(|store, server| store.load(server)).await?;
        Ok(tokens.into_iter().rfind(|token| token.client.suits(&self.config.settings)))
    }

    /// Asks the store from a thread that may block.
    pub(super) async fn stored<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn TokenStore, &str) -> Result<T, HubError> + Send + 'static,
    ) -> Result<T, HubError> {
        let (store, server) = (Arc::clone(&self.config.store), self.config.server_url.clone());
        let asked = tokio::task::spawn_blocking(move || ask(&*store, &server)).await;
        asked.unwrap_or_else(|_| Err(denied("The token store failed unexpectedly.")))
    }

    /// Joins the flight that is under way, or starts one; true if that is for this need.
    pub(super) fn fly(self: &Arc<Self>, need: Need) -> (Flight, bool) {
        let mut state = self.state.lock();
        if let Some(flight) = state.under_way() {
            return (flight, false);
        }
        let shared = Arc::clone(self);
        let task = tokio::spawn(async move {
            let result = shared.next_token(need).await;
            shared.state.lock().flight = None;
            result
        });
        let abort = task.abort_handle();
        let ended = task.map(|ended| ended.unwrap_or_else(|_| Err(cancelled())));
        let flight = (Box::pin(ended) as BoxFuture<'static, _>).shared();
        state.flight = Some((flight.clone(), abort));
        (flight, true)
    }

    /// Waits for the flight that is under way, when there is one.
    pub(super) async fn join(&self) -> Result<(), HubError> {
        let under_way = self.state.lock().under_way();
        match under_way {
            Some(flight) => flight.await,
            None => Ok(()),
        }
    }

    async fn next_token(self: &Arc<Self>, need: Need) -> Result<(), HubError> {
        let old = self.state.lock().held.clone();
        if matches!(need, Need::Renewal) && old.as_ref().is_none_or(|held| !held.token.is_due()) {
            // An earlier flight has brought a new one, or taken the old one away.
            return Ok(());
        }
        if old.is_none() {
            // Before anything is sent, so that the caller does not wait for an authorization server in vain.
            self.config.check_attended()?;
        }
        let found = discover(&self.web, &self.config.settings, &self.server, need.challenge()).await?;
        self.check_client_stays(old.as_deref(), &found)?;
        // A token of another issuer, or for another resource, cannot be used.
        let bound =
            |held: &Arc<Held>| held.token.issuer == found.issuer.id && held.token.resource == found.resource;
        let old = old.filter(bound);
        let scopes = self.scopes(&need, old.as_deref(), &found)?;
        let login = Login { config: &self.config, web: &self.web, found: &found, scopes };
        if self.config.settings.grant == Grant::ClientCredentials {
            let token = login.with_client_credentials().await?;
            self.state.lock().held = Some(Held::new(token, Origin::Login));
            return Ok(());
        }
        match need {
            Need::Renewal => self.renew(&login, old).await,
            Need::Other(_) | Need::Scopes(_) => self.renew_or_sign_in(&login, old, &need).await,
        }
    }

    /// A client that the user registered at one authorization server is not shown to another one just because the server
    /// names it.
    fn check_client_stays(&self, old: Option<&Held>, found: &Discovered) -> Result<(), HubError> {
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
    fn scopes(&self, need: &Need, old: Option<&Held>, found: &Discovered) -> Result<Vec<String>, HubError> {
        let wanted = &need.challenge().scopes;
        let mut scopes: Vec<String> = old.map(|held| held.token.asked_scopes.clone()).unwrap_or_default();
        let first = [&self.config.settings.scopes, wanted, &found.resource_scopes]
            .into_iter()
            .find(|list| !list.is_empty());
        scopes.extend(first.into_iter().flatten().cloned());
        if let (Need::Scopes(_), Some(old)) = (need, old) {
            if wanted.iter().all(|scope| old.token.asked_scopes.contains(scope)) {
                return Err(denied(message!(
                    "The server requires the scopes '{}', which were already requested; ask its administrator for access, or sign out and in again.",
                    quote(&wanted.join(" "), &[])
                )));
            }
            let mut state = self.state.lock();
            state.step_ups += 1;
            if state.step_ups > MAX_STEP_UPS {
                return Err(denied("The server keeps asking for more scopes; no more are requested."));
            }
        }
        if matches!(need, Need::Scopes(_)) {
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
    async fn renew(self: &Arc<Self>, login: &Login<'_>, old: Option<Arc<Held>>) -> Result<(), HubError> {
        if let Some(old) = old {
            let Err(failure) = self.refresh(login, &old.token).await else { return Ok(()) };
            match failure.cure {
                Cure::NewLogin => {
                    // The client is still registered; the next login uses it.
                    let over = StoredToken { refresh_token: None, expires_at: Some(0), ..old.token.clone() };
                    return self.keep(over, old.origin).await;
                }
                Cure::NewClient => {}
                Cure::None => return Err(failure.error),
            }
        }
        self.state.lock().held = None;
        Ok(())
    }

    async fn renew_or_sign_in(
        self: &Arc<Self>,
        login: &Login<'_>,
        old: Option<Arc<Held>>,
        need: &Need,
    ) -> Result<(), HubError> {
        let mut registered =
            Client::registered(old.as_deref().map(|held| &held.token), &login.found.issuer.id);
        if let (Some(old), Need::Other(challenge)) = (&old, need) {
            let lacks = challenge.scopes.iter().any(|scope| !old.token.asked_scopes.contains(scope));
            let fresh = old.is_fresh() && !old.token.is_over();
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
                        Cure::NewClient | Cure::None => return Err(failure.error),
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
        let Some(refresh_token) = &newest.refresh_token else {
            return Err(Failure { cure: Cure::NewLogin, error: denied("There is no refresh token.") });
        };
        match login.refresh(&newest, refresh_token).await {
            Ok(token) => Ok(self.keep(token, Origin::Refresh).await?),
            Err(failure) if failure.cure == Cure::NewLogin => match self.newest_like(old).await {
                Ok(newest) if self.adopt(old, &newest) => Ok(()),
                _ => Err(failure),
            },
            Err(failure) => Err(failure),
        }
    }

    /// The stored token of the same kind, or this one.
    async fn newest_like(self: &Arc<Self>, old: &StoredToken) -> Result<StoredToken, HubError> {
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
    async fn keep(self: &Arc<Self>, token: StoredToken, origin: Origin) -> Result<(), HubError> {
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

fn cancelled() -> HubError {
    HubError::new(ErrorKind::Cancelled, "The login was cancelled.").with_outcome(Outcome::NotSent)
}
