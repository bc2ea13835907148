//! The client: it asks, asks again where that may help, and reads the answer, all before one deadline.

use super::endpoint::{ChatEndpoint, OpenAiConfig};
use super::refusal::readable_text;
use super::stream::{ChatAnswer, ChatStream};
use crate::web::read_body;
use bytes::Bytes;
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use toolhub_protocol::net::Backoff;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError};
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
    pub fn new(config: OpenAiConfig) -> Result<Self, HubError> {
        Ok(Self(Arc::new(ChatEndpoint::new(config)?)))
    }

    /// Asks and waits for the whole answer.
    pub async fn chat(&self, messages: &[Value]) -> Result<ChatAnswer, HubError> {
        let deadline = self.deadline();
        let answer = async {
            let response = self.open(messages, false, deadline).await?;
            self.0.read_answer(response).await
        };
        timeout_at(deadline, answer).await.unwrap_or_else(|_| Err(self.0.expired()))
    }

    /// Asks and returns as soon as the answer begins. The timeout covers the whole stream. Nothing is
    /// tried again once the answer has begun.
    pub async fn stream(&self, messages: &[Value]) -> Result<ChatStream, HubError> {
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
    async fn open(&self, messages: &[Value], stream: bool, deadline: Instant) -> Result<Response, HubError> {
        let body = Bytes::from(self.0.request(messages, stream)?);
        let (retries, backoff) = (self.0.config.max_retries, &self.0.config.backoff);
        with_retries(retries, backoff, deadline, || self.0.send(body.clone(), deadline)).await
    }
}

impl ChatEndpoint {
    async fn send(&self, body: Bytes, deadline: Instant) -> Result<Response, HubError> {
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

    async fn read_answer(&self, mut response: Response) -> Result<ChatAnswer, HubError> {
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
    fn check_encoding(&self, response: &Response) -> Result<(), HubError> {
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
) -> Result<T, HubError>
where
    F: Future<Output = Result<T, HubError>>,
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
            return Err(with_attempts(error, retry + 1));
        }
        tokio::time::sleep(wait).await;
        retry += 1;
    }
}

/// Before a connection stands nothing was sent, so trying again is safe; the server may just be starting.
fn may_pass(error: &HubError) -> bool {
    error.kind == ErrorKind::Connect || matches!(error.status, Some(429 | 500..=599))
}

fn with_attempts(mut error: HubError, attempts: u32) -> HubError {
    if attempts > 1 {
        error.message = message!("{} (tried {} times).", error.message.clause(), attempts);
    }
    error
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
