//! Requests to a token endpoint.

use super::super::{Secret, bearer_header, denied, quote};
use super::discovery::Discovered;
use super::stored::{Client, StoredToken, now};
use super::web::{Web, form};
use reqwest::Url;
use serde_json::Value;
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
        let answer = answer.map_err(TokenRefusal::Unreachable)?;
        let body: Value = answer.json().unwrap_or_default();
        if (200..300).contains(&answer.status) {
            return Ok(body);
        }
        let text = |name: &str| body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        // Some servers repeat the request.
        let hidden = fields.iter().filter(|(name, _)| !PUBLIC.contains(name)).map(|(_, value)| *value);
        let secrets: Vec<&str> = hidden.chain(self.client.secret.as_ref().map(Secret::expose)).collect();
        let mut why = format!("HTTP {}", answer.status);
        for part in [text("error"), text("error_description")].into_iter().flatten() {
            why = format!("{why}: {}", quote(part, &secrets));
        }
        let code = text("error").unwrap_or_default().to_owned();
        Err(TokenRefusal::Refused { status: answer.status, code, why })
    }
}

fn refuses_client(status: u16, code: &str) -> bool {
    matches!(code, "invalid_client" | "unauthorized_client") || (status == 401 && code.is_empty())
}

/// When a token with this lifetime is renewed.
pub(super) fn renew_at(lifetime: u64) -> u64 {
    now().saturating_add(lifetime - AHEAD.min(lifetime / 4))
}

/// Why there is no token.
pub(super) enum Failure {
    /// The grant is no longer valid; a new login may help.
    GrantEnded(HubError),
    /// The authorization server does not know the client (any more).
    UnknownClient(HubError),
    Other(HubError),
}

impl Failure {
    pub(super) fn error(self) -> HubError {
        match self {
            Failure::GrantEnded(error) | Failure::UnknownClient(error) | Failure::Other(error) => error,
        }
    }
}

/// A request for a token of a login.
pub(super) struct TokenRequest<'a> {
    pub(super) server: &'a str,
    pub(super) web: &'a Web,
    pub(super) found: &'a Discovered,
    pub(super) client: &'a Client,
    pub(super) scopes: &'a [String],
}

impl TokenRequest<'_> {
    /// Sends the fields of a grant. `refresh` is the refresh token that stays when the answer brings no new one.
    pub(super) async fn send(
        &self,
        fields: &[(&str, &str)],
        refresh: Option<&Secret>,
    ) -> Result<StoredToken, Failure> {
        let issuer = &self.found.issuer;
        let (web, client, auth_methods) = (self.web, self.client, issuer.auth_methods.as_deref());
        let endpoint = TokenEndpoint { web, url: &issuer.token_endpoint, client, auth_methods };
        let fields = [fields, &[("resource", &self.found.resource)]].concat();
        let (way, body) = endpoint.send(&fields).await.map_err(|refusal| self.failure(refusal))?;
        self.accept(way, &body, refresh).map_err(Failure::Other)
    }

    fn accept(&self, way: &str, body: &Value, refresh: Option<&Secret>) -> Result<StoredToken, HubError> {
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let issuer = quote(&self.found.issuer.id, &[]);
        let token = text("access_token").ok_or_else(|| {
            denied(format!("The authorization server '{issuer}' answered without a token."))
        })?;
        bearer_header(token)?;
        if let Some(kind) = text("token_type").filter(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            return Err(denied(format!(
                "The authorization server '{issuer}' issued a token of type '{}', but only bearer tokens are supported.",
                quote(kind, &[])
            )));
        }
        let lifetime = body.get("expires_in").and_then(seconds);
        Ok(StoredToken {
            server: self.server.to_owned(),
            issuer: self.found.issuer.id.clone(),
            resource: self.found.resource.clone(),
            client: Client { method: Some(way.to_owned()), ..self.client.clone() },
            access_token: Secret::new(token),
            refresh_token: text("refresh_token").map(Secret::new).or_else(|| refresh.cloned()),
            // Without a `scope`, the requested scopes were granted.
            scopes: match text("scope") {
                Some(granted) => granted.split_whitespace().map(str::to_owned).collect(),
                None => self.scopes.to_vec(),
            },
            asked_scopes: self.scopes.to_vec(),
            renew_at: lifetime.map(renew_at),
            expires_at: lifetime.map(|lifetime| now().saturating_add(lifetime)),
        })
    }

    fn failure(&self, refusal: TokenRefusal) -> Failure {
        let (status, code, why) = match refusal {
            TokenRefusal::Refused { status, code, why } => (status, code, why),
            TokenRefusal::Unreachable(error) => return Failure::Other(error),
        };
        let (code, issuer) = (code.as_str(), quote(&self.found.issuer.id, &[]));
        let mut error = denied(match code {
            "invalid_client" | "unauthorized_client" => {
                format!(
                    "The authorization server '{issuer}' refused this client ({why}); check client_id and client_secret."
                )
            }
            "invalid_scope" => {
                format!(
                    "The authorization server '{issuer}' does not grant these scopes ({why}); check the scopes in the configuration."
                )
            }
            _ => format!("The authorization server '{issuer}' gave no token ({why})."),
        });
        error.status = Some(status);
        if status >= 500 || status == 429 {
            // Temporary: the call may be retried.
            error.kind = ErrorKind::Connect;
        }
        match code {
            "invalid_grant" => Failure::GrantEnded(error),
            "invalid_client" | "unauthorized_client" => Failure::UnknownClient(error),
            _ => Failure::Other(error),
        }
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
