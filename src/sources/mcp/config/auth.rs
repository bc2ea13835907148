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
use crate::mcp::auth::{Grant, OAuthSettings, TokenExchangeOptions, bare_token};
use toolhub_text::secret::Secret;
use toolhub_types::error::clip;

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

const MISSING: &str = "is missing.";

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
    let (key, given) = match (auth, oauth) {
        (Some(auth), _) => ("auth", auth),
        (None, Some(oauth)) => ("oauth", oauth),
        (None, None) => return Auth::None,
    };
    match (key, given) {
        (_, Value::Object(_)) => return fields.inner(key).map(from_object).unwrap_or_default(),
        ("oauth", Value::Bool(false)) => {}
        ("oauth", Value::Bool(true)) => return Auth::OAuth(OAuthSettings::default()),
        ("oauth", other) => {
            fields.error(key, format!("must be true, false or an object, not {}.", kind(other)));
        }
        (_, Value::String(text)) if text.eq_ignore_ascii_case("oauth") => {
            return Auth::OAuth(OAuthSettings::default());
        }
        (_, Value::String(text)) => {
            return fields.expand(key, text).map(|token| bearer(fields, key, &token)).unwrap_or_default();
        }
        (_, other) => fields.error(key, format!("must be a string or an object, not {}.", kind(other))),
    }
    Auth::None
}

fn bearer(fields: &mut Fields<'_, '_>, key: &str, token: &str) -> Auth {
    match bare_token(token) {
        Some(token) => return Auth::Bearer(Secret::new(token)),
        None if token.trim().is_empty() => {
            fields.error(key, "must not be empty; leave it out if there is no token.");
        }
        None => fields.error(key, "must be a token of printable ASCII without spaces."),
    }
    Auth::None
}

fn from_object(mut fields: Fields<'_, '_>) -> Auth {
    if let Some(Value::Object(_)) = fields.value("token_exchange") {
        let exchanged = fields.inner("token_exchange").map(token_exchange).unwrap_or_default();
        fields.finish();
        return exchanged;
    }
    let kind = kind_of(&mut fields);
    if kind == AuthKind::TokenExchange {
        return token_exchange(fields);
    }
    let off = fields.flag("enabled") == Some(false);
    let token = any_text(&mut fields, &["token"]);
    let settings = OAuthSettings {
        grant: Grant::default(),
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
        (AuthKind::Bearer, None) => {
            fields.error("token", MISSING);
            Auth::None
        }
        (AuthKind::OAuth(grant), _) => {
            let settings = OAuthSettings { grant, ..settings };
            if let Some((key, why)) = settings.problem().filter(|_| !off) {
                fields.error(key, why);
            }
            Auth::OAuth(settings)
        }
    };
    fields.finish();
    if off { Auth::None } else { auth }
}

fn token_exchange(mut fields: Fields<'_, '_>) -> Auth {
    let options = TokenExchangeOptions {
        token_endpoint: any_url(&mut fields, &["token_endpoint", "tokenEndpoint", "token_url", "tokenUrl"])
            .unwrap_or_default(),
        client_id: any_text(&mut fields, &["client_id", "clientId"]).unwrap_or_default(),
        client_secret: any_text(&mut fields, &["client_secret", "clientSecret"]).map(Secret::new),
        audience: any_text(&mut fields, &["audience"]),
        resource: any_url(&mut fields, &["resource"]),
        scopes: scopes(&mut fields),
    };
    let needed = [("token_endpoint", &options.token_endpoint), ("client_id", &options.client_id)];
    if let Some((key, _)) = needed.into_iter().find(|(_, given)| given.is_empty()) {
        fields.error(key, MISSING);
    }
    fields.finish();
    Auth::TokenExchange(options)
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
