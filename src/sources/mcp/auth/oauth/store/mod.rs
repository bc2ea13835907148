//! Where tokens live between calls and between runs.

mod file;

pub use file::FileStore;

use super::super::Secret;
use super::client::Client;
use crate::error::HubError;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};

/// A token with all that it is bound to: it is only ever sent to `server`, and only ever renewed at `issuer`, by `client`,
/// for `resource`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct StoredToken {
    pub server: String,
    pub issuer: String,
    pub resource: String,
    pub client: Client,
    pub access_token: Secret,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<Secret>,
    /// What was granted.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// What was asked for; asking for it again would bring nothing new.
    #[serde(default)]
    pub asked_scopes: Vec<String>,
    /// When to get the next one, and when this one ends, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renew_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

impl StoredToken {
    pub(super) fn is_due(&self) -> bool {
        self.renew_at.is_some_and(|at| at <= now())
    }

    pub(super) fn is_over(&self) -> bool {
        self.expires_at.is_some_and(|at| at <= now())
    }

    fn has_place_of(&self, other: &StoredToken) -> bool {
        self.server == other.server && self.issuer == other.issuer && self.client.id == other.client.id
    }
}

/// Keeps one token for each server, issuer and client. Called from a thread that may block.
pub trait TokenStore: Send + Sync {
    /// The tokens for a server, the newest last.
    fn load(&self, server: &str) -> Result<Vec<StoredToken>, HubError>;

    fn save(&self, token: &StoredToken) -> Result<(), HubError>;

    /// Forgets all tokens for a server.
    fn remove(&self, server: &str) -> Result<(), HubError>;
}

/// For as long as the process lives.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Vec<StoredToken>>);

impl TokenStore for MemoryStore {
    fn load(&self, server: &str) -> Result<Vec<StoredToken>, HubError> {
        Ok(self.0.lock().iter().filter(|token| token.server == server).cloned().collect())
    }

    fn save(&self, token: &StoredToken) -> Result<(), HubError> {
        put(&mut self.0.lock(), token);
        Ok(())
    }

    fn remove(&self, server: &str) -> Result<(), HubError> {
        self.0.lock().retain(|token| token.server != server);
        Ok(())
    }
}

/// A client that we registered ourselves is replaced by the next one: the old one is of no use to anybody.
fn put(tokens: &mut Vec<StoredToken>, new: &StoredToken) {
    let registered = |token: &StoredToken| token.client.redirect.is_some();
    tokens.retain(|old| {
        let successor =
            old.server == new.server && old.issuer == new.issuer && registered(old) && registered(new);
        !(old.has_place_of(new) || successor)
    });
    tokens.push(new.clone());
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
