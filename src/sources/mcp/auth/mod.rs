//! Credentials for a remote server: a given token, or one obtained by OAuth 2.1.
//!
//! ```text
//! transport ─► Credentials ─┬─ Bearer: a fixed token, or a function that is asked for each request
//!     │                     ├─ AskedHeaders: a function that is asked for all headers, by caller
//!     ▲                     └─ OAuth: discovery ─► registration ─► login in the browser ─► token ─► TokenStore
//!     └── 401/403 ── refused ──────┘                (or client credentials)      ▲── refresh ──┘
//! ```
//!
//! Why the OAuth client is our own is in `docs/decisions/2026-11-15-oauth.md`.

mod factory;
pub mod oauth;

pub use factory::CredentialFactory;
pub use oauth::{
    Grant, OAuth, OAuthConfig, OAuthSettings, Opener, StoredToken, TokenExchange, TokenExchangeOptions,
    TokenStore, open_browser,
};
pub use toolhub_text::secret::Secret;

use crate::web::{WrongHeader, checked_header};
use parking_lot::Mutex;
use reqwest::header::HeaderName;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use toolhub_text::secret::Redactor;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip, shown_seconds};
use toolhub_types::principal::Principal;
use toolhub_types::tool::BoxFuture;

/// Headers for one request, or why there are none.
pub type GivenHeaders = Result<Vec<(String, Secret)>>;

/// What credentials, or the headers of a server, need of the caller of a gateway; the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallerNeeds {
    /// They are the same for all.
    Nothing,
    /// They differ by caller, and there are some for when there is none.
    CallerIfAny,
    Caller,
    /// They differ by the caller's token: the next one needs others, though it grants the same.
    CallerToken,
}

/// Supplies the credentials of requests, and learns when the server refused them.
pub trait Credentials: Send + Sync {
    /// The value of the Authorization header, if there is one (may refresh a token).
    fn authorization<'a>(&'a self) -> BoxFuture<'a, Result<Option<String>>>;

    /// The server refused what was sent (an empty text when nothing was) with 401, or 403 insufficient_scope; true when new
    /// credentials are there and the request may be sent again.
    fn refused<'a>(
        &'a self,
        _sent: &'a str,
        _status: u16,
        _challenge: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// Other headers of a request; `None` if there are none.
    fn headers<'a>(&'a self) -> Option<BoxFuture<'a, GivenHeaders>> {
        None
    }

    /// Whether each caller of a gateway needs credentials of its own.
    fn needs(&self) -> CallerNeeds {
        CallerNeeds::Nothing
    }

    /// The credentials of a caller; `None` if those of the hub are for everyone.
    fn of_caller(&self, _: &Arc<Principal>) -> Result<Option<Arc<dyn Credentials>>> {
        Ok(None)
    }

    /// The caller of these credentials makes another call, perhaps with a newer token.
    fn called_by(&self, _: &Arc<Principal>) {}
}

/// Without credentials the call was not sent, or was refused before it did anything: another candidate may be tried.
fn denied(message: impl Into<Message>) -> HubError {
    HubError::new(ErrorKind::Auth, message).with_outcome(Outcome::NotSent)
}

/// A token without its scheme, if it can stand in a header.
pub(super) fn bare_token(token: &str) -> Option<&str> {
    let token = token.trim();
    let token = match token.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("bearer ") => token[7..].trim_start(),
        _ => token,
    };
    (!token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic())).then_some(token)
}

/// `Bearer …`, when the token can stand in a header. It is not quoted in the error.
fn bearer_header(token: &str) -> Result<String> {
    bare_token(token).map(|token| format!("Bearer {token}")).ok_or_else(|| {
        denied(
            "The bearer token is empty or contains characters that are not allowed in a header; give the token alone, without spaces or line breaks.",
        )
    })
}

/// How much of a server's text an error message quotes.
const QUOTE_CHARS: usize = 200;

/// Foreign text made fit for an error message: one line, no terminal commands, no secrets, bounded.
fn quote(text: &str, secrets: &[&str]) -> String {
    Redactor::new(secrets.iter().map(|secret| Secret::new(*secret))).quote_within(text, QUOTE_CHARS)
}

// A bearer token that the user has.

/// Gives the token for one request.
pub type TokenFunction = Arc<dyn Fn() -> BoxFuture<'static, Result<String>> + Send + Sync>;

pub enum Bearer {
    /// The whole header, checked once; see [`Bearer::fixed`].
    Fixed(Secret),
    /// Called for each request and never cached: the function knows how long its token is valid.
    Asked(TokenFunction),
}

impl Bearer {
    pub fn fixed(token: &str) -> Result<Self> {
        bearer_header(token).map(|header| Bearer::Fixed(Secret::new(header)))
    }
}

impl Credentials for Bearer {
    fn authorization<'a>(&'a self) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(async move {
            match self {
                Bearer::Fixed(header) => Ok(Some(header.expose().to_owned())),
                Bearer::Asked(function) => bearer_header(&function().await?).map(Some),
            }
        })
    }
}

// Headers that a function of the user gives for each request, by the caller of a gateway.

