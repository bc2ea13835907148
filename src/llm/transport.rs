//! Requests to the endpoint: sending, retrying, reading bodies, and the errors of each.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use reqwest::{Client, Response};
use serde_json::Value;

use super::answer::ChatAnswer;
use super::budget::{Budget, Stop};
use super::config::OpenAiConfig;
use super::endpoint::ChatEndpoint;
use super::error::{LlmError, LlmErrorKind};
use super::http::{http_client, is_passing};
use super::message::ChatMessage;
use super::refusal::{error_object, refusal, spoken};
use super::retry::{AttemptFailure, Chance, RetryRules, with_retries};
use crate::net::sources;

/// How much of an error page is read, and for how long: it is for one sentence, and a server that fails
/// slowly must leave time for another attempt.
const ERROR_BODY: usize = 64 * 1024;
const ERROR_BODY_TIME: Duration = Duration::from_secs(1);

/// What all clones and streams of a client share: the connections, the checked endpoint, the rules for retries.
pub(crate) struct ChatTransport {
    http: Client,
    rules: RetryRules,
    pub(crate) endpoint: ChatEndpoint,
    pub(crate) config: OpenAiConfig,
}

impl ChatTransport {
    pub(crate) fn new(config: OpenAiConfig) -> Result<Self, LlmError> {
        let endpoint = ChatEndpoint::new(&config)?;
        let rules =
            RetryRules { max_retries: config.max_retries, backoff: config.backoff, chance: Chance::random() };
        Ok(Self { http: http_client(&endpoint)?, rules, endpoint, config })
    }

    /// Sends the request, again where that may help, until an answer begins.
    pub(crate) async fn open(
        &self,
        messages: &[ChatMessage],
        stream: bool,
        budget: &Budget,
    ) -> Result<Response, LlmError> {
        let body = Bytes::from(self.endpoint.request(messages, stream)?);
        let cancelled = || self.stopped(Stop::Cancelled);
        let attempt = || self.send(body.clone(), budget);
        with_retries(&self.rules, budget, cancelled, attempt).await
    }

    async fn send(&self, body: Bytes, budget: &Budget) -> Result<Response, AttemptFailure> {
        let request = self.http.post(self.endpoint.url()).headers(self.endpoint.headers()).body(body);
        let response = match budget.run(request.send()).await {
            Err(stop) => return Err(AttemptFailure::last(self.stopped(stop))),
            Ok(Err(error)) => return Err(self.unreachable(&error)),
            Ok(Ok(response)) => response,
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let budget = budget.at_most(ERROR_BODY_TIME);
        let body = match self.read_body(response, ERROR_BODY, &budget).await {
            Ok(body) | Err(Unread::Large(body) | Unread::Lost(body, _)) => body,
            Err(Unread::Stopped(Stop::Expired, body)) => body,
            Err(Unread::Stopped(stop, _)) => return Err(AttemptFailure::last(self.stopped(stop))),
        };
        Err(refusal(&self.endpoint, status, &headers, &body))
    }

    pub(crate) async fn read_answer(
        &self,
        response: Response,
        budget: &Budget,
    ) -> Result<ChatAnswer, LlmError> {
        self.check_encoding(&response)?;
        let (status, limit) = (response.status().as_u16(), self.config.max_body);
        let body = self.read_body(response, limit, budget).await.map_err(|unread| match unread {
            Unread::Large(_) => self.too_large(&format!("the answer has more than {limit} bytes")),
            Unread::Stopped(stop, _) => self.stopped(stop),
            Unread::Lost(_, cause) => LlmError::new(
                LlmErrorKind::Closed,
                format!(
                    "The model endpoint {} broke off in the middle of its answer: {cause}.",
                    self.endpoint.origin
                ),
            )
            .with_status(status),
        })?;
        let json = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&body);
        let raw: Value = serde_json::from_slice(json).map_err(|error| {
            let said = match self.endpoint.redactor.quote(&spoken(&json[..json.len().min(ERROR_BODY)])) {
                said if said.is_empty() => "nothing".to_owned(),
                said => said,
            };
            self.invalid(&format!("did not answer with JSON ({error}): {said}"))
        })?;
        if let Some(error) = raw.get("error").filter(|error| !error.is_null()) {
            return Err(error_object(&self.endpoint, status, error));
        }
        ChatAnswer::from_raw(raw).map_err(|wrong| self.wrong_shape(&wrong))
    }

