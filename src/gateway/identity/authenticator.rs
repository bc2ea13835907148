//! Finds out who calls, before anything of a request is looked at: a static token, a JWT, or the user's function.
//!
//! Credentials are read from the header `Authorization: Bearer` only. A token in the URL is never read: URLs end up in logs.

use super::jwt::{JwtOptions, JwtVerifier, expiry};
use crate::operate::seconds;
use crate::session::random;
use base64::prelude::*;
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use ring::hmac;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};
use tokio::time::timeout;
use toolhub_text::canonical::canonical;
use toolhub_text::secret::Secret;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Result, clip};
use toolhub_types::principal::{Principal, UpstreamTokens};
use toolhub_types::sync::Arc;
use toolhub_types::tool::BoxFuture;

/// How long the function of the user may take unless the options say otherwise.
const FUNCTION_TIMEOUT: Duration = Duration::from_secs(10);

/// How the ids of principals that the user's function has named begin.
const NAMED_BY_FUNCTION: &str = "user:";

/// A token that the configuration names.
#[derive(Clone, Debug, Deserialize)]
pub struct StaticToken {
    /// What the principal is called in the audit log. Two tokens may name the same one.
    pub name: String,
    pub token: Secret,
    /// The view of its callers; the only one that they may use.
    pub view: Option<Arc<str>>,
    /// What upstream servers get in the name of its callers.
    #[serde(rename = "upstream_token")]
    pub upstream_tokens: UpstreamTokens,
}

/// A function of the user that names the caller, by the headers of a request and its bearer token if there is one; `None` refuses
/// the request. `Err` means that it cannot be asked now.
pub type PrincipalFunction =
    dyn Fn(&HeaderMap, Option<&str>) -> BoxFuture<'static, Result<Option<Principal>>> + Send + Sync;

/// What callers have to show. All ways that are configured are tried, in this order; without any, everyone is the anonymous
/// principal.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct AuthenticationOptions {
    pub tokens: Vec<StaticToken>,
    pub jwt: Option<JwtOptions>,
    #[serde(skip)]
    pub function: Option<Arc<PrincipalFunction>>,
    /// How long the function may take, if not [`FUNCTION_TIMEOUT`].
    #[serde(rename = "authenticate_timeout", deserialize_with = "limit")]
    pub function_timeout: Option<Duration>,
    /// Where clients find the metadata of this resource (RFC 9728), if the gateway is not to serve it itself.
    pub resource_metadata: Option<String>,
    /// The token of the operator for the metrics of all callers. It is the token of no caller.
    pub metrics_token: Option<Secret>,
}

fn limit<'de, D: Deserializer<'de>>(given: D) -> Result<Option<Duration>, D::Error> {
    seconds(given).map(Some)
}

