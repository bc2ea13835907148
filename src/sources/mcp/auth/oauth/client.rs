//! The OAuth client: registered beforehand, described by a document, or registered now; and how it authenticates.

use super::super::{Secret, bearer_header, denied, quote};
use super::config::OAuthSettings;
use super::discovery::{Discovered, Issuer};
use super::store::{Client, now};
use super::web::{Web, form, text, with_reason};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Result};

/// The name that the user sees on the page of the login.
const NAME: &str = "toolhub";

impl Client {
    /// The client that needs no registration now, in the order of the MCP specification.
    pub(super) fn known(settings: &OAuthSettings, found: &Discovered) -> Option<Self> {
        let document =
            settings.client_id_metadata_url.clone().filter(|_| found.issuer.takes_client_documents);
        let (id, secret) = match &settings.client_id {
            Some(id) => (id.clone(), settings.client_secret.clone()),
            None => (document?, None),
        };
        Some(Client { id, secret, ..Client::default() })
    }

    /// Whether the configuration still means the client of a stored token.
    pub(super) fn suits(&self, settings: &OAuthSettings) -> bool {
        match &settings.client_id {
            Some(id) => *id == self.id,
            None => self.redirect.is_some() || settings.client_id_metadata_url.as_ref() == Some(&self.id),
        }
    }

    /// Whether an earlier login has registered it, and its registration still holds.
    pub(super) fn is_registered(&self) -> bool {
        self.redirect.is_some() && self.ends_at.is_none_or(|end| end > now())
    }

    /// Dynamic client registration (RFC 7591).
    pub(super) async fn register(
        web: &Web,
        found: &Discovered,
        redirect: &str,
        scopes: &[String],
    ) -> Result<Self> {
        let issuer = &found.issuer;
        let Some(endpoint) = &issuer.registration_endpoint else {
            return Err(denied(message!(
                "The authorization server '{}' does not register clients by itself; register one there and set client_id.",
                quote(&issuer.id, &[])
            )));
        };
        let mut request = json!({
            "client_name": NAME,
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": preferred(issuer.auth_methods.as_deref()),
            "application_type": "native",
        });
        if !scopes.is_empty() {
            request["scope"] = json!(scopes.join(" "));
        }
        let (what, kind) = ("registration endpoint", "application/json");
        let (status, fields) = web.post(endpoint, what, kind, request.to_string(), None).await?;
        let fields = fields.unwrap_or_default();
        let Some(id) = text(&fields, "client_id").filter(|_| (200..300).contains(&status)) else {
            return Err(denied(message!(
                "The authorization server '{}' refused to register this client (HTTP {}); register one there and set client_id.",
                quote(&issuer.id, &[]),
                with_reason(status.to_string(), &fields, &[])
            )));
        };
        let ends_at = fields.get("client_secret_expires_at").and_then(Value::as_u64);
        Ok(Client {
            id: id.to_owned(),
            secret: text(&fields, "client_secret").map(Secret::new),
            method: text(&fields, "token_endpoint_auth_method").map(str::to_owned),
            redirect: Some(redirect.to_owned()),
            ends_at: ends_at.filter(|end| *end > 0),
        })
    }

    /// The ways to authenticate, the likeliest first. There are several when nothing says which one this client has to use.
    fn ways<'a>(&'a self, offered: Option<&[String]>) -> Vec<&'a str> {
        match (&self.method, &self.secret) {
            (_, None) => vec!["none"],
            (Some(method), _) => vec![method],
            (None, _) => fitting(offered),
        }
    }

    /// Adds our identity to the form of a token request; some ways also need a header.
    ///
    /// The form always names the client, as RFC 6749 (3.2.1) allows: the SDK for Python looks for it nowhere else.
    fn identify<'a>(&'a self, way: &str, fields: &mut Vec<(&'a str, &'a str)>) -> Option<String> {
        fields.push(("client_id", &self.id));
        let secret = self.secret.as_ref().filter(|_| way != "none")?.expose();
        if way == "client_secret_post" {
            fields.push(("client_secret", secret));
            return None;
        }
        Some(format!(
            "Basic {}",
            BASE64_STANDARD.encode(format!("{}:{}", encoded(&self.id), encoded(secret)))
        ))
    }
}

/// The ways for a client to send its secret, from what the authorization server offers.
fn fitting(offered: Option<&[String]>) -> Vec<&'static str> {
    let ways = ["client_secret_basic", "client_secret_post"];
    let Some(offered) = offered else { return ways.to_vec() };
    let is_offered = |way: &&str| offered.iter().any(|other| other == way);
    let known: Vec<&str> = ways.into_iter().filter(is_offered).collect();
    match known.is_empty() {
        true if is_offered(&"none") => vec!["none"],
        true => vec![ways[0]],
        false => known,
    }
}

/// The authentication method to register: a program on a user's machine cannot keep a secret, so none if possible.
fn preferred(offered: Option<&[String]>) -> &'static str {
    let is_offered = |way: &&str| offered.is_some_and(|offered| offered.iter().any(|other| other == way));
    ["none", "client_secret_basic", "client_secret_post"].into_iter().find(is_offered).unwrap_or("none")
}

