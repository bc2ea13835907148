//! Credentials for a server's requests, from its configuration.

use super::{
    AskedHeaders, Bearer, Credentials, HeaderFunction, OAuth, OAuthConfig, Opener, TokenExchange,
    TokenFunction, TokenStore, open_browser,
};
use crate::mcp::config::{Auth, Endpoint, ServerConfig};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use toolhub_types::error::{ErrorKind, HubError, Result};
use toolhub_types::model::Lang;
use toolhub_types::notices::Callbacks;
use toolhub_types::tool::BoxFuture;

/// Makes the credentials of one hub's servers.
pub struct CredentialFactory {
    pub callbacks: Arc<Callbacks>,
    /// Login tokens are kept here.
    pub store: Arc<TokenStore>,
    /// A function of the user opens login pages.
    pub opens_pages: bool,
    /// Set when the hub is served: without that function, no user is there to answer a login.
    pub is_served: Arc<AtomicBool>,
    pub lang: Lang,
}

impl CredentialFactory {
    pub fn make(&self, config: &ServerConfig) -> Result<Option<Arc<dyn Credentials>>> {
        let Endpoint::Http(remote) = &config.endpoint else { return Ok(None) };
        let id = &config.id;
        Ok(Some(match &config.auth {
            Auth::None => return Ok(None),
            Auth::Bearer(token) => Arc::new(Bearer::fixed(token.expose())?),
            Auth::TokenFunction => Arc::new(Bearer::Asked(self.token_function(id))),
            Auth::HeaderFunction => Arc::new(AskedHeaders::new(id.clone(), self.header_function(id))),
            Auth::TokenExchange(options) => Arc::new(TokenExchange::new(&remote.url, options.clone())?),
            Auth::OAuth(settings) => Arc::new(OAuth::new(OAuthConfig {
                settings: settings.clone(),
                store: self.store.clone(),
                opener: self.opener(id),
                lang: self.lang,
                server_id: id.clone(),
                is_unattended: if self.opens_pages { Arc::default() } else { self.is_served.clone() },
                ..OAuthConfig::new(remote.url.clone())
            })?),
        }))
    }

    /// Asks a function of the user; the error says why it has not answered.
    fn asking(
        &self,
        what: &'static str,
        server: &Arc<str>,
    ) -> impl Fn(Value) -> BoxFuture<'static, Result<Value, String>> + Send + Sync + use<> {
        let (callbacks, server) = (self.callbacks.clone(), server.clone());
        move |given| {
            let asked = callbacks.ask(what, server.clone(), given);
            Box::pin(async move { asked.await.map_err(|(_, why)| why) })
        }
    }

    fn token_function(&self, server: &Arc<str>) -> TokenFunction {
        let (ask, server) = (self.asking("token", server), server.clone());
        Arc::new(move || {
            let (asked, server) = (ask(Value::Null), server.clone());
            Box::pin(async move {
                let why = match asked.await {
                    Ok(Value::String(token)) => return Ok(token),
                    Ok(_) => "it must return a string".into(),
                    Err(why) => why,
                };
                let text = format!("The token function of server '{server}' failed: {why}");
                Err(HubError::new(ErrorKind::Auth, text))
            })
        })
    }

    fn header_function(&self, server: &Arc<str>) -> HeaderFunction {
        let ask = self.asking("headers", server);
        Arc::new(move |caller| ask(caller.map_or(Value::Null, |caller| caller.shown())))
    }

    fn opener(&self, server: &Arc<str>) -> Opener {
        if !self.opens_pages {
            return Arc::new(open_browser);
        }
        let ask = self.asking("open_url", server);
        Arc::new(move |url| {
            let asked = ask(Value::String(url.to_string()));
            Box::pin(async move {
                asked.await.map(drop).map_err(|why| {
                    HubError::new(ErrorKind::Auth, format!("The login page could not be opened: {why}"))
                })
            })
        })
    }
}
