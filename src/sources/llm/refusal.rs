//! What goes wrong at an endpoint, as one sentence that says what to do.

use super::endpoint::ChatEndpoint;
use crate::web::shown_url;
use reqwest::Response;
use reqwest::header::LOCATION;
use serde_json::Value;
use std::time::Duration;
use toolhub_protocol::net::{self, retry_after};
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError};

impl ChatEndpoint {
    /// The error for an HTTP status that is not a success, and what came with it.
    pub(super) fn refusal(&self, response: &Response, body: &[u8]) -> HubError {
        let status = response.status().as_u16();
        let wait = retry_after(response.headers());
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let message = self.sentence(status, &self.redactor.quote(&readable_text(body)), wait, location);
        HubError {
            status: Some(status),
            retry_after: wait.map(|wait| wait.as_secs_f64()),
            ..HubError::new(kind_of(status), message)
        }
    }

    /// The error for an `error` object inside an answer that began with 200, whole or streamed. Some servers
    /// put the status that they would have sent into its `code`.
    pub(super) fn error_object(&self, status: u16, error: &Value) -> HubError {
        let code = error.get("code").and_then(|code| match code {
            Value::String(digits) => digits.parse().ok(),
            number => number.as_u64().and_then(|n| u16::try_from(n).ok()),
        });
        let kind = match code {
            Some(code @ 400..=599) => kind_of(code),
            _ => ErrorKind::Http,
        };
        let detail = self.redactor.quote(&message_of(error).unwrap_or_else(|| error.to_string()));
        let message = message!(
            "The model endpoint {} reported an error instead of an answer{}.",
            self.origin,
            after_colon(&detail)
        );
        HubError { status: Some(status), ..HubError::new(kind, message) }
    }

    fn sentence(&self, status: u16, detail: &str, wait: Option<Duration>, location: Option<&str>) -> Message {
        let (origin, why) = (&self.origin, format!("(HTTP {status}){}", after_colon(detail)));
        match status {
            401 | 403 if self.has_key() => message!(
                "The model endpoint {} refused the API key {}; set OPENAI_API_KEY or pass api_key.",
                origin,
                why
            ),
            401 | 403 => message!(
                "The model endpoint {} requires an API key {}; set OPENAI_API_KEY or pass api_key.",
                origin,
                why
            ),
            404 if detail.to_lowercase().contains("model") => {
                let model = format!("{:?} {why}", self.config.model);
                message!(
                    "The model endpoint {} does not know the model {}; pass a model that it serves.",
                    origin,
                    model
                )
            }
            404 => message!(
                "The model endpoint {} has no chat API at {}; check base_url, which usually ends in /v1.",
                origin,
                format!("{} {why}", self.url.path())
            ),
            429 => match wait.filter(|wait| !wait.is_zero()).map(|wait| wait.as_secs_f64()) {
                Some(seconds) => message!(
                    "The model endpoint {} is limiting requests and asks to wait {} s {}.",
                    origin,
                    seconds,
                    why
                ),
                None => message!("The model endpoint {} is limiting requests {}.", origin, why),
            },
            300..=399 => {
                let target = location.and_then(|to| self.url.join(to).ok());
                let target = target.map(|to| format!("to {}", self.redactor.quote(&shown_url(&to))));
                message!(
                    "The model endpoint {} redirects {} (HTTP {}), which is not followed so that the API key stays with its server; \
                     set base_url to the final address.",
                    origin,
                    target.as_deref().unwrap_or("elsewhere"),
                    status
                )
            }
            500..=599 => message!("The model endpoint {} failed {}.", origin, why),
            _ => message!("The model endpoint {} rejected the request {}.", origin, why),
        }
    }

    /// The error for a request that got no HTTP answer.
    pub(super) fn unreachable(&self, error: &reqwest::Error) -> HubError {
        let (origin, cause) = (&self.origin, self.cause(error));
        if !error.is_connect() {
            let message = message!("The model endpoint {} broke off without an answer: {}.", origin, cause);
            return HubError::new(ErrorKind::Closed, message);
        }
        let message = message!(
            "Could not connect to the model endpoint {}: {}; check base_url and whether the server is running.",
            origin,
            cause
        );
        HubError::new(ErrorKind::Connect, message)
    }

    pub(super) fn expired(&self) -> HubError {
        let message = message!(
            "The model endpoint {} had not finished its answer after {} s; raise timeout or ask for less.",
            self.origin,
            self.config.timeout.as_secs_f64()
        );
        HubError::new(ErrorKind::Timeout, message)
    }

    /// An answer that is not a chat completion; `what` continues "The model endpoint …".
    pub(super) fn invalid(&self, what: impl Into<Message>) -> HubError {
        let text = message!(
            "The model endpoint {} {}; check that base_url points to an OpenAI-compatible chat API.",
            self.origin,
            what.into()
        );
        HubError::new(ErrorKind::Protocol, text)
    }

    pub(super) fn wrong_shape(&self, wrong: &'static str) -> HubError {
        let wrong = Message::from(wrong);
        self.invalid(message!("answered with JSON that is not a chat completion: {}", wrong))
    }

    pub(super) fn too_large(&self, what: Message) -> HubError {
        let text = message!(
            "The model endpoint {} sent too much: {}; lower max_tokens or raise max_body.",
            self.origin,
            what
        );
        HubError::new(ErrorKind::Limit, text)
    }

    pub(super) fn cause(&self, error: &reqwest::Error) -> String {
        self.redactor.quote(&net::reason(error))
    }
}

fn kind_of(status: u16) -> ErrorKind {
    match status {
        401 | 403 => ErrorKind::Auth,
        429 => ErrorKind::Overloaded,
        _ => ErrorKind::Http,
    }
}

/// `: detail`, without the full stop that would end our sentence early; nothing when there is none.
fn after_colon(detail: &str) -> String {
    let detail = detail.trim_end_matches(['.', ' ']);
    if detail.is_empty() { String::new() } else { format!(": {detail}") }
}

/// An error body as text: the message of an error object, the title of an HTML page, or the text.
pub(super) fn readable_text(body: &[u8]) -> String {
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
}