/// RFC 6749 wants both parts of the Basic header encoded like a form first. A space is written in the way that servers
/// read which decode them like a URL.
fn encoded(value: &str) -> String {
    form([("", value)]).split_off(1).replace('+', "%20")
}

// Requests to a token endpoint.

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

/// A bearer token that can stand in a header, and what came with it.
pub(super) struct IssuedToken<'a> {
    pub(super) token: Secret,
    /// In seconds.
    pub(super) lifetime: Option<u64>,
    pub(super) answer: Value,
    /// The way in which the client authenticated.
    pub(super) way: &'a str,
}

impl Client {
    /// Sends the fields of a grant to the token endpoint of an authorization server.
    ///
    /// A client that the user registered does not know how its secret has to be sent. An authorization server that refuses
    /// one way has not used up the grant, so the next way is tried.
    pub(super) async fn ask_token(
        &self,
        web: &Web,
        issuer: &Issuer,
        fields: &[(&str, &str)],
    ) -> Result<IssuedToken<'_>, Failure> {
        let ways = self.ways(issuer.auth_methods.as_deref());
        let (last, others) = ways.split_last().unwrap_or((&"none", &[]));
        for way in others {
            match self.ask_in(way, web, issuer, fields).await {
                Err(Failure { cure: Cure::NewClient | Cure::NextWay, .. }) => {}
                sent => return sent,
            }
        }
        self.ask_in(last, web, issuer, fields).await
    }

    async fn ask_in<'a>(
        &self,
        way: &'a str,
        web: &Web,
        issuer: &Issuer,
        fields: &[(&str, &str)],
    ) -> Result<IssuedToken<'a>, Failure> {
        let mut fields = fields.to_vec();
        let header = self.identify(way, &mut fields);
        let (what, kind) = ("token endpoint", "application/x-www-form-urlencoded");
        let body = form(fields.iter().copied());
        let (status, answer) = web.post(&issuer.token_endpoint, what, kind, body, header.as_deref()).await?;
        let answer = answer.unwrap_or_default();
        let issuer = quote(&issuer.id, &[]);
        if !(200..300).contains(&status) {
            // Some servers repeat the request.
            let hidden = fields.iter().filter(|(name, _)| !PUBLIC.contains(name)).map(|(_, value)| *value);
            let secrets: Vec<&str> = hidden.chain(self.secret.as_ref().map(Secret::expose)).collect();
            let why = with_reason(format!("HTTP {status}"), &answer, &secrets);
            return Err(Failure::of(status, text(&answer, "error").unwrap_or_default(), &issuer, &why));
        }
        let token = text(&answer, "access_token").ok_or_else(|| {
            denied(message!("The authorization server '{}' answered without a token.", issuer))
        })?;
        bearer_header(token)?;
        if let Some(kind) = text(&answer, "token_type").filter(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            return Err(denied(message!(
                "The authorization server '{}' issued a token of type '{}', but only bearer tokens are supported.",
                issuer,
                quote(kind, &[])
            ))
            .into());
        }
        let (token, lifetime) = (Secret::new(token), answer.get("expires_in").and_then(seconds));
        Ok(IssuedToken { token, lifetime, answer, way })
    }
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
    /// Perhaps it does not know the client when it shows its secret in this way. Nothing else follows from a bare 401, which a
    /// proxy may have sent.
    NextWay,
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
    /// `why` has the status, and what the server says about it.
    fn of(status: u16, code: &str, issuer: &str, why: &str) -> Self {
        let cure = match code {
            "invalid_grant" => Cure::NewLogin,
            "invalid_client" | "unauthorized_client" => Cure::NewClient,
            "" if status == 401 => Cure::NextWay,
            _ => Cure::None,
        };
        let mut error = denied(match code {
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

/// Some servers send the number as text, or with a fraction.
fn seconds(value: &Value) -> Option<u64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    (number.is_finite() && number >= 0.0).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_chosen_from_what_is_offered() {
        let of = |ways: &[&str]| ways.iter().map(|way| (*way).to_owned()).collect::<Vec<_>>();
        assert_eq!(fitting(None), ["client_secret_basic", "client_secret_post"]);
        assert_eq!(fitting(Some(&of(&["client_secret_post"]))), ["client_secret_post"]);
        assert_eq!(fitting(Some(&of(&["none"]))), ["none"]);
        assert_eq!(fitting(Some(&of(&["tls_client_auth"]))), ["client_secret_basic"]);
        assert_eq!(preferred(None), "none");
        assert_eq!(
            preferred(Some(&of(&["client_secret_post", "client_secret_basic"]))),
            "client_secret_basic"
        );
    }

    #[test]
    fn parts_of_the_basic_header_are_encoded() {
        assert_eq!(encoded("a:b c%"), "a%3Ab%20c%25");
    }
}

#[cfg(test)]
mod token_tests {
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
