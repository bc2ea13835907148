//! How to prove who we are, in the shapes that clients write.
//!
//! | written | becomes |
//! |---|---|
//! | `"auth": "<token>"`, `{"type": "bearer", "token": …}`, `{"token": …}` | [`Auth::Bearer`] |
//! | `"auth": "oauth"` (FastMCP), `{"type": "oauth", …}`, `{"CLIENT_ID": …}` (Cursor) | [`Auth::OAuth`] |
//! | `"oauth": true`, `{"clientId": …, "callbackPort": …}` (Claude Code, Gemini, VS Code) | [`Auth::OAuth`] |
//! | `{"type": "client_credentials", "client_id": …, "client_secret": …}` under either key | [`Auth::OAuth`] |
//! | `{"token_exchange": {"token_endpoint": …, "client_id": …, …}}`, `{"type": "token_exchange", …}` | [`Auth::TokenExchange`] |
//!
//! A client secret goes to the authorization server that the user names, and to no other: one of `issuer`, `metadata_url` and
//! `token_url` stands beside it. Otherwise the MCP server would say who gets it.
//!
//! Keys are taken in `snake_case`, `camelCase` and (Cursor) capitals; `scopes` is a list or one text with
//! spaces. `"type": "none"` and `"enabled": false` turn it off.

use serde_json::Value;

use super::endpoint::problem_of_url;
use super::fields::{Fields, kind};
use crate::mcp::auth::{Grant, OAuthSettings, TokenExchangeOptions};
use toolhub_text::secret::Secret;
use toolhub_types::error::clip;

const NO_ISSUER: &str = "is missing, so this server could choose who gets the client secret; add the line \"issuer\": \"https://YOUR-AUTHORIZATION-SERVER\" (or \"metadata_url\" or \"token_url\").";

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Auth {
    /// Only the headers of the server.
    #[default]
    None,
    Bearer(Secret),
    /// A function of the program gives the bearer token of each request.
    TokenFunction,
    /// A function of the program gives the headers of each request, by caller.
    HeaderFunction,
    /// With a person and a browser, or without a user (client credentials).
    OAuth(OAuthSettings),
    /// The token of each caller of a served hub is exchanged for one of this server (RFC 8693).
    TokenExchange(TokenExchangeOptions),
}

/// What an object asks for.
#[derive(PartialEq)]
enum AuthKind {
    None,
    Bearer,
    OAuth(Grant),
    TokenExchange,
}

pub(super) fn read(fields: &mut Fields<'_, '_>) -> Auth {
    let (auth, oauth) = (fields.value("auth"), fields.value("oauth"));
    if auth.is_some() && oauth.is_some() {
        fields.error("oauth", "duplicates `auth`; keep one of them.");
    }
    match (auth, oauth) {
        (Some(Value::String(text)), _) => from_text(fields, text),
        (Some(Value::Object(_)), _) => fields.inner("auth").map(from_object).unwrap_or_default(),
        (Some(other), _) => {
            fields.error("auth", format!("must be a string or an object, not {}.", kind(other)));
            Auth::None
        }
        (None, Some(Value::Bool(wanted))) => {
            if *wanted {
                plain_oauth()
            } else {
                Auth::None
            }
        }
        (None, Some(Value::Object(_))) => fields.inner("oauth").map(from_object).unwrap_or_default(),
        (None, Some(other)) => {
            fields.error("oauth", format!("must be true, false or an object, not {}.", kind(other)));
            Auth::None
        }
        (None, None) => Auth::None,
    }
}

fn from_text(fields: &mut Fields<'_, '_>, text: &str) -> Auth {
    if text.eq_ignore_ascii_case("oauth") {
        return plain_oauth();
    }
    fields.expand("auth", text).map(|token| bearer(fields, "auth", &token)).unwrap_or_default()
}

/// The token with or without its `Bearer`, fit for a header.
fn bearer(fields: &mut Fields<'_, '_>, key: &str, token: &str) -> Auth {
    let token = match token.trim().split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => token.trim(),
    };
    if token.is_empty() {
        fields.error(key, "must not be empty; leave it out if there is no token.");
    } else if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        fields.error(key, "must be a token of printable ASCII without spaces.");
    }
    Auth::Bearer(Secret::new(token))
}

fn plain_oauth() -> Auth {
    Auth::OAuth(OAuthSettings::default())
}

