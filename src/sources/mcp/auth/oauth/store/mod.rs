//! Where tokens live between calls and between runs.

mod file;

pub use file::FileStore;

use super::stored::StoredToken;
use parking_lot::Mutex;
use toolhub_types::error::HubError;

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

/// A client that we registered ourselves is replaced by the next one: the old one is not needed any more.
fn put(tokens: &mut Vec<StoredToken>, new: &StoredToken) {
    let registered = |token: &StoredToken| token.client.redirect.is_some();
    tokens.retain(|old| {
        let successor =
            old.server == new.server && old.issuer == new.issuer && registered(old) && registered(new);
        !(old.has_place_of(new) || successor)
    });
    tokens.push(new.clone());
}
