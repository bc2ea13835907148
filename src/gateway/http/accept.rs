//! What a client takes as an answer.

use crate::http::reply::{EVENTS, JSON};
use http::{HeaderMap, header};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub json: bool,
    pub events: bool,
}

impl Accepted {
    /// A client that does not say takes both.
    pub fn of(headers: &HeaderMap) -> Accepted {
        let mut accepted = Accepted { json: false, events: false };
        if !headers.contains_key(header::ACCEPT) {
            return Accepted { json: true, events: true };
        }
        for value in headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()) {
            for range in value.split(',') {
                let kind = range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
                accepted.json |= matches!(kind.as_str(), JSON | "application/*" | "*/*");
                accepted.events |= matches!(kind.as_str(), EVENTS | "text/*" | "*/*");
            }
        }
        accepted
    }
}

/// Whether the body is sent as it is.
pub fn is_plain(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .all(|value| value.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Whether the body is declared as JSON.
pub fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON)
}
