//! One request to a token endpoint.

use super::super::quote::quote;
use super::super::{Secret, bearer_header, denied};
use super::clock::now;
use super::config::OAuthConfig;
use super::discovery::Discovered;
use super::random::form;
use super::stored::{Client, StoredToken};
use super::web::Web;
use serde_json::Value;
use toolhub_types::error::{ErrorKind, HubError};

/// A token is renewed this many seconds before it ends, or after ¾ of a short life.
const AHEAD: u64 = 30;

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

/// A request to the token endpoint.
pub(super) struct TokenRequest<'a> {
    pub(super) config: &'a OAuthConfig,
    pub(super) found: &'a Discovered,
    pub(super) client: &'a Client,
    pub(super) scopes: &'a [String],
}

impl TokenRequest<'_> {
    /// Sends the fields of a grant. `refresh` is the refresh token that stays when the answer brings no new one.
    ///
    /// A client that the user registered does not know how its secret has to be sent. An authorization server that refuses
    /// one way has not used up the grant, so the next way is tried.
    pub(super) async fn send(
        &self,
        web: &Web,
        fields: Vec<(&'static str, String)>,
        refresh: Option<&Secret>,
    ) -> Result<StoredToken, Failure> {
        let ways = self.client.ways(self.config, self.found);
        let (last, others) = ways.split_last().unwrap_or((&"none", &[]));
        for way in others {
            match self.send_in(way, web, fields.clone(), refresh).await {
                Err(Failure::UnknownClient(_)) => {}
                sent => return sent,
            }
        }
        self.send_in(last, web, fields, refresh).await
    }

    async fn send_in(
        &self,
        way: &str,
        web: &Web,
        mut fields: Vec<(&'static str, String)>,
        refresh: Option<&Secret>,
    ) -> Result<StoredToken, Failure> {
        fields.push(("resource", self.found.resource.clone()));
        let identified = self.client.identify(way, self.config, self.found, &mut fields);
        let header = identified.map_err(Failure::Other)?;
        let body = form(fields.iter().map(|(name, value)| (*name, value.as_str())));
        let answer = web.post_form(&self.found.issuer.token_endpoint, body, header.as_deref()).await;
        let answer = answer.map_err(Failure::Other)?;
        let body: Value = answer.json().unwrap_or_default();
        match answer.status {
            200..300 => self.accept(way, &body, refresh).map_err(Failure::Other),
            status => Err(self.failure(status, &body, &fields)),
        }
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
            server: self.config.server_url.clone(),
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
            renew_at: lifetime.map(|lifetime| now().saturating_add(lifetime - AHEAD.min(lifetime / 4))),
            expires_at: lifetime.map(|lifetime| now().saturating_add(lifetime)),
        })
    }

    fn failure(&self, status: u16, body: &Value, fields: &[(&'static str, String)]) -> Failure {
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let code = text("error").unwrap_or_default();
        // Some servers repeat the request; only the names of its fields may be shown.
        let public =
            ["grant_type", "resource", "redirect_uri", "client_id", "scope", "client_assertion_type"];
        let mut secrets: Vec<&str> = fields
            .iter()
            .filter(|(name, _)| !public.contains(name))
            .map(|(_, value)| value.as_str())
            .collect();
        secrets.extend(self.client.secret.as_ref().map(Secret::expose));
        let issuer = quote(&self.found.issuer.id, &[]);
        let mut why = format!("HTTP {status}");
        for part in
            [Some(code).filter(|code| !code.is_empty()), text("error_description")].into_iter().flatten()
        {
            why = format!("{why}: {}", quote(part, &secrets));
        }
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
