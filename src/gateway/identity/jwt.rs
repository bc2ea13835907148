//! Bearer tokens that are signed statements: JWT (RFC 7519, RFC 8725).
//!
//! A token is accepted if a key of the issuer has signed it with an allowed asymmetric algorithm, and it names the issuer, this
//! gateway as its audience, a subject, and a time in which it holds. Everything else is refused; `alg: none` and HMAC are not
//! even read.

use super::authenticator::AuthenticationRefusal;
use super::invalid;
use super::jwks::{Jwks, JwtAlgorithm};
use base64::prelude::*;
use ring::digest::{SHA256, digest};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use toolhub_text::canonical::json_digest;
use toolhub_text::secret::Secret;
use toolhub_types::error::Result;
use toolhub_types::principal::{Principal, UpstreamTokens};
use toolhub_types::sync::{Arc, Mutex};

/// How the ids of principals with a signed token begin.
const ID_PREFIX: &str = "jwt:";
/// Clocks differ a little.
const LEEWAY: f64 = 30.0;
const LONGEST_TOKEN: usize = 16 * 1024;
/// Tokens that were verified are remembered, so that a signature is checked once and not for each request.
const REMEMBERED: usize = 1024;
/// A remembered token is verified again after this time, so that a key that was taken back stops to count.
const REMEMBERED_FOR: u64 = 60;

/// Claims that are new in each token, and grant nothing (RFC 7519).
const OF_ONE_TOKEN: [&str; 4] = ["exp", "nbf", "iat", "jti"];

/// Which tokens are accepted.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct JwtOptions {
    /// An address, the set itself, or the path of a file.
    #[serde(rename = "jwks")]
    pub keys: String,
    /// The `iss` of its tokens.
    pub issuer: String,
    /// One of these must be in the `aud` of a token.
    pub audience: Vec<String>,
    #[serde(deserialize_with = "named_or_all")]
    pub algorithms: Vec<JwtAlgorithm>,
    /// The scopes that a token must have.
    pub scopes: Vec<String>,
    /// The claim that names the caller, `sub` for most issuers.
    pub principal_claim: String,
    /// The claim that names the view of the caller.
    pub view_claim: Option<String>,
}

fn named_or_all<'de, D: Deserializer<'de>>(given: D) -> Result<Vec<JwtAlgorithm>, D::Error> {
    let Some(names) = Option::<Vec<String>>::deserialize(given)? else { return Ok(JwtAlgorithm::all()) };
    let algorithm = |name: &String| {
        JwtAlgorithm::parse(name).ok_or_else(|| {
            let known = JwtAlgorithm::NAMES.join(", ");
            D::Error::custom(format!("each of jwt['algorithms'] must be one of {known}, got '{name}'"))
        })
    };
    names.iter().map(algorithm).collect()
}

const MALFORMED: AuthenticationRefusal = AuthenticationRefusal::Invalid("the token is malformed");

/// The principal of a token, and the second until which it is remembered.
type VerifiedToken = (Arc<Principal>, u64);

pub(super) struct JwtVerifier {
    pub options: JwtOptions,
    pub keys: Arc<Jwks>,
    /// By the digest of the token.
    remembered: Mutex<HashMap<[u8; 32], VerifiedToken>>,
}

impl JwtVerifier {
    pub(super) fn new(options: JwtOptions) -> Result<Self> {
        if options.issuer.is_empty() || options.audience.iter().all(String::is_empty) {
            return invalid(
                "Tokens of an issuer need 'issuer' and 'audience', so that no token for another service is accepted.",
            );
        }
        if options.algorithms.is_empty() {
            return invalid("The list of token algorithms is empty.");
        }
        let keys = Arc::new(Jwks::new(options.keys.clone()));
        Ok(JwtVerifier { options, keys, remembered: Mutex::default() })
    }

    pub(super) async fn verify(
        &self,
        token: &str,
        now: SystemTime,
    ) -> Result<Arc<Principal>, AuthenticationRefusal> {
        let seconds = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let mut mark = [0; 32];
        mark.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        if let Some((principal, until)) = self.remembered.lock().get(&mark)
            && seconds.as_secs() < *until
        {
            return Ok(principal.clone());
        }
        let claims = self.signed_claims(token).await?;
        let expires = self.check(&claims, seconds.as_secs_f64())?;
        let principal = Arc::new(self.principal(token, claims)?);
        let now = seconds.as_secs();
        let until = (expires as u64).min(now.saturating_add(REMEMBERED_FOR));
        let mut remembered = self.remembered.lock();
        if remembered.len() >= REMEMBERED {
            remembered.retain(|_, (_, until)| *until > now);
        }
        if remembered.len() < REMEMBERED {
            remembered.insert(mark, (principal.clone(), until));
        }
        Ok(principal)
    }

    /// The claims of a token whose signature holds.
    async fn signed_claims(&self, token: &str) -> Result<Map<String, Value>, AuthenticationRefusal> {
        if token.len() > LONGEST_TOKEN {
            return Err(MALFORMED);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(MALFORMED)?;
        let (header, payload) = signed.split_once('.').ok_or(MALFORMED)?;
        let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| MALFORMED);
        let (algorithm, id) = self.header(&decode(header)?)?;
        let (payload, signature) = (decode(payload)?, decode(signature)?);
        let keys = self.keys.keys(|keys| keys.fitting(id.as_deref(), algorithm).is_none()).await;
        // Not the fault of the client.
        let keys = keys.map_err(|_| AuthenticationRefusal::Unavailable)?;
        // A forged signature and an unknown key answer alike.
        let key = keys.fitting(id.as_deref(), algorithm);
        if !key.is_some_and(|key| key.verifies(algorithm, signed.as_bytes(), &signature)) {
            return Err(AuthenticationRefusal::Invalid("the signature does not hold"));
        }
        serde_json::from_slice(&payload).map_err(|_| MALFORMED)
    }

