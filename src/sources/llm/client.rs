//! The client: it asks, asks again where that may help, and reads the answer, all before one deadline.

use super::endpoint::{ChatEndpoint, OpenAiConfig};
use super::stream::{ChatAnswer, ChatStream};
use crate::web::{read_body, shown_url};
use bytes::Bytes;
use reqwest::Response;
use reqwest::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, LOCATION};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use toolhub_protocol::net::{self, Backoff, retry_after};
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Result};
use toolhub_types::model::FOREVER;

/// How much of an error page is read, and for how long: it is for one sentence, and a server that fails
/// slowly must leave time for another attempt.
const ERROR_BODY: usize = 64 * 1024;
const ERROR_BODY_TIME: Duration = Duration::from_secs(1);

/// A client of one model at one endpoint. Cloning is cheap and shares the connections.
///
/// Its futures have to run in a tokio runtime that has I/O and time enabled. Dropping one cancels the request.
#[derive(Clone)]
pub struct OpenAi(Arc<ChatEndpoint>);

impl OpenAi {
    /// Checks the configuration. Nothing is connected yet.
    pub fn new(config: OpenAiConfig) -> Result<Self> {
        Ok(Self(Arc::new(ChatEndpoint::new(config)?)))
    }

    /// Asks and waits for the whole answer.
    pub async fn chat(&self, messages: &[Value]) -> Result<ChatAnswer> {
        let deadline = self.deadline();
        let answer = async {
            let response = self.open(messages, false, deadline).await?;
            self.0.read_answer(response).await
        };
        timeout_at(deadline, answer).await.unwrap_or_else(|_| Err(self.0.expired()))
    }

    /// Asks and returns as soon as the answer begins. The timeout covers the whole stream. Nothing is
    /// tried again once the answer has begun.
    pub async fn stream(&self, messages: &[Value]) -> Result<ChatStream> {
        let deadline = self.deadline();
        let stream = async {
            let response = self.open(messages, true, deadline).await?;
            // Not every server can stream, and a login page is not an event stream; the many other types
            // that servers give to theirs are taken for one.
            let media_type = header_text(&response, &CONTENT_TYPE);
            if media_type.contains("json") || media_type.contains("html") {
                let answer = self.0.read_answer(response).await?;
                return Ok(ChatStream::of_answer(answer.text));
            }
            self.0.check_encoding(&response)?;
            Ok(ChatStream::new(self.0.clone(), deadline, response))
        };
        timeout_at(deadline, stream).await.unwrap_or_else(|_| Err(self.0.expired()))
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.0.config.timeout.min(FOREVER)
    }

    /// Sends the request, again where that may help, until an answer begins.
    async fn open(&self, messages: &[Value], stream: bool, deadline: Instant) -> Result<Response> {
        let body = Bytes::from(self.0.request(messages, stream)?);
        let (retries, backoff) = (self.0.config.max_retries, &self.0.config.backoff);
        with_retries(retries, backoff, deadline, || self.0.send(body.clone(), deadline)).await
    }
}

impl ChatEndpoint {
    async fn send(&self, body: Bytes, deadline: Instant) -> Result<Response> {
        let request = self.http.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let mut response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let limit = ERROR_BODY_TIME.min(deadline.saturating_duration_since(Instant::now()));
        let mut page = Vec::new();
        let _ = timeout(limit, read_body(&mut response, ERROR_BODY, &mut page)).await;
        Err(self.refusal(&response, &page))
    }

    async fn read_answer(&self, mut response: Response) -> Result<ChatAnswer> {
        self.check_encoding(&response)?;
        let (status, limit) = (response.status().as_u16(), self.config.max_body);
        let mut body = Vec::new();
        let is_whole = read_body(&mut response, limit, &mut body).await.map_err(|error| {
            let message = message!(
                "The model endpoint {} broke off in the middle of its answer: {}.",
                self.origin,
                self.cause(&error)
            );
            HubError { status: Some(status), ..HubError::new(ErrorKind::Closed, message) }
        })?;
        if !is_whole {
            return Err(self.too_large(message!("the answer has more than {} bytes", limit)));
        }
        let json = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&body);
        let raw: Value = serde_json::from_slice(json).map_err(|error| {
            let quoted = match self.redactor.quote(&readable_text(&json[..json.len().min(ERROR_BODY)])) {
                quoted if quoted.is_empty() => "nothing".to_owned(),
                quoted => quoted,
            };
            self.invalid(message!("did not answer with JSON ({}): {}", error, quoted))
        })?;
        if let Some(error) = raw.get("error").filter(|error| !error.is_null()) {
            return Err(self.error_object(status, error));
        }
        ChatAnswer::from_raw(raw).map_err(|wrong| self.wrong_shape(wrong))
    }

    /// No compression was asked for, so that no small body can become a large one.
    fn check_encoding(&self, response: &Response) -> Result<()> {
        match header_text(response, &CONTENT_ENCODING) {
            encoding if encoding.is_empty() || encoding == "identity" => Ok(()),
            encoding => {
                let encoding = self.redactor.quote(&encoding);
                Err(self.invalid(format!("answered with the encoding {encoding:?}, which was not asked for")))
            }
        }
    }
}

