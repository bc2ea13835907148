//! Requests to a token endpoint.

use super::super::{Secret, denied, quote};
use super::stored::{Client, now};
use super::web::{Web, form};
use reqwest::Url;
use serde_json::Value;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError};

/// A token is renewed this many seconds before it ends, or after ¾ of a short life.
const AHEAD: u64 = 30;
/// The fields of a request that may be shown.
const PUBLIC: [&str; 8] = [
    "grant_type",
    "resource",
    "redirect_uri",
    "client_id",
    "scope",
    "audience",
    "subject_token_type",
    "requested_token_type",
];

/// A client at a token endpoint.
pub(super) struct TokenEndpoint<'a> {
    pub(super) web: &'a Web,
    pub(super) url: &'a Url,
    pub(super) client: &'a Client,
    /// The ways to authenticate that the authorization server offers, if it says so.
    pub(super) auth_methods: Option<&'a [String]>,
}

/// Why a token endpoint gave no token.
pub(super) enum TokenRefusal {
    Unreachable(HubError),
    /// `why` has the status, and what the server says about it.
    Refused {
        status: u16,
        code: String,
        why: String,
    },
}

impl<'a> TokenEndpoint<'a> {
    /// Sends the fields of a grant. Returns the way in which the client authenticated, and the answer.
    ///
    /// A client that the user registered does not know how its secret has to be sent. An authorization server that refuses
    /// one way has not used up the grant, so the next way is tried.
    pub(super) async fn send(&self, fields: &[(&str, &str)]) -> Result<(&'a str, Value), TokenRefusal> {
        let ways = self.client.ways(self.auth_methods);
        let (last, others) = ways.split_last().unwrap_or((&"none", &[]));
        for way in others {
            match self.send_in(way, fields).await {
                Err(TokenRefusal::Refused { status, code, .. }) if refuses_client(status, &code) => {}
                sent => return sent.map(|body| (*way, body)),
            }
        }
        self.send_in(last, fields).await.map(|body| (*last, body))
    }

    async fn send_in(&self, way: &str, fields: &[(&str, &str)]) -> Result<Value, TokenRefusal> {
        let mut fields = fields.to_vec();
        let header = self.client.identify(way, &mut fields);
        let (what, kind) = ("token endpoint", "application/x-www-form-urlencoded");
        let body = form(fields.iter().copied());
        let answer = self.web.post(self.url, what, kind, body, header.as_deref()).await;
        let (status, body) = answer.map_err(TokenRefusal::Unreachable)?;
        let body = body.unwrap_or_default();
        if (200..300).contains(&status) {
            return Ok(body);
        }
        let text = |name: &str| body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        // Some servers repeat the request.
        let hidden = fields.iter().filter(|(name, _)| !PUBLIC.contains(name)).map(|(_, value)| *value);
        let secrets: Vec<&str> = hidden.chain(self.client.secret.as_ref().map(Secret::expose)).collect();
        let mut why = format!("HTTP {status}");
        for part in [text("error"), text("error_description")].into_iter().flatten() {
            why = format!("{why}: {}", quote(part, &secrets));
        }
        let code = text("error").unwrap_or_default().to_owned();
        Err(TokenRefusal::Refused { status, code, why })
    }
}

fn refuses_client(status: u16, code: &str) -> bool {
    cure_of(code) == Cure::NewClient || (status == 401 && code.is_empty())
}

/// When a token with this lifetime is renewed.
pub(super) fn renew_at(lifetime: u64) -> u64 {
    now().saturating_add(lifetime - AHEAD.min(lifetime / 4))
}

/// What a login can do about a missing token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cure {
    /// The grant is no longer valid; a new login may help.
    NewLogin,
    /// The authorization server does not know the client (any more).
    NewClient,
    None,
}

/// Why there is no token.
pub(super) struct Failure {
    pub(super) cure: Cure,
    pub(super) error: HubError,
}

impl From<HubError> for Failure {
    fn from(error: HubError) -> Self {
        Failure { cure: Cure::None, error }
    }
}

impl Failure {
    pub(super) fn of(refusal: TokenRefusal, issuer: &str) -> Self {
        let (status, code, why) = match refusal {
            TokenRefusal::Refused { status, code, why } => (status, code, why),
            TokenRefusal::Unreachable(error) => return error.into(),
        };
        let (issuer, cure) = (quote(issuer, &[]), cure_of(&code));
        let mut error = denied(match code.as_str() {
            _ if cure == Cure::NewClient => message!(
                "The authorization server '{}' refused this client ({}); check client_id and client_secret.",
                issuer,
                why
            ),
            "invalid_scope" => message!(
                "The authorization server '{}' does not grant these scopes ({}); check the scopes in the configuration.",
                issuer,
                why
            ),
            _ => message!("The authorization server '{}' gave no token ({}).", issuer, why),
        });
        error.status = Some(status);
        if status >= 500 || status == 429 {
            // Temporary: the call may be retried.
            error.kind = ErrorKind::Connect;
        }
        Failure { cure, error }
    }
}

fn cure_of(code: &str) -> Cure {
    match code {
        "invalid_grant" => Cure::NewLogin,
        "invalid_client" | "unauthorized_client" => Cure::NewClient,
        _ => Cure::None,
    }
}

/// Some servers send the number as text, or with a fraction.
pub(super) fn seconds(value: &Value) -> Option<u64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    (number.is_finite() && number >= 0.0).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lifetimes_are_read_in_all_their_shapes() {
        for (value, expected) in [
            (json!(3600), Some(3600)),
            (json!("3600"), Some(3600)),
            (json!(1.5), Some(1)),
            (json!(-1), None),
            (json!("soon"), None),
            (json!(null), None),
        ] {
            assert_eq!(seconds(&value), expected, "{value}");
        }
    }
}
