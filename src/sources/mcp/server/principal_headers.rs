//! `{principal.…}` in the headers of a server: what they are for the caller of a gateway.
//!
//! | written | stands for |
//! |---|---|
//! | `{principal.token}` | the token that the operator has assigned to the caller for this server, never the one it came with |
//! | `{principal.name}`, `{principal.id}` | the name of the caller; the same with how it was shown, as in the audit log |
//! | `{principal.claims.email}` | a claim that is a text, a number or a boolean |
//! | `{principal.token:-text}` | the text where there is no caller: for lists of tools, and calls outside a gateway |
//!
//! A caller that lacks the value is refused. It never gets the text after `:-`, which may be the hub's own token.

use crate::mcp::auth::CallerNeeds;
use http::HeaderValue;
use serde_json::Value;
use toolhub_text::secret::Secret;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::principal::Principal;

const OPENING: &str = "{principal.";

/// A value with what `of` gives for each of its placeholders, by its name and the text where there is no caller.
fn filled<'a, E>(
    mut text: &'a str,
    mut of: impl FnMut(&'a str, Option<&'a str>) -> Result<String, E>,
) -> Result<String, E> {
    let mut value = String::new();
    while let Some((before, after)) = text.split_once(OPENING) {
        // One that is not closed has no name.
        let (inside, after) = after.split_once('}').unwrap_or_default();
        let (name, otherwise) = inside.split_once(":-").unzip();
        value += before;
        value += &of(name.unwrap_or(inside), otherwise)?;
        text = after;
    }
    Ok(value + text)
}

fn claim(name: &str) -> Option<&str> {
    name.strip_prefix("claims.").filter(|claim| !claim.is_empty())
}

/// What a placeholder stands for; `None` if the caller lacks it.
fn value_of(name: &str, principal: &Principal, server: &str) -> Option<String> {
    let value = match name {
        "token" => principal.upstream_tokens.for_server(server)?.expose().to_owned(),
        "name" => principal.name.to_string(),
        "id" => principal.id.to_string(),
        _ => match principal.claims.get(claim(name)?)? {
            Value::String(text) => text.clone(),
            value @ (Value::Number(_) | Value::Bool(_)) => value.to_string(),
            _ => return None,
        },
    };
    Some(value).filter(|value| !value.is_empty())
}

/// What is wrong with the placeholders of a value, as the rest of a sentence.
pub(crate) fn problem(text: &str) -> Option<String> {
    let is_known = |name| matches!(name, "token" | "name" | "id") || claim(name).is_some();
    let wrong = filled(text, |name, _| if is_known(name) { Ok(String::new()) } else { Err(name) }).err()?;
    Some(format!(
        "has the unknown placeholder `{OPENING}{}}}`; known are principal.token, principal.name, principal.id and principal.claims.NAME.",
        clip(wrong)
    ))
}

pub(super) fn needs(headers: &[(String, Secret)]) -> CallerNeeds {
    let mut needs = CallerNeeds::Nothing;
    for (_, value) in headers {
        let _ = filled(value.expose(), |_, otherwise| {
            needs = needs.max(otherwise.map_or(CallerNeeds::Caller, |_| CallerNeeds::CallerIfAny));
            Ok::<_, ()>(String::new())
        });
    }
    needs
}

/// The headers without a caller. One that needs a caller is left out.
pub(super) fn own(headers: &[(String, Secret)]) -> Vec<(String, String)> {
    let value = |text| filled(text, |_, otherwise| otherwise.map(str::to_owned).ok_or(())).ok();
    headers.iter().filter_map(|(name, text)| Some((name.clone(), value(text.expose())?))).collect()
}

/// The headers for a caller.
pub(super) fn of_principal(
    server: &str,
    headers: &[(String, Secret)],
    principal: &Principal,
) -> Result<Vec<(String, String)>> {
    let denied = |text: Message| HubError::new(ErrorKind::Auth, text).with_outcome(Outcome::NotSent);
    let value = |name: &str, text: &str| {
        let value = filled(text, |field, _| {
            let value = value_of(field, principal, server);
            value.ok_or_else(|| denied(missing(server, principal, field)))
        })?;
        if principal.shows_token(&value) {
            return Err(denied(message!(
                "Header '{}' for server '{}' would forward the token of caller '{}'; caller tokens are never sent upstream.",
                clip(name),
                clip(server),
                clip(&principal.id)
            )));
        }
        // A line break would begin another header.
        match HeaderValue::try_from(&value) {
            Ok(_) => Ok((name.to_owned(), value)),
            Err(_) => Err(denied(message!(
                "Header '{}' for server '{}' would contain invalid characters for caller '{}'.",
                clip(name),
                clip(server),
                clip(&principal.id)
            ))),
        }
    };
    headers.iter().map(|(name, text)| value(name, text.expose())).collect()
}

