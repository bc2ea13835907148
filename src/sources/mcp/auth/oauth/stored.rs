//! A token and its client, as they are stored.

use super::super::Secret;
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970, as tokens have the time.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A client as one authorization server knows it. It is never shown to another one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Client {
    pub id: String,
    pub secret: Option<Secret>,
    /// How the authorization server wants the secret to be sent, from its registration.
    pub method: Option<String>,
    /// Of a client that we registered ourselves: the redirect that it was registered with.
    pub redirect: Option<String>,
    /// When the secret ends, in seconds since 1970.
    pub ends_at: Option<u64>,
}

/// A token with all that it is bound to: it is only ever sent to `server`, and only ever renewed at `issuer`, by `client`,
/// for `resource`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct StoredToken {
    pub server: String,
    pub issuer: String,
    pub resource: String,
    pub client: Client,
    pub access_token: Secret,
    pub refresh_token: Option<Secret>,
    /// The granted scopes.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The requested scopes; requesting them again would change nothing.
    #[serde(default)]
    pub asked_scopes: Vec<String>,
    /// When to get the next one, and when this one ends, in seconds since 1970.
    pub renew_at: Option<u64>,
    pub expires_at: Option<u64>,
}

impl StoredToken {
    pub(super) fn is_due(&self) -> bool {
        self.renew_at.is_some_and(|at| at <= now())
    }

    pub(super) fn is_over(&self) -> bool {
        self.expires_at.is_some_and(|at| at <= now())
    }
}