fn from_object(mut fields: Fields<'_, '_>) -> Auth {
    if let Some(Value::Object(_)) = fields.value("token_exchange") {
        let exchanged = fields.inner("token_exchange").map(token_exchange).unwrap_or_default();
        fields.finish();
        return exchanged;
    }
    let kind = kind_of(&mut fields);
    if kind == AuthKind::TokenExchange {
        fields.ignore(&["type", "grant_type", "grantType"]);
        return token_exchange(fields);
    }
    let off = fields.flag("enabled") == Some(false);
    let token = any_text(&mut fields, &["token"]);
    let settings = OAuthSettings {
        grant: if let AuthKind::OAuth(grant) = kind { grant } else { Grant::default() },
        client_id: any_text(&mut fields, &["client_id", "clientId", "CLIENT_ID"]),
        client_secret: any_text(&mut fields, &["client_secret", "clientSecret", "CLIENT_SECRET"])
            .map(Secret::new),
        scopes: scopes(&mut fields),
        redirect_port: port(&mut fields),
        redirect_uri: any_url(&mut fields, &["redirect_uri", "redirectUri"]),
        authorization_url: any_url(&mut fields, &["authorization_url", "authorizationUrl"]),
        token_url: any_url(&mut fields, &["token_url", "tokenUrl"]),
        metadata_url: any_url(&mut fields, &["metadata_url", "authServerMetadataUrl"]),
        issuer: any_url(&mut fields, &["issuer"]),
        client_id_metadata_url: any_url(&mut fields, &["client_metadata_url", "clientMetadataUrl"]),
    };
    let auth = match (kind, token) {
        (AuthKind::None | AuthKind::TokenExchange, _) => Auth::None,
        (AuthKind::Bearer, Some(token)) => bearer(&mut fields, "token", &token),
        (AuthKind::Bearer, None) => missing(&mut fields, "token"),
        (AuthKind::OAuth(_), _) => oauth(&mut fields, settings, off),
    };
    fields.finish();
    if off { Auth::None } else { auth }
}

fn oauth(fields: &mut Fields<'_, '_>, settings: OAuthSettings, off: bool) -> Auth {
    let OAuthSettings { client_id, client_secret, token_url, metadata_url, issuer, .. } = &settings;
    // A secret without its client is another mistake, and is sent to nobody.
    let has_secret = client_id.is_some() && client_secret.is_some();
    if !off && has_secret && [token_url, metadata_url, issuer] == [&None; 3] {
        fields.error("issuer", NO_ISSUER);
    }
    match (settings.grant, client_id, client_secret) {
        (Grant::ClientCredentials, None, _) => missing(fields, "client_id"),
        (Grant::ClientCredentials, _, None) => missing(fields, "client_secret"),
        _ => Auth::OAuth(settings),
    }
}

fn token_exchange(mut fields: Fields<'_, '_>) -> Auth {
    let endpoint = any_url(&mut fields, &["token_endpoint", "tokenEndpoint", "token_url", "tokenUrl"]);
    let client_id = any_text(&mut fields, &["client_id", "clientId"]);
    let client_secret = any_text(&mut fields, &["client_secret", "clientSecret"]).map(Secret::new);
    let audience = any_text(&mut fields, &["audience"]);
    let resource = any_url(&mut fields, &["resource"]);
    let scopes = scopes(&mut fields);
    let auth = match (endpoint, client_id) {
        (Some(token_endpoint), Some(client_id)) => Auth::TokenExchange(TokenExchangeOptions {
            token_endpoint,
            client_id,
            client_secret,
            audience,
            resource,
            scopes,
        }),
        (None, _) => missing(&mut fields, "token_endpoint"),
        (_, None) => missing(&mut fields, "client_id"),
    };
    fields.finish();
    auth
}

fn kind_of(fields: &mut Fields<'_, '_>) -> AuthKind {
    let key = fields.first(&["type", "grant_type", "grantType"]);
    let Some((key, given)) = key.and_then(|key| Some((key, fields.text(key)?))) else {
        return if fields.has("token") {
            AuthKind::Bearer
        } else {
            AuthKind::OAuth(Grant::AuthorizationCode)
        };
    };
    let plain: String = given.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).collect();
    match plain.to_ascii_lowercase().as_str() {
        "none" => AuthKind::None,
        "bearer" | "token" => AuthKind::Bearer,
        "clientcredentials" => AuthKind::OAuth(Grant::ClientCredentials),
        "tokenexchange" => AuthKind::TokenExchange,
        "oauth" | "oauth2" | "authorizationcode" => AuthKind::OAuth(Grant::AuthorizationCode),
        _ => {
            let message = format!(
                "must be \"bearer\", \"oauth\", \"client_credentials\", \"token_exchange\" or \"none\", not {:?}.",
                clip(given)
            );
            fields.error(key, message);
            AuthKind::OAuth(Grant::AuthorizationCode)
        }
    }
}

/// A text that must not be missing; one that had the wrong type was reported already.
fn missing(fields: &mut Fields<'_, '_>, key: &str) -> Auth {
    fields.error(key, "is missing.");
    Auth::None
}

fn any_text(fields: &mut Fields<'_, '_>, keys: &[&'static str]) -> Option<String> {
    let key = fields.first(keys)?;
    fields.expanded(key).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn any_url(fields: &mut Fields<'_, '_>, keys: &[&'static str]) -> Option<String> {
    let url = any_text(fields, keys)?;
    if let (Some(problem), Some(key)) = (problem_of_url(&url), fields.first(keys)) {
        fields.error(key, problem);
    }
    Some(url)
}

fn scopes(fields: &mut Fields<'_, '_>) -> Vec<String> {
    let Some(key) = fields.first(&["scopes", "scope"]) else { return Vec::new() };
    if let Some(Value::String(_)) = fields.value(key) {
        let text = fields.expanded(key).unwrap_or_default();
        return text.split([' ', ',']).filter(|scope| !scope.is_empty()).map(str::to_owned).collect();
    }
    fields.expanded_list(key).unwrap_or_default()
}

fn port(fields: &mut Fields<'_, '_>) -> Option<u16> {
    let key = fields.first(&["redirect_port", "redirectPort", "callback_port", "callbackPort"])?;
    fields.whole(key, 1, u64::from(u16::MAX)).and_then(|port| u16::try_from(port).ok())
}
