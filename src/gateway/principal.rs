//! Who calls.

use crate::secret::Secret;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The caller of a request, as its credentials show. Caches, calls in flight, sessions and statistics are kept apart by its
/// id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Principal {
    /// Empty for the anonymous principal, otherwise unique among the callers of a gateway.
    pub id: Arc<str>,
    /// The claims of a JWT, or what the user's function returned.
    pub claims: Map<String, Value>,
    /// The view that its token names.
    pub view: Option<Arc<str>>,
    /// The token that upstream servers get in this principal's name. Never the one that it came with.
    pub upstream_token: Option<Secret>,
}

impl Principal {
    /// The caller of a gateway that asks for no credentials.
    pub fn anonymous() -> Self {
        Principal::default()
    }

    pub fn is_anonymous(&self) -> bool {
        self.id.is_empty()
    }
}
