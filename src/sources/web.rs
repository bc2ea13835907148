//! What all clients over HTTP share here: reading a body within a limit, and addresses as errors and logs may show them.

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Response, Url};
use tokio::task::coop::consume_budget;
use toolhub_text::secret::shown_path;

/// Adds the rest of a body to `body`, up to `limit` bytes in all; false if there is more. What came before an error, or before
/// the future was dropped, is in `body`.
pub(crate) async fn read_body(
    response: &mut Response,
    limit: usize,
    body: &mut Vec<u8>,
) -> Result<bool, reqwest::Error> {
    while let Some(bytes) = response.chunk().await? {
        // A server that always has another chunk ready must not delay a timeout.
        consume_budget().await;
        let room = limit - body.len();
        body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A URL without user, password, query, fragment and keys in its path.
pub(crate) fn shown_url(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), shown_path(url.path()))
}

/// What of a header cannot be sent.
pub(crate) enum WrongHeader {
    Name,
    Value,
}

/// A header whose value is shown nowhere, not even in the debug output of the HTTP library.
pub(crate) fn checked_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), WrongHeader> {
    let name = HeaderName::try_from(name).map_err(|_| WrongHeader::Name)?;
    let mut value = HeaderValue::try_from(value).map_err(|_| WrongHeader::Value)?;
    value.set_sensitive(true);
    Ok((name, value))
}
