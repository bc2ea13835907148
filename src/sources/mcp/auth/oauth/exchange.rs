//! Token exchange (RFC 8693): the token of a gateway's caller becomes a token for one upstream server.
//!
//! The caller's own token goes to the token endpoint that the operator configured, and nowhere else. Where there is no caller,
//! for lists of tools, the client asks for a token in its own name (client credentials); if it gets none, requests go without.

use super::super::quote::quote;
use super::super::{Credentials, Secret, bearer_header, denied};
use super::client::basic;
use super::clock::now;
use super::random::form;
use super::token::seconds;
use super::web::Web;
use reqwest::Url;
use serde_json::Value;
use std::sync::Arc;
use toolhub_types::error::{HubError, clip};
use toolhub_types::principal::Principal;
use toolhub_types::tool::BoxFuture;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
/// A token is renewed this many seconds before it ends, or after ¾ of a short life.
const AHEAD: u64 = 30;
/// How long a token without `expires_in` is used.
const UNSAID_LIFE: u64 = 300;

/// A client that got no token in its own name asks again after this many seconds.
const REFUSED_FOR: u64 = 60;

/// Where tokens are exchanged, and for what.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenExchangeOptions {
    pub token_endpoint: String,
    pub client_id: String,
    pub client_secret: Option<Secret>,
    /// The name of the upstream server at the authorization server.
    pub audience: Option<String>,
    /// The address of the upstream server; given to the authorization server when there is no audience.
    pub resource: Option<String>,
    pub scopes: Vec<String>,
}

struct HeldToken {
    /// The whole header; empty when there is no token.
    header: Secret,
    renew_at: u64,
}

impl HeldToken {
    fn header(&self) -> Option<String> {
        (!self.header.is_empty()).then(|| self.header.expose().to_owned())
    }
}

/// The credentials of one caller, or of the hub itself, for one server.
pub struct TokenExchange {
    options: TokenExchangeOptions,
    endpoint: Url,
    web: Arc<Web>,
    /// The caller's token. Another token of the same caller has credentials of its own: it may grant less.
    subject: Option<Secret>,
    /// Locked while a token is asked for: concurrent requests wait for one exchange.
    held: tokio::sync::Mutex<Option<HeldToken>>,
}

impl TokenExchange {
    /// The credentials of the hub itself for the server at this address.
    pub fn new(server: &str, options: TokenExchangeOptions) -> Result<Self, HubError> {
        let parse = |text: &str| {
            Url::parse(text).map_err(|_| denied("The token endpoint of a token exchange is not a URL."))
        };
        let endpoint = parse(&options.token_endpoint)?;
        let web = Arc::new(Web::new(parse(server)?, [endpoint.clone()]));
        web.check(&endpoint, "token endpoint")?;
        Ok(TokenExchange { options, endpoint, web, subject: None, held: tokio::sync::Mutex::default() })
    }

    fn for_subject(&self, token: Secret) -> Self {
        TokenExchange {
            options: self.options.clone(),
            endpoint: self.endpoint.clone(),
            web: self.web.clone(),
            subject: Some(token),
            held: tokio::sync::Mutex::default(),
        }
    }

    async fn ask(&self) -> Result<HeldToken, HubError> {
        let mut fields = match &self.subject {
            Some(subject) => vec![
                ("grant_type", GRANT),
                ("subject_token", subject.expose()),
                ("subject_token_type", ACCESS_TOKEN),
                ("requested_token_type", ACCESS_TOKEN),
            ],
            None => vec![("grant_type", "client_credentials")],
        };
        let scopes = self.options.scopes.join(" ");
        let optional =
            [("audience", self.options.audience.as_deref()), ("resource", self.options.resource.as_deref())];
        fields.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
        if !scopes.is_empty() {
            fields.push(("scope", &scopes));
        }
        // A server that takes the secret in one way only has not used up the token.
        match self.send(&fields, true).await {
            Err((_, true)) if self.options.client_secret.is_some() => {
                self.send(&fields, false).await.map_err(|(error, _)| error)
            }
            sent => sent.map_err(|(error, _)| error),
        }
    }

