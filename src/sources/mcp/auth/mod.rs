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

mod asked_headers;
pub mod oauth;

pub use asked_headers::{AskedHeaders, HeaderFunction};
pub use oauth::{
    FileStore, Grant, MemoryStore, OAuth, OAuthConfig, OAuthSettings, Opener, StoredToken, TokenExchange,
    TokenExchangeOptions, TokenStore, open_browser,
};
pub use toolhub_text::secret::Secret;

use std::sync::Arc;
use toolhub_text::message::Message;
use toolhub_text::secret::Redactor;
use toolhub_types::error::{ErrorKind, HubError, Outcome};
use toolhub_types::principal::Principal;
use toolhub_types::tool::BoxFuture;

/// Headers for one request, or why there are none.
pub type GivenHeaders = Result<Vec<(String, Secret)>, HubError>;

/// Supplies the credentials of requests, and learns when the server refused them.
pub trait Credentials: Send + Sync {
    /// The value of the Authorization header, if there is one (may refresh a token).
    fn authorization<'a>(&'a self) -> BoxFuture<'a, Result<Option<String>, HubError>>;

    /// The server refused what was sent (an empty text when nothing was) with 401, or 403 insufficient_scope; true when new
    /// credentials are there and the request may be sent again.
    fn refused<'a>(
        &'a self,
        _sent: &'a str,
        _status: u16,
        _challenge: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, HubError>> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// Other headers of a request; `None` if there are none.
    fn headers<'a>(&'a self) -> Option<BoxFuture<'a, GivenHeaders>> {
        None
    }

    /// Whether each caller of a gateway needs credentials of its own.
    fn differ_by_caller(&self) -> bool {
        false
    }

    /// Whether the hub's own credentials may be used for calls without a caller.
    fn serve_without_caller(&self) -> bool {
        false
    }

    /// The credentials of a caller; `None` if those of the hub are for everyone.
    fn of_caller(&self, _: &Arc<Principal>) -> Result<Option<Arc<dyn Credentials>>, HubError> {
        Ok(None)
    }

    /// Whether the next token of a caller needs other credentials, though it grants the same.
    fn are_of_one_token(&self) -> bool {
        false
    }

    /// The caller of these credentials makes another call, perhaps with a newer token.
    fn called_by(&self, _: &Arc<Principal>) {}
}

/// Without credentials the call was not sent, or was refused before it did anything: another candidate may be tried.
fn denied(message: impl Into<Message>) -> HubError {
    HubError::new(ErrorKind::Auth, message).with_outcome(Outcome::NotSent)
}

/// `Bearer …`, when the token can stand in a header. It is not quoted in the error.
fn bearer_header(token: &str) -> Result<String, HubError> {
    let token = token.trim();
    let token = match token.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("bearer ") => token[7..].trim_start(),
        _ => token,
    };
    if token.is_empty() || !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(denied(
            "The bearer token is empty or contains characters that are not allowed in a header; give the token alone, without spaces or line breaks.",
        ));
    }
    Ok(format!("Bearer {token}"))
}

/// How much of a server's text an error message quotes.
const QUOTE_CHARS: usize = 200;

/// Foreign text made fit for an error message: one line, no terminal commands, no secrets, bounded.
fn quote(text: &str, secrets: &[&str]) -> String {
    Redactor::new(secrets.iter().map(|secret| Secret::new(*secret))).quote_within(text, QUOTE_CHARS)
}

// A bearer token that the user has.

/// Gives the token for one request.
pub type TokenFunction = Arc<dyn Fn() -> BoxFuture<'static, Result<String, HubError>> + Send + Sync>;

pub struct Bearer(TokenSource);

enum TokenSource {
    /// The whole header, checked once.
    Fixed(Secret),
    /// Called for each request and never cached: the function knows how long its token is valid.
    Asked(TokenFunction),
}

impl Bearer {
    pub fn fixed(token: &str) -> Result<Self, HubError> {
        Ok(Bearer(TokenSource::Fixed(Secret::new(bearer_header(token)?))))
    }

    pub fn asked(function: TokenFunction) -> Self {
        Bearer(TokenSource::Asked(function))
    }
}

impl Credentials for Bearer {
    fn authorization<'a>(&'a self) -> BoxFuture<'a, Result<Option<String>, HubError>> {
        Box::pin(async move {
            match &self.0 {
                TokenSource::Fixed(header) => Ok(Some(header.expose().to_owned())),
                TokenSource::Asked(function) => bearer_header(&function().await?).map(Some),
            }
        })
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
        let bearer = Bearer::asked(Arc::new(move || {
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