    async fn read_body(
        &self,
        mut response: Response,
        limit: usize,
        budget: &Budget,
    ) -> Result<Vec<u8>, Unread> {
        let mut body = Vec::new();
        loop {
            match budget.run(response.chunk()).await {
                Err(stop) => return Err(Unread::Stopped(stop, body)),
                Ok(Err(error)) => return Err(Unread::Lost(body, self.cause(&error))),
                Ok(Ok(None)) => return Ok(body),
                Ok(Ok(Some(bytes))) => {
                    let room = limit - body.len();
                    body.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    if bytes.len() > room {
                        return Err(Unread::Large(body));
                    }
                }
            }
        }
    }

    /// No compression was asked for, so that no small body can become a large one.
    pub(crate) fn check_encoding(&self, response: &Response) -> Result<(), LlmError> {
        match header_text(response.headers(), CONTENT_ENCODING.as_str()) {
            encoding if encoding.is_empty() || encoding == "identity" => Ok(()),
            encoding => {
                let encoding = self.endpoint.redactor.quote(&encoding);
                Err(self
                    .invalid(&format!("answered with the encoding {encoding:?}, which was not asked for")))
            }
        }
    }

    /// The error for a request that got no HTTP answer. Before a connection stands nothing was sent, so
    /// trying again is safe; it helps when the server may just be starting, not when its name is wrong.
    fn unreachable(&self, error: &reqwest::Error) -> AttemptFailure {
        let (origin, cause) = (&self.endpoint.origin, self.cause(error));
        if !error.is_connect() {
            let message = format!("The model endpoint {origin} broke off without an answer: {cause}.");
            return AttemptFailure::last(LlmError::new(LlmErrorKind::Closed, message));
        }
        let message = format!(
            "Could not connect to the model endpoint {origin}: {cause}; check base_url and whether the server is running."
        );
        AttemptFailure {
            error: LlmError::new(LlmErrorKind::Connect, message),
            again: sources(error)
                .filter_map(|source| source.downcast_ref::<io::Error>())
                .any(|error| is_passing(error.kind())),
        }
    }

    pub(crate) fn stopped(&self, stop: Stop) -> LlmError {
        let origin = &self.endpoint.origin;
        match stop {
            Stop::Cancelled => LlmError::new(
                LlmErrorKind::Cancelled,
                format!("The request to the model endpoint {origin} was cancelled."),
            ),
            Stop::Expired => LlmError::new(
                LlmErrorKind::Timeout,
                format!(
                    "The model endpoint {origin} had not finished its answer after {} s; raise timeout or ask for less.",
                    self.config.timeout.as_secs_f64()
                ),
            ),
        }
    }

    /// An answer that is not a chat completion; `what` continues "The model endpoint …".
    pub(crate) fn invalid(&self, what: &str) -> LlmError {
        LlmError::new(
            LlmErrorKind::InvalidResponse,
            format!(
                "The model endpoint {} {what}; check that base_url is that of an OpenAI-compatible chat API.",
                self.endpoint.origin
            ),
        )
    }

    pub(crate) fn wrong_shape(&self, wrong: &str) -> LlmError {
        self.invalid(&format!("answered with JSON that is not a chat completion: {wrong}"))
    }

    pub(crate) fn too_large(&self, what: &str) -> LlmError {
        LlmError::new(
            LlmErrorKind::Limit,
            format!(
                "The model endpoint {} sent too much: {what}; lower max_tokens or raise max_body.",
                self.endpoint.origin
            ),
        )
    }

    /// The innermost reason, which says what happened; the outer ones name the URL with its query.
    pub(crate) fn cause(&self, error: &reqwest::Error) -> String {
        let reason = sources(error)
            .last()
            .map_or_else(|| "the HTTP library gave no reason".to_owned(), ToString::to_string);
        self.endpoint.redactor.quote(&reason)
    }
}

/// Why a body was not read to its end, with what came of it.
enum Unread {
    Large(Vec<u8>),
    Stopped(Stop, Vec<u8>),
    Lost(Vec<u8>, String),
}

pub(crate) fn header_text(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_ascii_lowercase()
}