/// Why a request is refused before it is read.
#[derive(Clone, Debug, PartialEq)]
pub enum AuthenticationRefusal {
    /// 401, without credentials.
    Missing,
    /// 401, with ones that do not hold. The description goes to the client, so it says nothing that helps to forge some.
    Invalid(&'static str),
    /// 403: the token lacks these scopes.
    Scopes(String),
    /// 503: the credentials cannot be checked now.
    Unavailable,
}

impl AuthenticationRefusal {
    pub fn status(&self) -> StatusCode {
        match self {
            AuthenticationRefusal::Missing | AuthenticationRefusal::Invalid(_) => StatusCode::UNAUTHORIZED,
            AuthenticationRefusal::Scopes(_) => StatusCode::FORBIDDEN,
            AuthenticationRefusal::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The sentence of the answer's body.
    pub fn message(&self) -> String {
        match self {
            AuthenticationRefusal::Missing => "This server needs a bearer token.".to_owned(),
            AuthenticationRefusal::Invalid(why) => format!("The bearer token is refused: {why}."),
            AuthenticationRefusal::Scopes(scopes) => format!("The bearer token needs the scopes '{scopes}'."),
            AuthenticationRefusal::Unavailable => {
                "Credentials cannot be checked now; try again later.".to_owned()
            }
        }
    }
}

#[derive(Clone)]
struct KnownToken {
    tag: hmac::Tag,
    principal: Arc<Principal>,
}

/// Turns the headers of a request into its principal.
#[derive(Clone)]
pub struct Authenticator {
    /// Random for each process: tokens are compared by their tags, in constant time.
    key: hmac::Key,
    tokens: Vec<KnownToken>,
    jwt: Option<Arc<JwtVerifier>>,
    function: Option<Arc<PrincipalFunction>>,
    function_timeout: Duration,
    resource_metadata: Option<String>,
    metrics: Option<hmac::Tag>,
    anonymous: Arc<Principal>,
}

impl Authenticator {
    pub fn new(options: AuthenticationOptions) -> Result<Self> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &random::<32>()?);
        let known = |one: &StaticToken| {
            if !is_bearer(one.token.expose()) {
                return invalid(message!(
                    "The token of '{}' is empty or contains characters that are not allowed in a header.",
                    clip(&one.name)
                ));
            }
            if one.upstream_tokens.iter().any(|upstream| *upstream == one.token) {
                return invalid(message!(
                    "The upstream token of '{}' is its own token; caller tokens are never sent upstream.",
                    clip(&one.name)
                ));
            }
            let principal = Principal {
                id: format!("token:{}", one.name).into(),
                rights: rights(&key, Some(one.token.expose()), &Map::new(), &one.upstream_tokens),
                name: one.name.as_str().into(),
                view: one.view.clone(),
                upstream_tokens: one.upstream_tokens.clone(),
                subject_token: Some(one.token.clone()),
                ..Principal::default()
            };
            let tag = hmac::sign(&key, one.token.expose().as_bytes());
            Ok(KnownToken { tag, principal: Arc::new(principal) })
        };
        let tokens = options.tokens.iter().map(known).collect::<Result<_, _>>()?;
        // Who calls with it could not be told.
        for (at, one) in options.tokens.iter().enumerate() {
            if let Some(other) = options.tokens[..at].iter().find(|other| other.token == one.token) {
                let (first, second) = (clip(&other.name), clip(&one.name));
                let text = message!("'{}' and '{}' have the same token; give each its own.", first, second);
                return invalid(text);
            }
        }
        let metrics = options.metrics_token.as_ref().map(|token| {
            if !is_bearer(token.expose()) {
                return invalid(
                    "The metrics token is empty or contains characters that are not allowed in a header.",
                );
            }
            if options.tokens.iter().any(|one| one.token == *token) {
                return invalid("The metrics token is also a caller's token; use a separate one.");
            }
            Ok(hmac::sign(&key, token.expose().as_bytes()))
        });
        Ok(Authenticator {
            metrics: metrics.transpose()?,
            tokens,
            key,
            jwt: options.jwt.map(JwtVerifier::new).transpose()?.map(Arc::new),
            function: options.function,
            function_timeout: options.function_timeout.unwrap_or(FUNCTION_TIMEOUT),
            resource_metadata: options.resource_metadata,
            anonymous: Arc::new(Principal::anonymous()),
        })
    }

    /// Whether callers have to show credentials.
    pub fn is_closed(&self) -> bool {
        !self.tokens.is_empty() || self.jwt.is_some() || self.function.is_some()
    }

    /// Whether there may be several callers, whose use is not for each other.
    pub fn has_several_callers(&self) -> bool {
        let first = self.tokens.first().map(|one| &one.principal.id);
        let differ = self.tokens.iter().any(|one| Some(&one.principal.id) != first);
        differ || self.jwt.is_some() || self.function.is_some()
    }

    /// Whether the request has the operator's token for metrics; `None` if there is no such token.
    pub fn shows_metrics_token(&self, headers: &HeaderMap) -> Option<bool> {
        let tag = self.metrics.as_ref()?;
        let Ok(Some(token)) = bearer(headers) else { return Some(false) };
        Some(hmac::verify(&self.key, token.as_bytes(), tag.as_ref()).is_ok())
    }

