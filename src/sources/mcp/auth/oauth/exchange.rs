//! Token exchange (RFC 8693): the token of a gateway's caller becomes a token for one upstream server.
//!
//! The caller's own token goes to the token endpoint that the operator configured, and nowhere else. Where there is no caller,
//! for lists of tools, the client asks for a token in its own name (client credentials); if it gets none, requests go without.

use super::super::{CallerNeeds, Credentials, Secret, bearer_header, denied, quote};
use super::client::renew_at;
use super::config::parse;
use super::discovery::Issuer;
use super::store::{Client, now};
use super::web::Web;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Result, clip};
use toolhub_types::principal::Principal;
use toolhub_types::tool::BoxFuture;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
/// How many seconds a token without `expires_in` is used.
const DEFAULT_LIFETIME: u64 = 300;

/// A client that got no token in its own name asks again after this many seconds.
const REFUSED_FOR: u64 = 60;

/// Where tokens are exchanged, and for what. As JSON: whom they are for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TokenExchangeOptions {
    pub token_endpoint: String,
    pub client_id: String,
    #[serde(skip)]
    pub client_secret: Option<Secret>,
    /// The name of the upstream server at the authorization server.
    pub audience: Option<String>,
    /// The address of the upstream server. It is sent when nothing else says for whom the token is.
    pub resource: Option<String>,
    pub scopes: Vec<String>,
}

struct HeldToken {
    /// The whole header; `None` when there is no token.
    header: Option<String>,
    renew_at: u64,
}

/// The credentials of one caller, or of the hub itself, for one server.
pub struct TokenExchange {
    exchange: Arc<SharedExchange>,
    /// The caller's token. Another token of the same caller has credentials of its own: it may grant less.
    subject: Option<Secret>,
    /// Locked while a token is asked for: concurrent requests wait for one exchange.
    held: tokio::sync::Mutex<Option<HeldToken>>,
}

/// What the credentials of all callers share.
struct SharedExchange {
    options: TokenExchangeOptions,
    issuer: Issuer,
    web: Web,
    client: Client,
}

impl TokenExchange {
    /// The credentials of the hub itself for the server at this address.
    pub fn new(server: &str, mut options: TokenExchangeOptions) -> Result<Self> {
        let issuer = Issuer::named(&options.token_endpoint, None, None)?;
        let web = Web::new(parse(server, "server_url")?, [issuer.token_endpoint.clone()]);
        web.check(&issuer.token_endpoint, "token endpoint")?;
        // The authorization server has to know for whom the token is.
        if options.audience.is_none() && options.resource.is_none() {
            options.resource = Some(server.to_owned());
        }
        let (id, secret) = (options.client_id.clone(), options.client_secret.clone());
        let client = Client { id, secret, ..Client::default() };
        Ok(Self::of(Arc::new(SharedExchange { options, issuer, web, client }), None))
    }

    fn of(exchange: Arc<SharedExchange>, subject: Option<Secret>) -> Self {
        TokenExchange { exchange, subject, held: tokio::sync::Mutex::default() }
    }

    async fn ask(&self) -> Result<HeldToken> {
        let SharedExchange { options, issuer, web, client } = &*self.exchange;
        let mut fields = match &self.subject {
            Some(subject) => vec![
                ("grant_type", GRANT),
                ("subject_token", subject.expose()),
                ("subject_token_type", ACCESS_TOKEN),
                ("requested_token_type", ACCESS_TOKEN),
            ],
            None => vec![("grant_type", "client_credentials")],
        };
        let scopes = Some(options.scopes.join(" ")).filter(|scopes| !scopes.is_empty());
        let optional = [("audience", &options.audience), ("resource", &options.resource), ("scope", &scopes)];
        fields.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))));
        let asked = client.ask_token(web, issuer, &fields).await;
        // It concerns the caller's token alone: the tool's server was not asked and must not rest for it.
        let issued =
            asked.map_err(|failure| HubError { kind: ErrorKind::Auth, status: None, ..failure.error })?;
        if !issued.answer.get("token_type").is_some_and(Value::is_string) {
            return Err(denied(message!(
                "The authorization server '{}' answered with a token but no 'token_type'.",
                quote(&issuer.id, &[])
            )));
        }
        // An authorization server that hands the token back has exchanged nothing.
        if self.subject.as_ref() == Some(&issued.token) {
            return Err(denied(message!(
                "The authorization server '{}' answered with the caller's own token; caller tokens are never sent upstream.",
                quote(&issuer.id, &[])
            )));
        }
        let renew_at = renew_at(issued.lifetime.unwrap_or(DEFAULT_LIFETIME));
        Ok(HeldToken { header: Some(bearer_header(issued.token.expose())?), renew_at })
    }
}

impl Credentials for TokenExchange {
    fn authorization<'a>(&'a self) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(async move {
            let mut held = self.held.lock().await;
            if let Some(token) = held.as_ref().filter(|token| now() < token.renew_at) {
                return Ok(token.header.clone());
            }
            let token = match self.ask().await {
                // Many servers list their tools to everyone.
                Err(_) if self.subject.is_none() => {
                    HeldToken { header: None, renew_at: now().saturating_add(REFUSED_FOR) }
                }
                asked => asked?,
            };
            Ok(held.insert(token).header.clone())
        })
    }

    fn needs(&self) -> CallerNeeds {
        CallerNeeds::CallerToken
    }

    fn of_caller(&self, principal: &Arc<Principal>) -> Result<Option<Arc<dyn Credentials>>> {
        let subject = principal.subject_token.clone().ok_or_else(|| {
            let text = message!(
                "'{}' came without a token, so there is none to exchange for the server.",
                clip(&principal.id)
            );
            denied(text)
        })?;
        Ok(Some(Arc::new(Self::of(self.exchange.clone(), Some(subject)))))
    }

    /// The upstream server refused the token: another one is asked for, unless that has happened meanwhile.
    fn refused<'a>(&'a self, sent: &'a str, status: u16, _: Option<&'a str>) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            if status != 401 || sent.is_empty() {
                return Ok(false);
            }
            let mut held = self.held.lock().await;
            held.take_if(|token| token.header.as_deref() == Some(sent));
            if held.is_none() {
                *held = Some(self.ask().await?);
            }
            Ok(held.as_ref().is_some_and(|token| token.header.as_deref() != Some(sent)))
        })
    }
}