/// Returns the headers of one request as a JSON object of texts, or null. There is no caller for lists of tools, and for calls
/// outside a gateway. The error is the reason of a failure.
pub type HeaderFunction =
    Arc<dyn Fn(Option<Arc<Principal>>) -> BoxFuture<'static, Result<Value, String>> + Send + Sync>;

/// How long the function may take.
const FUNCTION_TIMEOUT: Duration = Duration::from_secs(10);
const MOST_HEADERS: usize = 100;

/// Headers of HTTP and of the protocol, which the client sets itself.
const RESERVED: [&str; 12] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "keep-alive",
    "last-event-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
const PROTOCOL_PREFIX: &str = "mcp-";

/// The headers of one caller, or of the hub itself, for one server. The function is called for each request and its answer is
/// never cached: the function knows how long its tokens are valid.
pub struct AskedHeaders {
    server: Arc<str>,
    function: HeaderFunction,
    /// Replaced when the caller comes with newer claims.
    caller: Option<Mutex<Arc<Principal>>>,
}

impl AskedHeaders {
    /// The headers of the hub itself.
    pub fn new(server: Arc<str>, function: HeaderFunction) -> Self {
        AskedHeaders { server, function, caller: None }
    }

    async fn ask(&self) -> GivenHeaders {
        let caller = self.caller.as_ref().map(|caller| caller.lock().clone());
        let server = clip(&self.server);
        let asked = tokio::time::timeout(FUNCTION_TIMEOUT, (self.function)(caller.clone())).await;
        let given = match (asked, &caller) {
            (Err(_), _) => {
                let limit = shown_seconds(FUNCTION_TIMEOUT.as_secs_f64());
                return self.refuse(message!("did not return within {} s", limit));
            }
            (Ok(Err(why)), caller) => {
                let why = caller.as_ref().map_or(why.clone(), |caller| caller.without_token(&why));
                let text = message!("The headers function of server '{}' failed: {}", server, why);
                return Err(denied(text));
            }
            (Ok(Ok(Value::Null)), None) => return Ok(Vec::new()),
            (Ok(Ok(Value::Null)), Some(caller)) => {
                return Err(denied(message!(
                    "Server '{}' is closed to '{}': its headers function returned None.",
                    server,
                    clip(&caller.id)
                )));
            }
            (Ok(Ok(Value::Object(given))), _) if given.len() > MOST_HEADERS => {
                return self.refuse(message!("returned more than {} headers", MOST_HEADERS));
            }
            (Ok(Ok(Value::Object(given))), _) => given,
            _ => return self.refuse(message!("must return a mapping of texts or None")),
        };
        given.iter().map(|(name, value)| self.checked(name, value, caller.as_deref())).collect()
    }

    /// `what` continues "The headers function of server '…'".
    fn refuse<T>(&self, what: Message) -> Result<T> {
        Err(denied(message!("The headers function of server '{}' {}.", clip(&self.server), what)))
    }

    /// No value is shown in an error: it may be a secret.
    fn checked(&self, name: &str, value: &Value, caller: Option<&Principal>) -> Result<(String, Secret)> {
        let Some(value) = value.as_str() else {
            return self.refuse(message!("must return a mapping of texts or None"));
        };
        let is_ours = |name: &HeaderName| {
            RESERVED.contains(&name.as_str()) || name.as_str().starts_with(PROTOCOL_PREFIX)
        };
        let shows_token = || caller.is_some_and(|caller| caller.shows_token(value));
        self.refuse(match checked_header(name, value) {
            Err(WrongHeader::Value) => {
                message!(
                    "returned a value for '{}' that contains characters not allowed in a header",
                    clip(name)
                )
            }
            Ok((name, _)) if !is_ours(&name) && !shows_token() => {
                return Ok((name.to_string(), Secret::new(value)));
            }
            Ok((name, _)) if !is_ours(&name) => {
                message!("returned the caller's own token; caller tokens are never sent upstream")
            }
            _ => message!("returned the header '{}', which it may not set", clip(name)),
        })
    }
}