    /// Reads what can be read before the first request, so that mistakes show when the gateway starts.
    pub async fn prepare(&self) -> Result<()> {
        match &self.jwt {
            Some(jwt) => jwt.keys.keys(|_| false).await.map(drop),
            None => Ok(()),
        }
    }

    /// [`prepare`](Self::prepare), in place of another one. If the keys of the issuer cannot be read now and its settings are
    /// the same, those that were read before go on to count.
    pub async fn prepare_after(&mut self, before: &Authenticator) -> Result<()> {
        let prepared = self.prepare().await;
        match (&self.jwt, &before.jwt) {
            (Some(new), Some(old)) if prepared.is_err() && new.options == old.options => {
                self.jwt = Some(old.clone());
                Ok(())
            }
            _ => prepared,
        }
    }

    /// The tokens that are for one view: the name of the principal, and that of the view.
    pub fn token_views(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tokens.iter().filter_map(|one| Some((&*one.principal.name, one.principal.view.as_deref()?)))
    }

    pub async fn authenticate(
        &self,
        headers: &HeaderMap,
        now: SystemTime,
    ) -> Result<Arc<Principal>, AuthenticationRefusal> {
        if !self.is_closed() {
            return Ok(self.anonymous.clone());
        }
        let token = match bearer(headers) {
            // The function may know other schemes.
            Err(OTHER_SCHEME) if self.function.is_some() => None,
            token => token.map_err(AuthenticationRefusal::Invalid)?,
        };
        if let Some(token) = token
            && let Some(principal) = self.known(token)
        {
            return Ok(principal);
        }
        let mut refusal = match token {
            Some(_) => AuthenticationRefusal::Invalid("it is not known"),
            None => AuthenticationRefusal::Missing,
        };
        if let (Some(jwt), Some(token)) = (&self.jwt, token) {
            match jwt.verify(token, now).await {
                Ok(principal) => return Ok(principal),
                Err(why) => refusal = why,
            }
        }
        let Some(function) = &self.function else { return Err(refusal) };
        match timeout(self.function_timeout, function(headers, token)).await {
            Ok(Ok(Some(principal))) => self.named_by_function(principal, token).ok_or(refusal),
            Ok(Ok(None)) => Err(refusal),
            Ok(Err(_)) | Err(_) => Err(AuthenticationRefusal::Unavailable),
        }
    }

    /// Whether the credentials of a caller that was let in still show the same caller, with the same view. What cannot be
    /// found out now stays as it is; so does what the user's function has decided, which is asked for requests only.
    pub async fn still_accepts(&self, principal: &Principal, now: SystemTime) -> bool {
        if !self.is_closed() || principal.is_anonymous() {
            return !self.is_closed() && principal.is_anonymous();
        }
        if principal.id.starts_with(NAMED_BY_FUNCTION) {
            return self.function.is_some();
        }
        let Some(token) = principal.subject_token.as_ref().map(Secret::expose) else { return false };
        let is_same = |now: &Principal| now.id == principal.id && now.view == principal.view;
        match (self.known(token), &self.jwt) {
            (Some(known), _) => is_same(&known),
            (None, Some(jwt)) => match jwt.verify(token, now).await {
                Ok(verified) => is_same(&verified),
                Err(refusal) => refusal == AuthenticationRefusal::Unavailable,
            },
            (None, None) => false,
        }
    }

    /// The principal of a caller that the user's function has named. Without a name it would be the anonymous one, and with the
    /// client's own token as its upstream token that one would leave the gateway: both are refused.
    fn named_by_function(&self, principal: Principal, token: Option<&str>) -> Option<Arc<Principal>> {
        let leaves = principal.upstream_tokens.iter().any(|upstream| Some(upstream.expose()) == token);
        if principal.name.is_empty() || leaves {
            return None;
        }
        let id = format!("{NAMED_BY_FUNCTION}{}", principal.name).into();
        let rights = rights(&self.key, token, &principal.claims, &principal.upstream_tokens);
        Some(Arc::new(Principal { id, rights, subject_token: token.map(Secret::new), ..principal }))
    }