    /// The error, and whether the client was refused.
    async fn send(&self, fields: &[(&str, &str)], in_header: bool) -> Result<HeldToken, (HubError, bool)> {
        let id = self.options.client_id.as_str();
        let secret = self.options.client_secret.as_ref();
        let mut fields = fields.to_vec();
        let header = match secret {
            Some(secret) if in_header => Some(basic(id, secret.expose())),
            Some(secret) => {
                fields.extend([("client_id", id), ("client_secret", secret.expose())]);
                None
            }
            None => {
                fields.push(("client_id", id));
                None
            }
        };
        let answer = self.web.post_form(&self.endpoint, form(fields), header.as_deref()).await;
        let answer = answer.map_err(|error| (error, false))?;
        let body: Value = answer.json().unwrap_or_default();
        if (200..300).contains(&answer.status) {
            return self.accept(&body).map_err(|error| (error, false));
        }
        let text = |name: &str| body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let secrets: Vec<&str> =
            [self.subject.as_ref(), secret].into_iter().flatten().map(Secret::expose).collect();
        let mut why = format!("HTTP {}", answer.status);
        for part in [text("error"), text("error_description")].into_iter().flatten() {
            why = format!("{why}: {}", quote(part, &secrets));
        }
        let is_client = text("error") == Some("invalid_client") || answer.status == 401;
        let text =
            format!("The token endpoint '{}' refused to exchange the caller's token ({why}).", self.shown());
        Err((denied(text), is_client))
    }

    fn accept(&self, body: &Value) -> Result<HeldToken, HubError> {
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let issued = text("access_token").ok_or_else(|| {
            denied(format!("The token endpoint '{}' answered without a token.", self.shown()))
        })?;
        if !text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
            let text =
                format!("The token endpoint '{}' issued a token that is not a bearer token.", self.shown());
            return Err(denied(text));
        }
        // An authorization server that hands the token back has exchanged nothing.
        if self.subject.as_ref().is_some_and(|subject| subject.expose() == issued) {
            let text = format!(
                "The token endpoint '{}' answered with the caller's own token; caller tokens are never sent upstream.",
                self.shown()
            );
            return Err(denied(text));
        }
        let life = body.get("expires_in").and_then(seconds).unwrap_or(UNSAID_LIFE);
        let renew_at = now().saturating_add(life - AHEAD.min(life / 4));
        Ok(HeldToken { header: Secret::new(bearer_header(issued)?), renew_at })
    }

    fn shown(&self) -> String {
        quote(&self.endpoint.origin().ascii_serialization(), &[])
    }
}

impl Credentials for TokenExchange {
    fn authorization<'a>(&'a self) -> BoxFuture<'a, Result<Option<String>, HubError>> {
        Box::pin(async move {
            let mut held = self.held.lock().await;
            if let Some(token) = held.as_ref().filter(|token| now() < token.renew_at) {
                return Ok(token.header());
            }
            let token = match self.ask().await {
                // Many servers list their tools to everyone.
                Err(_) if self.subject.is_none() => {
                    HeldToken { header: Secret::default(), renew_at: now().saturating_add(REFUSED_FOR) }
                }
                asked => asked?,
            };
            Ok(held.insert(token).header())
        })
    }

    fn differ_by_caller(&self) -> bool {
        true
    }

    fn of_caller(&self, principal: &Arc<Principal>) -> Result<Option<Arc<dyn Credentials>>, HubError> {
        let subject = principal.subject_token.clone().ok_or_else(|| {
            let text = format!(
                "'{}' came without a token, so there is none to exchange for the server.",
                clip(&principal.id)
            );
            denied(text)
        })?;
        Ok(Some(Arc::new(self.for_subject(subject))))
    }

    fn are_of_one_token(&self) -> bool {
        true
    }

    /// The upstream server refused the token: another one is asked for, unless that has happened meanwhile.
    fn refused<'a>(
        &'a self,
        sent: &'a str,
        status: u16,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, HubError>> {
        Box::pin(async move {
            if status != 401 || sent.is_empty() {
                return Ok(false);
            }
            let mut held = self.held.lock().await;
            if held.as_ref().is_some_and(|token| token.header.expose() != sent) {
                return Ok(true);
            }
            *held = None;
            let token = self.ask().await?;
            let is_other = token.header.expose() != sent;
            *held = Some(token);
            Ok(is_other)
        })
    }
}
