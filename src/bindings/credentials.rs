//! What a server's requests are signed with, from its configuration.

use super::asking::Questions;
use crate::catalog::MakeCredentials;
use crate::error::{ErrorKind, HubError};
use crate::secret::Secret;
use crate::sources::mcp::auth::{
    Bearer, Credentials, FileStore, Grant, MemoryStore, OAuth, OAuthConfig, Opener, TokenFunction,
    TokenStore, open_browser,
};
use crate::sources::mcp::config::{Auth, Endpoint, ServerConfig};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// What credentials of one hub have in common.
pub struct Keys {
    questions: Arc<Questions>,
    /// Servers whose token is what a function of the user says.
    asked: Mutex<HashSet<Arc<str>>>,
    store: Arc<dyn TokenStore>,
    /// The user opens the pages of logins.
    opens_pages: bool,
}

impl Keys {
    /// Tokens of logins are kept in a file, or only in memory when there is none.
    pub fn new(questions: Arc<Questions>, file: Option<PathBuf>, opens_pages: bool) -> Arc<Self> {
        let store: Arc<dyn TokenStore> = match file {
            Some(path) => Arc::new(FileStore::new(path)),
            None => Arc::new(MemoryStore::default()),
        };
        Arc::new(Keys { questions, asked: Mutex::default(), store, opens_pages })
    }

    pub fn maker(self: &Arc<Self>) -> MakeCredentials {
        let keys = self.clone();
        Arc::new(move |config| keys.make(config))
    }

    /// The token of this server comes from a function.
    pub fn ask_for(&self, server: &str) {
        self.asked.lock().insert(Arc::from(server));
    }

    fn make(&self, config: &ServerConfig) -> Result<Option<Arc<dyn Credentials>>, HubError> {
        if self.asked.lock().contains(&config.id) {
            return Ok(Some(Arc::new(Bearer::asked(self.token_function(&config.id)))));
        }
        let Endpoint::Http(remote) = &config.endpoint else { return Ok(None) };
        let oauth = OAuthConfig {
            store: self.store.clone(),
            opener: self.opener(&config.id),
            ..OAuthConfig::new(remote.url.clone())
        };
        let secret = Secret::clone;
        match &config.auth {
            Auth::None => Ok(None),
            Auth::Bearer(token) => Ok(Some(Arc::new(Bearer::fixed(token.expose())?))),
            Auth::ClientCredentials { client_id, client_secret, scopes, token_url } => {
                let oauth = OAuth::new(OAuthConfig {
                    grant: Grant::ClientCredentials,
                    client_id: Some(client_id.clone()),
                    client_secret: Some(secret(client_secret)),
                    scopes: scopes.clone(),
                    token_url: token_url.clone(),
                    ..oauth
                });
                Ok(Some(Arc::new(oauth?)))
            }
            Auth::OAuth {
                client_id,
                client_secret,
                scopes,
                redirect_port,
                redirect_uri,
                authorization_url,
                token_url,
                metadata_url,
                issuer,
                client_metadata_url,
            } => {
                let oauth = OAuth::new(OAuthConfig {
                    client_id: client_id.clone(),
                    client_secret: client_secret.as_ref().map(secret),
                    scopes: scopes.clone(),
                    redirect_port: *redirect_port,
                    redirect_uri: redirect_uri.clone(),
                    authorization_url: authorization_url.clone(),
                    token_url: token_url.clone(),
                    metadata_url: metadata_url.clone(),
                    issuer: issuer.clone(),
                    client_id_metadata_url: client_metadata_url.clone(),
                    ..oauth
                });
                Ok(Some(Arc::new(oauth?)))
            }
        }
    }

    fn token_function(&self, server: &Arc<str>) -> TokenFunction {
        let (questions, server) = (self.questions.clone(), server.clone());
        Arc::new(move || {
            let asked = questions.ask("token", server.clone(), Value::Null);
            let server = server.clone();
            Box::pin(async move {
                let failed = |why: String| {
                    let text = format!("The token function of server '{server}' failed: {why}");
                    Err(HubError::new(ErrorKind::Auth, text))
                };
                match asked.await {
                    Ok(Value::String(token)) => Ok(token),
                    Ok(_) => failed("it must give a text".into()),
                    Err((_, why)) => failed(why),
                }
            })
        })
    }

    fn opener(&self, server: &Arc<str>) -> Opener {
        if !self.opens_pages {
            return Arc::new(open_browser);
        }
        let (questions, server) = (self.questions.clone(), server.clone());
        Arc::new(move |url| {
            let asked = questions.ask("open_url", server.clone(), Value::String(url.to_string()));
            Box::pin(async move {
                asked.await.map(drop).map_err(|(_, why)| {
                    HubError::new(
                        ErrorKind::Auth,
                        format!("The page of the login could not be opened: {why}"),
                    )
                })
            })
        })
    }
}

/// Where tokens are kept when nothing else is said.
pub fn usual_file() -> Option<PathBuf> {
    FileStore::default_path()
}
