//! Why an exchange broke, and errors that say whether the call may have run.

use std::error::Error;
use std::io;
use toolhub_protocol::net::sources;
use toolhub_text::message;
use toolhub_text::message::Message;

use toolhub_types::error::{ErrorKind, HubError, Outcome};

/// Why an exchange broke, in the words of the HTTP library.
pub(crate) struct ExchangeError {
    error: Box<dyn Error + Send + Sync>,
    /// There was no connection yet, so nothing was sent.
    pub(crate) is_connect: bool,
}

impl From<reqwest::Error> for ExchangeError {
    fn from(error: reqwest::Error) -> Self {
        // The URL may have secrets in its query.
        ExchangeError { is_connect: error.is_connect(), error: Box::new(error.without_url()) }
    }
}

impl From<hyper_util::client::legacy::Error> for ExchangeError {
    fn from(error: hyper_util::client::legacy::Error) -> Self {
        ExchangeError { is_connect: error.is_connect(), error: Box::new(error) }
    }
}

impl From<Box<dyn Error + Send + Sync>> for ExchangeError {
    fn from(error: Box<dyn Error + Send + Sync>) -> Self {
        ExchangeError { is_connect: false, error }
    }
}

impl ExchangeError {
    /// The innermost reason, which says what happened.
    pub(crate) fn reason(&self) -> Message {
        let is = |kind| self.io_errors().any(|error| error.kind() == kind);
        let text = self.errors().last().map(ToString::to_string).unwrap_or_default();
        match text.strip_prefix("invalid peer certificate: ") {
            _ if is(io::ErrorKind::ConnectionRefused) => "connection refused".into(),
            _ if is(io::ErrorKind::UnexpectedEof) => "the server closed it".into(),
            Some(why) => message!("its TLS certificate is not trusted: {}", why),
            // The words of rustls.
            None if text.contains("InvalidContentType") => "there is no TLS at this address".into(),
            None => text.into(),
        }
    }

    /// Whether the bytes of the body made no sense. The system has names for lost connections; these kinds are for chunks
    /// and compressed bytes that cannot be read.
    pub(crate) fn is_malformed(&self) -> bool {
        use io::ErrorKind::{InvalidData, InvalidInput, Other};
        self.io_errors().any(|error| matches!(error.kind(), InvalidData | InvalidInput | Other))
    }

    fn io_errors(&self) -> impl Iterator<Item = &io::Error> {
        self.errors().filter_map(|source| source.downcast_ref::<io::Error>())
    }

    /// From the outside in.
    fn errors(&self) -> impl Iterator<Item = &(dyn Error + 'static)> {
        let outermost: &(dyn Error + 'static) = &*self.error;
        std::iter::once(outermost).chain(sources(outermost))
    }
}

/// An error after which the call may have run.
pub(crate) fn unknown(kind: ErrorKind, text: impl Into<Message>) -> HubError {
    HubError::new(kind, text).with_outcome(Outcome::Unknown)
}

/// An answer that came and cannot be read.
pub(crate) fn unreadable(what: impl Into<Message>) -> HubError {
    unknown(ErrorKind::Protocol, message!("Failed to parse MCP response: {}", what.into()))
}
