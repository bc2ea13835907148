//! Credentials for a server's requests, from its configuration.

use super::call_scope::principal_value;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use toolhub::callbacks::Callbacks;
use toolhub::catalog::MakeCredentials;
use toolhub::error::{ErrorKind, HubError};
use toolhub::model::Lang;
use toolhub::sources::mcp::auth::{
    AskedHeaders, Bearer, Credentials, FileStore, Grant, HeaderFunction, MemoryStore, OAuth, OAuthConfig,
    Opener, TokenExchange, TokenExchangeOptions, TokenFunction, TokenStore, open_browser,
};
use toolhub::sources::mcp::config::{Auth, Endpoint, ServerConfig};

/// Makes the credentials of one hub's servers.
struct CredentialFactory {
    callbacks: Arc<Callbacks>,
    store: Arc<dyn TokenStore>,
    /// A function of the user opens login pages.
    opens_pages: bool,
    /// Set when the hub is served: without that function, no user is there to answer a login.
    is_served: Arc<AtomicBool>,
    lang: Lang,
}

/// What makes the credentials of a hub's servers. Login tokens are kept in `file`, or in memory when there is none.
pub fn maker(
    callbacks: Arc<Callbacks>,
    file: Option<PathBuf>,
    opens_pages: bool,
    is_served: Arc<AtomicBool>,
    lang: Lang,
) -> MakeCredentials {
    let store: Arc<dyn TokenStore> = match file {
        Some(path) => Arc::new(FileStore::new(path)),
        None => Arc::new(MemoryStore::default()),
    };
    let factory = CredentialFactory { callbacks, store, opens_pages, is_served, lang };
    Arc::new(move |config| factory.make(config))
}

impl CredentialFactory {
    fn make(&self, config: &ServerConfig) -> Result<Option<Arc<dyn Credentials>>, HubError> {
        let Endpoint::Http(remote) = &config.endpoint else { return Ok(None) };
        let oauth = OAuthConfig {
            store: self.store.clone(),
            opener: self.opener(&config.id),
            lang: self.lang,
            server_id: config.id.clone(),
            is_unattended: if self.opens_pages { Arc::default() } else { self.is_served.clone() },
            ..OAuthConfig::new(remote.url.clone())
        };
        match &config.auth {
            Auth::None => Ok(None),
            Auth::Bearer(token) => Ok(Some(Arc::new(Bearer::fixed(token.expose())?))),
            Auth::TokenFunction => Ok(Some(Arc::new(Bearer::asked(self.token_function(&config.id))))),
            Auth::HeaderFunction => {
                let function = self.header_function(&config.id);
                Ok(Some(Arc::new(AskedHeaders::new(config.id.clone(), function))))
            }
            Auth::ClientCredentials { client_id, client_secret, scopes, token_url, metadata_url, issuer } => {
                let oauth = OAuth::new(OAuthConfig {
                    grant: Grant::ClientCredentials,
                    client_id: Some(client_id.clone()),
                    client_secret: Some(client_secret.clone()),
                    scopes: scopes.clone(),
                    token_url: token_url.clone(),
                    metadata_url: metadata_url.clone(),
                    issuer: issuer.clone(),
                    ..oauth
                });
                Ok(Some(Arc::new(oauth?)))
            }
            Auth::TokenExchange { token_endpoint, client_id, client_secret, audience, resource, scopes } => {
                let options = TokenExchangeOptions {
                    token_endpoint: token_endpoint.clone(),
                    client_id: client_id.clone(),
                    client_secret: client_secret.clone(),
                    audience: audience.clone(),
                    // The authorization server has to know for whom the token is.
                    resource: match (audience, resource) {
                        (None, None) => Some(remote.url.clone()),
                        _ => resource.clone(),
                    },
                    scopes: scopes.clone(),
                };
                Ok(Some(Arc::new(TokenExchange::new(&remote.url, options)?)))
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
                    client_secret: client_secret.clone(),
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
        let (callbacks, server) = (self.callbacks.clone(), server.clone());
        Arc::new(move || {
            let asked = callbacks.ask("token", server.clone(), Value::Null);
            let server = server.clone();
            Box::pin(async move {
                let failed = |why: String| {
                    let text = format!("The token function of server '{server}' failed: {why}");
                    Err(HubError::new(ErrorKind::Auth, text))
                };
                match asked.await {
                    Ok(Value::String(token)) => Ok(token),
                    Ok(_) => failed("it must return a string".into()),
                    Err((_, why)) => failed(why),
                }
            })
        })
    }

    fn header_function(&self, server: &Arc<str>) -> HeaderFunction {
        let (callbacks, server) = (self.callbacks.clone(), server.clone());
        Arc::new(move |caller| {
            let caller = caller.map_or(Value::Null, |caller| principal_value(&caller));
            let asked = callbacks.ask("headers", server.clone(), caller);
            Box::pin(async move { asked.await.map_err(|(_, why)| why) })
        })
    }

    fn opener(&self, server: &Arc<str>) -> Opener {
        if !self.opens_pages {
            return Arc::new(open_browser);
        }
        let (callbacks, server) = (self.callbacks.clone(), server.clone());
        Arc::new(move |url| {
            let asked = callbacks.ask("open_url", server.clone(), Value::String(url.to_string()));
            Box::pin(async move {
                asked.await.map(drop).map_err(|(_, why)| {
                    HubError::new(ErrorKind::Auth, format!("The login page could not be opened: {why}"))
                })
            })
        })
    }
}
