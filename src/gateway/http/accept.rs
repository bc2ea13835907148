//! What a client takes as an answer.

use crate::http::{EVENTS, HttpReply, JSON};
use http::header::AsHeaderName;
use http::{HeaderMap, StatusCode, header};

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

/// A header that must not occur twice: one reader would take the first, another one the last. The error is the rest of a sentence.
pub fn once(headers: &HeaderMap, name: impl AsHeaderName) -> Result<Option<&str>, &'static str> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| "is not visible ASCII"),
        _ => Err("occurs more than once"),
    }
}

/// Refuses a client that takes no events.
pub fn expect_events(headers: &HeaderMap) -> Result<(), HttpReply> {
    match Accepted::of(headers).events {
        true => Ok(()),
        false => Err(not_acceptable("The client must accept text/event-stream")),
    }
}

pub fn not_acceptable(text: &'static str) -> HttpReply {
    HttpReply::invalid(StatusCode::NOT_ACCEPTABLE, text)
}

/// Refuses a body that is not declared as JSON, or not sent as it is.
pub fn expect_json(headers: &HeaderMap) -> Result<(), HttpReply> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_json = kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON);
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    let text = match codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        true if is_json => return Ok(()),
        false if is_json => "The body must not be compressed (Content-Encoding)",
        _ => "The Content-Type must be application/json",
    };
    Err(HttpReply::invalid(StatusCode::UNSUPPORTED_MEDIA_TYPE, text))
}
