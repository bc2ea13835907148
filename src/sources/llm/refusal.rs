//! A status that is not a success, as one sentence that says what to do.

use std::time::Duration;

use reqwest::header::{HeaderMap, LOCATION};
use serde_json::Value;

use super::endpoint::ChatEndpoint;
use super::retry::AttemptFailure;
use super::shown::shown_url;
use toolhub_protocol::net::retry_after;
use toolhub_types::error::{ErrorKind, HubError};

/// The failure for an HTTP status and what came with it.
pub(crate) fn refusal(
    endpoint: &ChatEndpoint,
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
) -> AttemptFailure {
    let wait = retry_after(headers);
    let detail = endpoint.redactor.quote(&readable_text(body));
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let message = sentence(endpoint, status, &detail, wait, location);
    let error = HubError {
        status: Some(status),
        retry_after: wait.map(|wait| wait.as_secs_f64()),
        ..HubError::new(kind_of(status), message)
    };
    AttemptFailure { error, again: matches!(status, 429 | 500..=599) }
}

/// The error for an `error` object inside an answer that began with 200, whole or streamed. Some servers
/// put the status that they would have sent into its `code`.
pub(crate) fn error_object(endpoint: &ChatEndpoint, status: u16, error: &Value) -> HubError {
    let code = error.get("code").and_then(|code| match code {
        Value::String(digits) => digits.parse().ok(),
        number => number.as_u64().and_then(|n| u16::try_from(n).ok()),
    });
    let kind = match code {
        Some(code @ 400..=599) => kind_of(code),
        _ => ErrorKind::Http,
    };
    let detail = endpoint.redactor.quote(&message_of(error).unwrap_or_else(|| error.to_string()));
    let message = format!(
        "The model endpoint {} reported an error instead of an answer{}.",
        endpoint.origin,
        after_colon(&detail)
    );
    HubError { status: Some(status), ..HubError::new(kind, message) }
}

fn kind_of(status: u16) -> ErrorKind {
    match status {
        401 | 403 => ErrorKind::Auth,
        429 => ErrorKind::Overloaded,
        _ => ErrorKind::Http,
    }
}

fn sentence(
    endpoint: &ChatEndpoint,
    status: u16,
    detail: &str,
    wait: Option<Duration>,
    location: Option<&str>,
) -> String {
    let endpoint_name = format!("The model endpoint {}", endpoint.origin);
    let why = format!("(HTTP {status}){}", after_colon(detail));
    match status {
        401 | 403 if endpoint.has_key() => {
            format!("{endpoint_name} refused the API key {why}; set OPENAI_API_KEY or pass api_key.")
        }
        401 | 403 => {
            format!("{endpoint_name} requires an API key {why}; set OPENAI_API_KEY or pass api_key.")
        }
        404 if detail.to_lowercase().contains("model") => {
            format!(
                "{endpoint_name} does not know the model {:?} {why}; pass a model that it serves.",
                endpoint.model
            )
        }
        404 => format!(
            "{endpoint_name} has no chat API at {} {why}; check base_url, which usually ends in /v1.",
            endpoint.url().path()
        ),
        429 => match wait.filter(|wait| !wait.is_zero()) {
            Some(wait) => {
                format!(
                    "{endpoint_name} is limiting requests and asks to wait {} s {why}.",
                    wait.as_secs_f64()
                )
            }
            None => format!("{endpoint_name} is limiting requests {why}."),
        },
        300..=399 => {
            let target = location.map_or_else(
                || "elsewhere".to_owned(),
                |to| format!("to {}", endpoint.redactor.quote(&shown_target(to))),
            );
            format!(
                "{endpoint_name} redirects {target} (HTTP {status}), which is not followed so that the API key stays with its server; set base_url to the final address."
            )
        }
        500..=599 => format!("{endpoint_name} failed {why}."),
        _ => format!("{endpoint_name} rejected the request {why}."),
    }
}

/// A redirect within the server has no host to show.
fn shown_target(location: &str) -> String {
    if location.starts_with('/') && !location.starts_with("//") {
        let end = location.find(['?', '#']).unwrap_or(location.len());
        location[..end].to_owned()
    } else {
        shown_url(location)
    }
}

/// `: detail`, without the full stop that would end our sentence early; nothing when there is none.
fn after_colon(detail: &str) -> String {
    let detail = detail.trim_end_matches(['.', ' ']);
    if detail.is_empty() { String::new() } else { format!(": {detail}") }
}

/// An error body as text: the message of an error object, the title of an HTML page, or the text.
pub(crate) fn readable_text(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if let Ok(value) = serde_json::from_str::<Value>(&text)
        && let Some(message) = message_of(&value)
    {
        return message;
    }
    html_title(&text).unwrap_or_else(|| text.into_owned())
}

/// The message in the shapes that servers use: OpenAI, FastAPI (`detail`), plain.
fn message_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => ["error", "message", "detail", "msg"]
            .iter()
            .find_map(|name| fields.get(*name).and_then(message_of)),
        Value::Array(items) => items.first().and_then(message_of),
        _ => None,
    }
}

/// `an HTML page "title"`, if the text is one.
fn html_title(text: &str) -> Option<String> {
    // Lower-casing ASCII only keeps the byte positions of the original.
    let lower = text.to_ascii_lowercase();
    let start = lower.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    if !start.starts_with("<!doctype html") && !start.starts_with("<html") {
        return None;
    }
    let title = lower.find("<title>").and_then(|at| {
        let from = at + "<title>".len();
        let length = lower[from..].find("</title>")?;
        Some(text[from..from + length].trim())
    });
    Some(match title {
        Some(title) if !title.is_empty() => format!("an HTML page {title:?}"),
        _ => "an HTML page".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_found_in_every_usual_shape() {
        for (body, expected) in [
            (r#"{"error": {"message": "a", "code": 1}}"#, "a"),
            (r#"{"error": "a"}"#, "a"),
            (r#"{"message": "a"}"#, "a"),
            (r#"{"detail": [{"loc": ["body"], "msg": "a"}]}"#, "a"),
            (r#"{"detail": "a"}"#, "a"),
            (r#"{"odd": 1}"#, r#"{"odd": 1}"#),
            ("plain", "plain"),
            ("", ""),
            ("<html><body>x</body></html>", "an HTML page"),
            ("\n<!DOCTYPE html><head><TITLE> Bad gateway </TITLE>", "an HTML page \"Bad gateway\""),
        ] {
            assert_eq!(readable_text(body.as_bytes()), expected);
        }
    }

    #[test]
    fn a_redirect_shows_no_credentials() {
        assert_eq!(shown_target("https://u:p@evil/x?key=1"), "https://evil/x");
        assert_eq!(shown_target("/v2/?key=1"), "/v2/");
        assert_eq!(shown_target("//evil/?key=1"), "(not a URL)");
    }
}