    /// When the credentials of a caller end by themselves.
    pub fn expires(&self, principal: &Principal) -> Option<SystemTime> {
        self.jwt.as_ref()?;
        expiry(principal)
    }

    /// The principal of a static token. All tokens are compared, each in constant time.
    fn known(&self, token: &str) -> Option<Arc<Principal>> {
        let mut found = None;
        for one in &self.tokens {
            if hmac::verify(&self.key, token.as_bytes(), one.tag.as_ref()).is_ok() {
                found = Some(one.principal.clone());
            }
        }
        found
    }

    /// The issuer whose tokens are accepted, unless the operator has the metadata of this resource elsewhere.
    pub fn described_issuer(&self) -> Option<&JwtOptions> {
        self.jwt.as_ref().filter(|_| self.resource_metadata.is_none()).map(|jwt| &jwt.options)
    }

    /// The header `WWW-Authenticate` of a refusal. `metadata` is where this gateway has the metadata of the resource.
    pub fn challenge(&self, refusal: &AuthenticationRefusal, metadata: Option<&str>) -> Option<String> {
        let mut fields: Vec<(&str, &str)> = Vec::new();
        match refusal {
            AuthenticationRefusal::Missing => {}
            AuthenticationRefusal::Invalid(why) => {
                fields.extend([("error", "invalid_token"), ("error_description", why)]);
            }
            AuthenticationRefusal::Scopes(scopes) => {
                fields.extend([("error", "insufficient_scope"), ("scope", scopes)]);
            }
            AuthenticationRefusal::Unavailable => return None,
        }
        if let Some(url) = self.resource_metadata.as_deref().or(metadata) {
            fields.push(("resource_metadata", url));
        }
        let quoted = |(name, value): &(&str, &str)| {
            let value: String =
                value.chars().filter(|c| (' '..='~').contains(c) && !"\"\\".contains(*c)).collect();
            format!("{name}=\"{value}\"")
        };
        let fields: Vec<String> = fields.iter().map(quoted).collect();
        Some(format!("Bearer {}", fields.join(", ")).trim_end().to_owned())
    }
}

/// The options have a mistake.
pub(crate) fn invalid<T>(text: impl Into<Message>) -> Result<T> {
    Err(HubError::new(ErrorKind::InvalidArguments, text))
}

/// What a token of which only its claims here are known may grant: each token may grant something else. Signed with the key of
/// the process, so that nobody can guess the token from it.
fn rights(
    key: &hmac::Key,
    token: Option<&str>,
    claims: &Map<String, Value>,
    upstream: &UpstreamTokens,
) -> Arc<str> {
    let by_server = upstream.by_server.iter().map(|(server, token)| (server, token.expose()));
    let common = upstream.common.as_ref().map(Secret::expose);
    let granted = json!([token, claims, common, by_server.collect::<BTreeMap<_, _>>()]);
    let tag = hmac::sign(key, canonical(&granted).as_bytes());
    BASE64_URL_SAFE_NO_PAD.encode(tag).into()
}

const OTHER_SCHEME: &str = "the Authorization header has no bearer token";

/// The bearer token of a request, or why there is none although there is a header for it. Two headers, or one that is not a bearer
/// token, are refused: what one reader takes for the token must not be something else for another.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, &'static str> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = all.next() else { return Ok(None) };
    if all.next().is_some() {
        return Err("there are several Authorization headers");
    }
    let parts = value.to_str().ok().and_then(|value| value.trim().split_once(' '));
    let token =
        parts.filter(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer") && is_bearer(token.trim()));
    token.map(|(_, token)| Some(token.trim())).ok_or(OTHER_SCHEME)
}

/// Visible ASCII without spaces.
fn is_bearer(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
#[path = "authenticator/tests.rs"]
mod tests;