impl Credentials for AskedHeaders {
    fn authorization<'a>(&'a self) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn headers<'a>(&'a self) -> Option<BoxFuture<'a, GivenHeaders>> {
        Some(Box::pin(self.ask()))
    }

    /// The function decides what is sent where there is no caller.
    fn needs(&self) -> CallerNeeds {
        CallerNeeds::CallerIfAny
    }

    fn of_caller(&self, principal: &Arc<Principal>) -> Result<Option<Arc<dyn Credentials>>> {
        let caller = Some(Mutex::new(principal.clone()));
        Ok(Some(Arc::new(AskedHeaders {
            server: self.server.clone(),
            function: self.function.clone(),
            caller,
        })))
    }

    fn called_by(&self, principal: &Arc<Principal>) {
        if let Some(caller) = &self.caller {
            *caller.lock() = principal.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_one_plain_line_without_secrets() {
        assert_eq!(
            quote("bad\u{1b}[31m\r\n token t0p-s3cret\u{202e}!", &["t0p-s3cret", ""]),
            "bad token ***!"
        );
        assert_eq!(quote(&"x".repeat(500), &[]).chars().count(), QUOTE_CHARS + 1);
    }
}

#[cfg(test)]
mod bearer_tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test]
    async fn a_fixed_token_is_sent_with_its_scheme_once() {
        for given in ["abc", " Bearer abc\n", "bearer  abc"] {
            let bearer = Bearer::fixed(given).unwrap();
            assert_eq!(bearer.authorization().await.unwrap().unwrap(), "Bearer abc");
            assert!(!bearer.refused("", 401, None).await.unwrap());
        }
    }

    #[tokio::test]
    async fn a_function_is_asked_for_each_request() {
        let asked = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&asked);
        let bearer = Bearer::Asked(Arc::new(move || {
            let n = counter.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move { Ok(format!("t{n}")) })
        }));
        assert_eq!(bearer.authorization().await.unwrap().unwrap(), "Bearer t0");
        assert_eq!(bearer.authorization().await.unwrap().unwrap(), "Bearer t1");
    }

    #[tokio::test]
    async fn a_token_that_would_break_the_header_is_refused_and_not_shown() {
        for bad in ["", "s3cret\r\nX-Evil: 1", "s3cret token", "s3crét"] {
            let error = Bearer::fixed(bad).err().unwrap();
            assert!(error.message.contains("bearer token") && !error.message.contains("s3c"), "{error}");
        }
    }
}

#[cfg(test)]
mod asked_headers_tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn principal() -> Arc<Principal> {
        let subject_token = Some(Secret::new("token-of-the-client"));
        Arc::new(Principal { id: "user:ann".into(), subject_token, ..Principal::default() })
    }

    fn answering(answer: Result<Value, String>) -> AskedHeaders {
        let function: HeaderFunction = Arc::new(move |_| Box::pin(std::future::ready(answer.clone())));
        AskedHeaders::new(Arc::from("up"), function)
    }

    async fn asked(answer: Result<Value, String>) -> Result<Vec<(String, String)>, String> {
        let own = AskedHeaders { caller: Some(Mutex::new(principal())), ..answering(answer) };
        let headers = own.ask().await.map_err(|error| error.message.to_string())?;
        Ok(headers.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect())
    }

    #[tokio::test]
    async fn headers_are_those_of_the_function() {
        let given = asked(Ok(json!({"Authorization": "Bearer up", "X-Team": "7"}))).await.unwrap();
        assert_eq!(given.len(), 2);
        assert!(asked(Ok(json!({}))).await.unwrap().is_empty());
        assert!(answering(Ok(Value::Null)).ask().await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn what_cannot_be_sent_is_refused_and_not_shown() {
        for (answer, expected) in [
            (Ok(Value::Null), "is closed to 'user:ann'"),
            (Ok(json!(["a"])), "must return a mapping of texts"),
            (Ok(json!({"X-Hunter": 5})), "must return a mapping of texts"),
            (Ok(json!({"X-Hunter": "a\r\nX-Evil: hunter2"})), "contains characters not allowed in a header"),
            (Ok(json!({"Mcp-Session-Id": "hunter2"})), "'Mcp-Session-Id', which it may not set"),
            (Ok(json!({"content-length": "0"})), "'content-length', which it may not set"),
            (Ok(json!({"bad name": "hunter2"})), "which it may not set"),
            (Ok(json!({"Authorization": "Bearer token-of-the-client"})), "returned the caller's own token"),
            (Err("KeyError: token-of-the-client".to_owned()), "failed: KeyError: ***"),
        ] {
            let refused = asked(answer).await.unwrap_err();
            assert!(refused.contains(expected), "{refused}");
            assert!(!refused.contains("hunter2") && !refused.contains("token-of-the-client"), "{refused}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_function_that_does_not_return_is_given_up() {
        let function: HeaderFunction = Arc::new(|_| Box::pin(std::future::pending()));
        let error = AskedHeaders::new(Arc::from("up"), function).ask().await.unwrap_err();
        assert!(error.message.contains("did not return within 10 s"), "{error}");
    }

    #[tokio::test]
    async fn a_caller_is_asked_for_with_its_newest_claims() {
        let function: HeaderFunction = Arc::new(|caller| {
            let id = caller.map_or_else(String::new, |caller| caller.id.to_string());
            Box::pin(std::future::ready(Ok(json!({"X-Id": id}))))
        });
        let own = AskedHeaders::new(Arc::from("up"), function).of_caller(&principal()).unwrap().unwrap();
        let id = async || own.headers().unwrap().await.unwrap()[0].1.expose().to_owned();
        assert_eq!(id().await, "user:ann");
        own.called_by(&Arc::new(Principal { id: "user:anna".into(), ..Principal::default() }));
        assert_eq!(id().await, "user:anna");
    }

    proptest! {
        #[test]
        fn any_answer_is_one_header_or_refused(name in "(?s).{0,12}", value in "(?s).{0,20}") {
            let own = answering(Ok(Value::Null));
            if let Ok((name, value)) = own.checked(&name, &json!(value), None) {
                prop_assert!(!value.expose().contains(['\r', '\n', '\0']));
                prop_assert!(HeaderName::try_from(name.as_str()).is_ok());
            }
        }
    }
}
