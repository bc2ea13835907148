//! What can go wrong with a model endpoint: a kind that code can switch on and one sentence for people.

use std::fmt;
use std::time::Duration;

use crate::error::{ErrorKind, HubError};

/// Why a request to a model failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LlmErrorKind {
    /// HTTP 401 or 403: no key, or one that the server does not take.
    Auth,
    /// HTTP 404: the server does not know the model, or has no chat API at this path.
    NotFound,
    /// HTTP 429, also after the retries.
    RateLimited,
    /// The server failed: HTTP 5xx, or an error object inside an answer that began with 200.
    Server(u16),
    /// Any other status that is not a success, redirects included.
    Http(u16),
    /// The connection was never made, so nothing was sent.
    Connect,
    /// The connection was lost after the request was sent; the model may have run.
    Closed,
    /// The total time was used up.
    Timeout,
    /// The answer is not a chat completion: not JSON, an HTML page, no choices.
    InvalidResponse,
    /// The stream stopped before the model had finished; `partial` has what came.
    TruncatedStream,
    /// The answer is larger than the configured limit.
    Limit,
    /// The caller cancelled.
    Cancelled,
    /// The configuration cannot work; nothing was sent.
    Config,
}

/// A failed request: one sentence in `message`, and what a caller may need to react.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlmError {
    pub kind: LlmErrorKind,
    /// One sentence: what happened and what to do. Never contains the key.
    pub message: String,
    /// The HTTP status, when there was an answer.
    pub status: Option<u16>,
    /// How long the server asked to wait.
    pub retry_after: Option<Duration>,
    /// The text that had arrived when a stream broke.
    pub partial: Option<String>,
}

impl LlmError {
    pub(crate) fn new(kind: LlmErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after: None, partial: None }
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(LlmErrorKind::Config, message)
    }

    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }
}

impl fmt::Display for LlmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LlmError {}

impl From<LlmError> for HubError {
    fn from(error: LlmError) -> Self {
        let kind = match error.kind {
            LlmErrorKind::Auth => ErrorKind::Auth,
            LlmErrorKind::NotFound | LlmErrorKind::Server(_) | LlmErrorKind::Http(_) => ErrorKind::Http,
            LlmErrorKind::RateLimited => ErrorKind::Overloaded,
            LlmErrorKind::Connect => ErrorKind::Connect,
            LlmErrorKind::Closed | LlmErrorKind::TruncatedStream => ErrorKind::Closed,
            LlmErrorKind::Timeout => ErrorKind::Timeout,
            LlmErrorKind::InvalidResponse => ErrorKind::Protocol,
            LlmErrorKind::Limit => ErrorKind::Limit,
            LlmErrorKind::Cancelled => ErrorKind::Cancelled,
            LlmErrorKind::Config => ErrorKind::InvalidArguments,
        };
        HubError {
            status: error.status,
            retry_after: error.retry_after.map(|wait| wait.as_secs_f64()),
            ..HubError::new(kind, error.message)
        }
    }
}