fn missing(server: &str, principal: &Principal, field: &str) -> Message {
    let (server, caller) = (clip(server), clip(&principal.id));
    match claim(field) {
        Some(claim) => message!(
            "Server '{}' needs the claim '{}' of its callers, which '{}' lacks.",
            server,
            clip(claim),
            caller
        ),
        None => message!(
            "Server '{}' needs a token for '{}', who has none; give one as upstream_token, or return it from authenticate.",
            server,
            caller
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use toolhub_types::principal::UpstreamTokens;

    fn principal() -> Principal {
        let common = Some(Secret::new("up-ann"));
        Principal {
            id: "jwt:ann".into(),
            name: "ann".into(),
            claims: json!({"email": "ann@x", "age": 5, "list": [1], "evil": "a\r\nX-Evil: 1"})
                .as_object()
                .unwrap()
                .clone(),
            upstream_tokens: UpstreamTokens { common, ..UpstreamTokens::default() },
            ..Principal::default()
        }
    }

    fn headers(value: &str) -> Vec<(String, Secret)> {
        vec![("X-Test".to_owned(), Secret::new(value))]
    }

    fn resolved(value: &str) -> Result<String, String> {
        let resolved = of_principal("files", &headers(value), &principal());
        resolved.map(|mut all| all.remove(0).1).map_err(|error| error.message.to_string())
    }

    #[test]
    fn placeholders_stand_for_the_caller() {
        assert_eq!(resolved("Bearer {principal.token}").unwrap(), "Bearer up-ann");
        assert_eq!(resolved("{principal.name}/{principal.id}").unwrap(), "ann/jwt:ann");
        assert_eq!(resolved("{principal.claims.email} {principal.claims.age}").unwrap(), "ann@x 5");
        assert_eq!(resolved("{other} {{x}}").unwrap(), "{other} {{x}}");
        assert!(resolved("{principal.claims.list}").unwrap_err().contains("the claim 'list'"));
        assert!(resolved("{principal.claims.none:-x}").unwrap_err().contains("which 'jwt:ann' lacks"));
    }

    #[test]
    fn a_line_break_begins_no_other_header() {
        let refused = resolved("{principal.claims.evil}").unwrap_err();
        assert!(refused.contains("would contain invalid characters") && !refused.contains("X-Evil"));
    }

    #[test]
    fn the_callers_own_token_is_never_a_value() {
        let mut caller = principal();
        caller.subject_token = Some(Secret::new("incoming-token"));
        caller.claims.insert("raw".to_owned(), json!("incoming-token"));
        for value in ["{principal.claims.raw}", "Bearer {principal.claims.raw}", "x{principal.claims.raw}y"] {
            let refused = of_principal("files", &headers(value), &caller).unwrap_err();
            assert!(refused.message.contains("would forward the token of caller 'jwt:ann'"), "{refused}");
            assert!(!refused.message.contains("incoming-token"));
        }
    }

    #[test]
    fn a_caller_without_a_token_does_not_get_the_one_of_the_hub() {
        let nobody = Principal { upstream_tokens: UpstreamTokens::default(), ..principal() };
        let value = headers("Bearer {principal.token:-own}");
        assert!(of_principal("files", &value, &nobody).is_err());
        assert_eq!(own(&value), [("X-Test".to_owned(), "Bearer own".to_owned())]);
        assert_eq!(own(&headers("Bearer {principal.token}")), []);
    }

    #[test]
    fn what_headers_need() {
        for (value, expected) in [
            ("Bearer x", CallerNeeds::Nothing),
            ("{principal.token:-x}", CallerNeeds::CallerIfAny),
            ("{principal.token}", CallerNeeds::Caller),
            ("{principal.token:-x}{principal.name}", CallerNeeds::Caller),
            ("{principal.name}{principal.token:-x}", CallerNeeds::Caller),
        ] {
            assert_eq!(needs(&headers(value)), expected, "{value}");
        }
        for wrong in ["{principal.}", "{principal.tokens}", "{principal.claims.}", "x{principal.token"] {
            assert!(problem(wrong).is_some(), "{wrong}");
        }
        assert_eq!(problem("Bearer {principal.token:-}"), None);
    }

    proptest! {
        #[test]
        fn any_claim_is_one_header_or_refused(claim in "(?s).{0,20}") {
            let mut principal = principal();
            principal.claims.insert("free".to_owned(), Value::String(claim));
            if let Ok(resolved) = of_principal("files", &headers("a {principal.claims.free}"), &principal) {
                prop_assert!(!resolved[0].1.contains(['\r', '\n', '\0']));
            }
        }

        #[test]
        fn any_value_is_survived(value in "(?s)(.|\\{principal\\.){0,20}") {
            let (_, _, _) = (needs(&headers(&value)), own(&headers(&value)), problem(&value));
            let _ = of_principal("files", &headers(&value), &principal());
        }
    }
}
