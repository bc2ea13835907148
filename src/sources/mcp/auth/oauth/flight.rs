//! One flight: why a token is needed, and how it is obtained.

use super::super::{denied, quote::quote};
use super::challenge::Challenge;
use super::config::Grant;
use super::discovery::{Discovered, discover};
use super::login::Login;
use super::state::{Flight, FlightEnd, Held, LoginState, OAuthShared, Origin};
use super::stored::{Client, StoredToken};
use super::token::Failure;
use std::sync::Arc;
use tokio::sync::watch;
use toolhub_types::error::{ErrorKind, HubError, Outcome};
use toolhub_types::tool::BoxFuture;

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
    pub(super) fn scopes(&self) -> &[String] {
        match self {
            Need::Renewal => &[],
            Need::Other(challenge) | Need::Scopes(challenge) => &challenge.scopes,
        }
    }

    fn challenge(&self) -> Challenge {
        match self {
            Need::Renewal => Challenge::default(),
            Need::Other(challenge) | Need::Scopes(challenge) => challenge.clone(),
        }
    }
}

/// One waiter of a flight.
pub(super) struct Seat {
    pub(super) ended: BoxFuture<'static, Result<(), HubError>>,
    /// True when the flight is for this need.
    pub(super) is_ours: bool,
}

impl OAuthShared {
    /// Joins the flight that is under way, or starts one.
    pub(super) fn fly(self: &Arc<Self>, need: Need) -> Seat {
        let mut state = self.state.lock();
        let (ended, is_ours) = match state.under_way() {
            Some(ended) => (ended, false),
            None => (self.start(&mut state, need), true),
        };
        Seat { ended: Box::pin(wait(ended)), is_ours }
    }

    /// Waits for the flight that is under way, when there is one.
    pub(super) async fn join(&self) -> Result<(), HubError> {
        let under_way = self.state.lock().under_way();
        match under_way {
            Some(ended) => wait(ended).await,
            None => Ok(()),
        }
    }

    fn start(self: &Arc<Self>, state: &mut LoginState, need: Need) -> FlightEnd {
        let (end, ended) = watch::channel(None);
        let shared = Arc::clone(self);
        let task = tokio::spawn(async move {
            let result = shared.next_token(need).await;
            shared.state.lock().flight = None;
            end.send_replace(Some(result));
        });
        state.flight = Some(Flight { ended: ended.clone(), task: task.abort_handle() });
        ended
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
        let found = discover(&self.web, &self.config, &self.server, &need.challenge()).await?;
        self.check_client_stays(old.as_deref(), &found)?;
        // A token of another issuer, or for another resource, cannot be used.
        let bound =
            |held: &Arc<Held>| held.token.issuer == found.issuer.id && held.token.resource == found.resource;
        let old = old.filter(bound);
        let scopes = self.scopes(&need, old.as_deref(), &found)?;
        let login = Login { config: &self.config, web: &self.web, found: &found, scopes };
        if self.config.grant == Grant::ClientCredentials {
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
        match (moved, &self.config.client_id, &self.config.issuer) {
            (Some(before), Some(client_id), None) => Err(denied(format!(
                "The client '{client_id}' was used at '{}', but the server now names '{}' as its authorization server; set issuer in the configuration if that is right.",
                quote(before, &[]),
                quote(&found.issuer.id, &[])
            ))),
            _ => Ok(()),
        }
    }

    /// What to ask for: the scopes of the user, or those of the server's refusal, or of its metadata; and what was asked for
    /// before, so that a new token can do what the old one could.
    fn scopes(&self, need: &Need, old: Option<&Held>, found: &Discovered) -> Result<Vec<String>, HubError> {
        let wanted = need.scopes();
        let mut scopes: Vec<String> = old.map(|held| held.token.asked_scopes.clone()).unwrap_or_default();
        let first =
            [&self.config.scopes, wanted, &found.resource_scopes].into_iter().find(|list| !list.is_empty());
        scopes.extend(first.into_iter().flatten().cloned());
        if let (Need::Scopes(_), Some(old)) = (need, old) {
            if wanted.iter().all(|scope| old.token.asked_scopes.contains(scope)) {
                return Err(denied(format!(
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
            && self.config.grant == Grant::AuthorizationCode
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
            match self.refresh(login, &old.token).await {
                Ok(()) => return Ok(()),
                Err(Failure::GrantEnded(_)) => {
                    // The client is still registered; the next login uses it.
                    let over = StoredToken { refresh_token: None, expires_at: Some(0), ..old.token.clone() };
                    return self.keep(over, old.origin).await;
                }
                Err(Failure::UnknownClient(_)) => {}
                Err(Failure::Other(error)) => return Err(error),
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
                    return Err(denied(format!(
                        "The server refuses the token that its authorization server '{}' has just issued.",
                        quote(&login.found.issuer.id, &[])
                    )));
                }
                // A refresh has just failed to help.
                Origin::Refresh if fresh => {}
                _ if lacks => {}
                _ => match self.refresh(login, &old.token).await {
                    Ok(()) => return Ok(()),
                    Err(Failure::GrantEnded(_)) => {}
                    Err(Failure::UnknownClient(error)) if self.config.client_id.is_some() => {
                        return Err(error);
                    }
                    Err(Failure::UnknownClient(_)) => registered = None,
                    Err(Failure::Other(error)) => return Err(error),
                },
            }
        }
        self.config.check_attended()?;
        let token = login.in_browser(registered).await?;
        self.keep(token, Origin::Login).await
    }

    /// Another process that shares the store may have been first; a refresh token is often good only once.
    async fn refresh(self: &Arc<Self>, login: &Login<'_>, old: &StoredToken) -> Result<(), Failure> {
        let newest = self.newest_like(old).await.map_err(Failure::Other)?;
        if self.adopt(old, &newest) {
            return Ok(());
        }
        let Some(refresh_token) = &newest.refresh_token else {
            return Err(Failure::GrantEnded(denied("There is no refresh token.")));
        };
        match login.refresh(&newest, refresh_token).await {
            Ok(token) => self.keep(token, Origin::Refresh).await.map_err(Failure::Other),
            Err(Failure::GrantEnded(error)) => match self.newest_like(old).await {
                Ok(newest) if self.adopt(old, &newest) => Ok(()),
                _ => Err(Failure::GrantEnded(error)),
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

async fn wait(mut ended: FlightEnd) -> Result<(), HubError> {
    match ended.wait_for(Option::is_some).await {
        Ok(result) => result.clone().unwrap_or(Ok(())),
        Err(_) => {
            Err(HubError::new(ErrorKind::Cancelled, "The login was cancelled.")
                .with_outcome(Outcome::NotSent))
        }
    }
}