fn header_text(response: &Response, name: &HeaderName) -> String {
    let value = response.headers().get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_ascii_lowercase()
}

// When to try again, and how long to wait before it.
//
// The loop does not depend on HTTP: an attempt is any future and the clock is tokio's, so the tests run it on a paused clock.

/// Runs `attempt` until it succeeds, fails for good, or the retries or the time are used up. A wait beyond the deadline is
/// not begun: the caller gets the real error now instead of a timeout later.
pub(super) async fn with_retries<T, F>(
    max_retries: u32,
    backoff: &Backoff,
    deadline: Instant,
    mut attempt: impl FnMut() -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let mut retry = 0;
    loop {
        let error = match attempt().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let asked = error.retry_after.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let wait = backoff.spread(retry, fastrand::f64(), asked);
        let remaining = deadline.saturating_duration_since(Instant::now());
        if !may_pass(&error) || retry >= max_retries || wait >= remaining {
            let message = match retry {
                0 => error.message,
                _ => message!("{} (tried {} times).", error.message.clause(), retry + 1),
            };
            return Err(HubError { message, ..error });
        }
        tokio::time::sleep(wait).await;
        retry += 1;
    }
}

/// Before a connection stands nothing was sent, so trying again is safe; the server may just be starting.
fn may_pass(error: &HubError) -> bool {
    error.kind == ErrorKind::Connect || matches!(error.status, Some(429 | 500..=599))
}

// What goes wrong at an endpoint, as one sentence that says what to do.

impl ChatEndpoint {
    /// The error for an HTTP status that is not a success, and what came with it.
    pub(super) fn refusal(&self, response: &Response, body: &[u8]) -> HubError {
        let status = response.status().as_u16();
        let wait = retry_after(response.headers());
        let detail = self.redactor.quote(&readable_text(body));
        let (origin, why) = (&self.origin, format!("(HTTP {status}){}", after_colon(&detail)));
        let message = match status {
            401 | 403 if self.headers.contains_key(AUTHORIZATION) => message!(
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
                let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
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
        };
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
        let kind = code.filter(|code| (400..600).contains(code)).map_or(ErrorKind::Http, kind_of);
        let detail = self.redactor.quote(&message_of(error).unwrap_or_else(|| error.to_string()));
        let message = message!(
            "The model endpoint {} reported an error instead of an answer{}.",
            self.origin,
            after_colon(&detail)
        );
        HubError { status: Some(status), ..HubError::new(kind, message) }
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
        let text = message!("The model endpoint {} sent too much: {}; lower max_tokens.", self.origin, what);
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
mod retry_tests {
    use super::super::endpoint::BACKOFF;
    use super::*;
    use std::cell::Cell;

    const SECOND: Duration = Duration::from_secs(1);

    fn busy(retry_after: Option<Duration>) -> HubError {
        let retry_after = retry_after.map(|wait| wait.as_secs_f64());
        HubError { retry_after, status: Some(429), ..HubError::new(ErrorKind::Overloaded, "busy") }
    }

    /// Runs attempts that all fail like this: the error, the number of attempts and the time that passed.
    async fn run(
        max_retries: u32,
        total: Duration,
        failure: impl Fn() -> HubError,
    ) -> (HubError, u32, Duration) {
        let (start, count) = (Instant::now(), Cell::new(0));
        let result: Result<(), _> = with_retries(max_retries, &BACKOFF, start + total, || {
            count.set(count.get() + 1);
            std::future::ready(Err(failure()))
        })
        .await;
        (result.unwrap_err(), count.get(), start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn waits_double_and_the_message_counts_the_attempts() {
        let (error, count, passed) = run(2, 10 * SECOND, || busy(None)).await;
        assert_eq!(error.message, "busy (tried 3 times).");
        assert_eq!(count, 3);
        // Half of each wait is left to chance; the paused clock rounds each of them up to a millisecond.
        assert!((750..=1502).contains(&passed.as_millis()), "{passed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_may_ask_for_longer_waits() {
        let (_, count, passed) = run(2, 10 * SECOND, || busy(Some(4 * SECOND))).await;
        assert_eq!((count, passed), (3, 8 * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_beyond_the_deadline_is_not_begun() {
        let (error, count, passed) = run(2, 10 * SECOND, || busy(Some(60 * SECOND))).await;
        assert_eq!(error.kind, ErrorKind::Overloaded);
        assert_eq!(error.message, "busy");
        assert_eq!((count, passed), (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_final_failure_is_not_tried_again() {
        let failure = || HubError { status: Some(400), ..busy(None) };
        let (_, count, _) = run(2, 10 * SECOND, failure).await;
        assert_eq!(count, 1);
        let (_, count, _) = run(0, 10 * SECOND, || busy(None)).await;
        assert_eq!(count, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_success_wins() {
        let count = Cell::new(0);
        let result = with_retries(2, &BACKOFF, Instant::now() + 10 * SECOND, || {
            count.set(count.get() + 1);
            std::future::ready(match count.get() {
                1 => Err(busy(None)),
                n => Ok(n),
            })
        })
        .await;
        assert_eq!(result, Ok(2));
    }
}

#[cfg(test)]
mod refusal_tests {
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
