//! Why an exchange broke, and errors that say whether the call may have run.

use crate::error::{ErrorKind, HubError, Outcome};
use crate::net::sources;
use std::io;

/// The innermost reason, which says what happened; the outer ones name the URL with its query.
pub(crate) fn reason(error: &reqwest::Error) -> String {
    let is = |kind| io_errors(error).any(|error| error.kind() == kind);
    if is(io::ErrorKind::ConnectionRefused) {
        return "connection refused".to_owned();
    }
    if is(io::ErrorKind::UnexpectedEof) {
        return "the server closed it".to_owned();
    }
    let innermost = sources(error).last().map(ToString::to_string);
    match innermost.as_deref() {
        None => "the HTTP library gave no reason".to_owned(),
        // The words of rustls.
        Some(text) if text.contains("InvalidContentType") => "there is no TLS at this address".to_owned(),
        Some(text) => match text.strip_prefix("invalid peer certificate: ") {
            Some(why) => format!("its TLS certificate is not trusted: {why}"),
            None => text.to_owned(),
        },
    }
}

/// Whether the bytes of the body made no sense. The system has names for lost connections; these kinds are for chunks and
/// compressed bytes that cannot be read.
pub(crate) fn is_malformed(error: &reqwest::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, Other};
    io_errors(error).any(|error| matches!(error.kind(), InvalidData | InvalidInput | Other))
}

fn io_errors(error: &reqwest::Error) -> impl Iterator<Item = &io::Error> {
    sources(error).filter_map(|source| source.downcast_ref::<io::Error>())
}

/// An error after which the call may have run.
pub(crate) fn unknown(kind: ErrorKind, text: impl Into<std::borrow::Cow<'static, str>>) -> HubError {
    HubError::new(kind, text).with_outcome(Outcome::Unknown)
}

pub(crate) fn too_large(limit: usize) -> HubError {
    let text = format!(
        "The server's message has more than {limit} bytes, which is the limit; ask for less or raise `max_message_bytes`."
    );
    unknown(ErrorKind::Limit, text)
}
