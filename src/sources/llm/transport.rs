//! Requests to the endpoint: sending, retrying, reading bodies, and the errors of each.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use reqwest::{Client, Response};
use serde_json::Value;

use super::answer::ChatAnswer;
use super::config::OpenAiConfig;
use super::deadline::{ChatDeadline, Expired};
use super::endpoint::ChatEndpoint;
use super::http::{http_client, is_passing};
use super::message::ChatMessage;
use super::refusal::{error_object, readable_text, refusal};
use super::retry::{AttemptFailure, RetryRules, with_retries};
use toolhub_protocol::net::sources;
use toolhub_types::error::{ErrorKind, HubError};

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
    pub(crate) fn new(config: OpenAiConfig) -> Result<Self, HubError> {
        let endpoint = ChatEndpoint::new(&config)?;
        let rules = RetryRules { max_retries: config.max_retries, backoff: config.backoff };
        Ok(Self { http: http_client(&endpoint)?, rules, endpoint, config })
    }

    /// Sends the request, again where that may help, until an answer begins.
    pub(crate) async fn open(
        &self,
        messages: &[ChatMessage],
        stream: bool,
        deadline: ChatDeadline,
    ) -> Result<Response, HubError> {
        let body = Bytes::from(self.endpoint.request(messages, stream)?);
        with_retries(&self.rules, deadline, || self.send(body.clone(), deadline)).await
    }

    async fn send(&self, body: Bytes, deadline: ChatDeadline) -> Result<Response, AttemptFailure> {
        let request = self.http.post(self.endpoint.url()).headers(self.endpoint.headers()).body(body);
        let response = match deadline.run(request.send()).await {
            Err(Expired) => return Err(AttemptFailure::last(self.expired())),
            Ok(Err(error)) => return Err(self.unreachable(&error)),
            Ok(Ok(response)) => response,
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let deadline = deadline.at_most(ERROR_BODY_TIME);
        let (Ok(body) | Err(Unread::Large(body) | Unread::Lost(body, _) | Unread::Late(body))) =
            self.read_body(response, ERROR_BODY, deadline).await;
        Err(refusal(&self.endpoint, status, &headers, &body))
    }

    pub(crate) async fn read_answer(
        &self,
        response: Response,
        deadline: ChatDeadline,
    ) -> Result<ChatAnswer, HubError> {
        self.check_encoding(&response)?;
        let (status, limit) = (response.status().as_u16(), self.config.max_body);
        let body = self.read_body(response, limit, deadline).await.map_err(|unread| match unread {
            Unread::Large(_) => self.too_large(&format!("the answer has more than {limit} bytes")),
            Unread::Late(_) => self.expired(),
            Unread::Lost(_, cause) => {
                let message = format!(
                    "The model endpoint {} broke off in the middle of its answer: {cause}.",
                    self.endpoint.origin
                );
                HubError { status: Some(status), ..HubError::new(ErrorKind::Closed, message) }
            }
        })?;
        let json = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&body);
        let raw: Value = serde_json::from_slice(json).map_err(|error| {
            let quoted =
                match self.endpoint.redactor.quote(&readable_text(&json[..json.len().min(ERROR_BODY)])) {
                    quoted if quoted.is_empty() => "nothing".to_owned(),
                    quoted => quoted,
                };
            self.invalid(&format!("did not answer with JSON ({error}): {quoted}"))
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
        deadline: ChatDeadline,
    ) -> Result<Vec<u8>, Unread> {
        let mut body = Vec::new();
        loop {
            match deadline.run(response.chunk()).await {
                Err(Expired) => return Err(Unread::Late(body)),
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
    pub(crate) fn check_encoding(&self, response: &Response) -> Result<(), HubError> {
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
            return AttemptFailure::last(HubError::new(ErrorKind::Closed, message));
        }
        let message = format!(
            "Could not connect to the model endpoint {origin}: {cause}; check base_url and whether the server is running."
        );
        AttemptFailure {
            error: HubError::new(ErrorKind::Connect, message),
            again: sources(error)
                .filter_map(|source| source.downcast_ref::<io::Error>())
                .any(|error| is_passing(error.kind())),
        }
    }

    pub(crate) fn expired(&self) -> HubError {
        let message = format!(
            "The model endpoint {} had not finished its answer after {} s; raise timeout or ask for less.",
            self.endpoint.origin,
            self.config.timeout.as_secs_f64()
        );
        HubError::new(ErrorKind::Timeout, message)
    }

    /// An answer that is not a chat completion; `what` continues "The model endpoint …".
    pub(crate) fn invalid(&self, what: &str) -> HubError {
        HubError::new(
            ErrorKind::Protocol,
            format!(
                "The model endpoint {} {what}; check that base_url points to an OpenAI-compatible chat API.",
                self.endpoint.origin
            ),
        )
    }

    pub(crate) fn wrong_shape(&self, wrong: &str) -> HubError {
        self.invalid(&format!("answered with JSON that is not a chat completion: {wrong}"))
    }

    pub(crate) fn too_large(&self, what: &str) -> HubError {
        HubError::new(
            ErrorKind::Limit,
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
    Late(Vec<u8>),
    Lost(Vec<u8>, String),
}

pub(crate) fn header_text(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_ascii_lowercase()
}
