//! Where a server is and what it gets.

use crate::mcp::auth::Credentials;
use crate::mcp::secrets::ServerSecrets;
use std::fmt;
use std::sync::Arc;

/// Where a server is and what it gets.
pub struct HttpOptions {
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// The bytes of one message, after unpacking.
    pub limit: usize,
    /// Credentials that change: a callable, OAuth.
    pub credentials: Option<Arc<dyn Credentials>>,
    /// Gets the secrets of all these options, and hides them in what the server says.
    pub secrets: Arc<ServerSecrets>,
}

impl fmt::Debug for HttpOptions {
    /// By hand: URL and headers may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions").field("limit", &self.limit).finish_non_exhaustive()
    }
}
