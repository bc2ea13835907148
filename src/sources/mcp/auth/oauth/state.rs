//! The tokens for one server: the one in use, and the flight that gets the next one.

use super::super::{bearer_header, denied};
use super::config::{Grant, OAuthConfig};
use super::store::TokenStore;
use super::stored::StoredToken;
use super::web::Web;
use parking_lot::Mutex;
use reqwest::Url;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use toolhub_types::error::HubError;

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
    pub(super) flight: Option<Flight>,
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

/// A task that gets a token.
pub(super) struct Flight {
    pub(super) ended: FlightEnd,
    pub(super) task: AbortHandle,
}

impl Flight {
    pub(super) fn abort(&self) {
        self.task.abort();
    }
}

pub(super) type FlightEnd = watch::Receiver<Option<Result<(), HubError>>>;

impl LoginState {
    /// A flight whose task ended without a result died with its runtime.
    pub(super) fn under_way(&self) -> Option<FlightEnd> {
        let flight = self.flight.as_ref().filter(|flight| flight.ended.has_changed().is_ok());
        flight.map(|flight| flight.ended.clone())
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
        if self.config.grant == Grant::ClientCredentials {
            return Ok(None);
        }
        let tokens = self.stored(|store, server| store.load(server)).await?;
        Ok(tokens.into_iter().rfind(|token| token.client.suits(&self.config)))
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
}
