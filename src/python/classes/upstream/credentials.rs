//! Credentials for a server's requests, from its configuration.

use crate::prelude::*;
use crate::runtime::call_scope::principal_value;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use toolhub::callbacks::Callbacks;
use toolhub::catalog::MakeCredentials;
use toolhub::model::Lang;
use toolhub::sources::mcp::auth::{
    AskedHeaders, Bearer, Credentials, FileStore, HeaderFunction, MemoryStore, OAuth, OAuthConfig, Opener,
    TokenExchange, TokenFunction, TokenStore, open_browser,
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
            Auth::TokenExchange(options) => {
                Ok(Some(Arc::new(TokenExchange::new(&remote.url, options.clone())?)))
            }
            Auth::OAuth(settings) => {
                let settings = settings.clone();
                Ok(Some(Arc::new(OAuth::new(OAuthConfig { settings, ..oauth })?)))
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