    /// The algorithm, and the id of the key if the token has one.
    fn header(&self, text: &[u8]) -> Result<(JwtAlgorithm, Option<String>), AuthenticationRefusal> {
        const REFUSED: AuthenticationRefusal =
            AuthenticationRefusal::Invalid("the token is not signed with an accepted algorithm");
        let header: Map<String, Value> = serde_json::from_slice(text).map_err(|_| MALFORMED)?;
        // Extensions that must be understood, and are not.
        if header.contains_key("crit") {
            return Err(REFUSED);
        }
        let algorithm = header.get("alg").and_then(Value::as_str).and_then(JwtAlgorithm::parse);
        let algorithm = algorithm.filter(|one| self.options.algorithms.contains(one)).ok_or(REFUSED)?;
        match header.get("kid") {
            None => Ok((algorithm, None)),
            Some(Value::String(id)) => Ok((algorithm, Some(id.clone()))),
            Some(_) => Err(MALFORMED),
        }
    }

    /// Whether the claims hold here and now; returns the time at which they end.
    fn check(&self, claims: &Map<String, Value>, now: f64) -> Result<f64, AuthenticationRefusal> {
        let refused = |why| Err(AuthenticationRefusal::Invalid(why));
        if claims.get("iss").and_then(Value::as_str) != Some(&self.options.issuer) {
            return refused("the token is of another issuer");
        }
        let is_ours = |audience: &Value| {
            audience.as_str().is_some_and(|one| self.options.audience.iter().any(|ours| ours == one))
        };
        let for_us = match claims.get("aud") {
            Some(Value::Array(all)) => all.iter().any(is_ours),
            Some(one) => is_ours(one),
            None => false,
        };
        if !for_us {
            return refused("the token is for another audience");
        }
        // A time of the wrong type is refused, never ignored.
        let Some(expires) = claims.get("exp").and_then(Value::as_f64) else {
            return refused("the token has no expiry time");
        };
        if now >= expires + LEEWAY {
            return refused("the token has expired");
        }
        match claims.get("nbf").map(Value::as_f64) {
            None => {}
            Some(Some(begins)) if now + LEEWAY >= begins => {}
            Some(_) => return refused("the token does not hold yet"),
        }
        self.check_scopes(claims)?;
        Ok(expires)
    }

    fn check_scopes(&self, claims: &Map<String, Value>) -> Result<(), AuthenticationRefusal> {
        let texts = |name: &str| -> Vec<String> {
            match claims.get(name) {
                Some(Value::String(text)) => text.split_whitespace().map(str::to_owned).collect(),
                Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                _ => Vec::new(),
            }
        };
        let (scope, scp) = (texts("scope"), texts("scp"));
        let missing = |wanted: &&String| !scope.contains(wanted) && !scp.contains(wanted);
        if self.options.scopes.iter().any(|wanted| missing(&wanted)) {
            return Err(AuthenticationRefusal::Scopes(self.options.scopes.join(" ")));
        }
        Ok(())
    }

    fn principal(&self, token: &str, claims: Map<String, Value>) -> Result<Principal, AuthenticationRefusal> {
        let subject = claims.get(&self.options.principal_claim).and_then(Value::as_str);
        let subject = subject.filter(|subject| !subject.is_empty());
        let subject = subject.ok_or(AuthenticationRefusal::Invalid("the token names no subject"))?;
        let (id, name) = (format!("{ID_PREFIX}{subject}").into(), subject.into());
        let view = match &self.options.view_claim {
            None => None,
            // A token without the claim must not see more than one with it.
            Some(claim) => match claims.get(claim).and_then(Value::as_str) {
                Some(view) => Some(view.into()),
                None => return Err(AuthenticationRefusal::Invalid("the token names no view")),
            },
        };
        let (rights, subject_token) = (rights(&claims), Some(Secret::new(token)));
        let upstream_tokens = UpstreamTokens::default();
        Ok(Principal { id, rights, name, claims, view, upstream_tokens, subject_token })
    }
}

/// When the token of a principal is refused for its age.
pub(super) fn expiry(principal: &Principal) -> Option<SystemTime> {
    let expires = principal.id.starts_with(ID_PREFIX).then(|| principal.claims.get("exp")?.as_f64())??;
    let since = Duration::try_from_secs_f64(expires + LEEWAY).ok()?;
    UNIX_EPOCH.checked_add(since)
}

/// The claims tell what a token grants. A renewed one with the same claims grants the same.
fn rights(claims: &Map<String, Value>) -> Arc<str> {
    let mut lasting = claims.clone();
    lasting.retain(|name, _| !OF_ONE_TOKEN.contains(&name.as_str()));
    json_digest(&Value::Object(lasting)).into()
}

#[cfg(test)]
#[path = "jwt/tests.rs"]
mod tests;
