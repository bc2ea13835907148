//! L0, who a call is made for: the caller of a gateway, as its credentials show.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use toolhub_text::secret::Secret;

/// A shorter token may be a part of a text by chance.
const SHORTEST_TOKEN: usize = 8;

/// The caller of a request. Sessions and statistics are kept apart by its id; cached results, calls in flight and connections to
/// servers also by its rights.
///
/// What can be read is what a function of the operator may say about a caller.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Principal {
    /// Empty for the anonymous principal, otherwise unique among the callers of a gateway: the name, and how it was shown.
    #[serde(skip)]
    pub id: Arc<str>,
    /// A digest of all that its credentials grant. One user may have several tokens, and a narrow one must not get what a wide
    /// one has fetched.
    #[serde(skip)]
    pub rights: Arc<str>,
    /// As the token, the claim or the user's function names it.
    pub name: Arc<str>,
    /// The claims of a JWT, or those that the user's function returned.
    #[serde(default, deserialize_with = "claims")]
    pub claims: Map<String, Value>,
    /// The only view that its credentials allow.
    pub view: Option<Arc<str>>,
    #[serde(default, rename = "upstream_token")]
    pub upstream_tokens: UpstreamTokens,
    /// The token that the caller came with. Only a token exchange may read it, for the token endpoint that the operator
    /// configured; it is never sent to an upstream server.
    #[serde(skip)]
    pub subject_token: Option<Secret>,
}

/// None are like no claims.
fn claims<'de, D: Deserializer<'de>>(given: D) -> Result<Map<String, Value>, D::Error> {
    Option::deserialize(given).map(Option::unwrap_or_default)
}

impl Principal {
    /// The caller of a gateway that asks for no credentials.
    pub fn anonymous() -> Self {
        Principal::default()
    }

    pub fn is_anonymous(&self) -> bool {
        self.id.is_empty()
    }

    /// What the user's code may know of a caller: no token.
    pub fn shown(&self) -> Value {
        json!({"id": &*self.id, "name": &*self.name, "claims": &self.claims, "view": self.view.as_deref()})
    }

    /// Whether a text is the token that the caller came with, with or without a scheme, or has it inside.
    pub fn shows_token(&self, text: &str) -> bool {
        let Some(token) = self.subject_token.as_ref().map(Secret::expose).filter(|token| !token.is_empty())
        else {
            return false;
        };
        let last = text.rsplit(char::is_whitespace).next().unwrap_or_default();
        text.trim() == token || last == token || (token.len() >= SHORTEST_TOKEN && text.contains(token))
    }

    /// The text without the token that the caller came with.
    pub fn without_token(&self, text: &str) -> String {
        match &self.subject_token {
            Some(token) if self.shows_token(text) => text.replace(token.expose(), "***"),
            _ => text.to_owned(),
        }
    }
}

/// The tokens that upstream servers get in the name of a principal, as the operator has assigned them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Option<GivenTokens>")]
pub struct UpstreamTokens {
    /// For servers without a token of their own.
    pub common: Option<Secret>,
    pub by_server: BTreeMap<String, Secret>,
}

/// One token for all servers, or one for each by its name.
#[derive(Deserialize)]
#[serde(untagged)]
enum GivenTokens {
    Common(Secret),
    ByServer(BTreeMap<String, Secret>),
}

impl From<Option<GivenTokens>> for UpstreamTokens {
    fn from(given: Option<GivenTokens>) -> Self {
        match given {
            None => UpstreamTokens::default(),
            Some(GivenTokens::Common(token)) => UpstreamTokens { common: Some(token), ..Self::default() },
            Some(GivenTokens::ByServer(by_server)) => UpstreamTokens { common: None, by_server },
        }
    }
}

impl UpstreamTokens {
    pub fn for_server(&self, server: &str) -> Option<&Secret> {
        self.by_server.get(server).or(self.common.as_ref())
    }

    pub fn iter(&self) -> impl Iterator<Item = &Secret> {
        self.common.iter().chain(self.by_server.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_gets_its_own_token_or_the_common_one() {
        let own = BTreeMap::from([("files".to_owned(), Secret::new("for-files"))]);
        let tokens = UpstreamTokens { common: None, by_server: own.clone() };
        assert_eq!(tokens.for_server("files").map(Secret::expose), Some("for-files"));
        assert_eq!(tokens.for_server("mail"), None);
        let tokens = UpstreamTokens { common: Some(Secret::new("for-all")), by_server: own };
        assert_eq!(tokens.for_server("files").map(Secret::expose), Some("for-files"));
        assert_eq!(tokens.for_server("mail").map(Secret::expose), Some("for-all"));
    }

    #[test]
    fn the_callers_token_is_found_in_texts() {
        let of = |token: &str| Principal { subject_token: Some(Secret::new(token)), ..Principal::default() };
        for text in ["hunter2-hunter2", "Bearer hunter2-hunter2", "x=hunter2-hunter2;", " hunter2-hunter2 "] {
            assert!(of("hunter2-hunter2").shows_token(text), "{text}");
            assert!(!of("hunter2-hunter2").without_token(text).contains("hunter2"), "{text}");
        }
        assert!(of("key").shows_token("Bearer key") && !of("key").shows_token("monkey business"));
        assert!(!of("").shows_token("") && !Principal::anonymous().shows_token("anything"));
    }

    #[test]
    fn debug_shows_no_token() {
        let subject_token = Some(Secret::new("hunter2"));
        let principal = Principal { subject_token, ..Principal::default() };
        assert!(!format!("{principal:?}").contains("hunter2"));
    }
}
