//! The reply to an HTTP request: whole, or as server-sent events, with messages for the client as they come before the answer
//! itself; and which of the two the client takes.

use crate::exchange::AnsweredRequest;
use crate::operate::{HeldMessage, NoRoom, TooMany};
use crate::rpc::{RpcError, TRY_LATER, error_message};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{Stream, StreamExt, unfold};
use http::header::AsHeaderName;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::DropGuard;
use toolhub_types::blocking::block_if_large;

pub const JSON: &str = "application/json";
pub const EVENTS: &str = "text/event-stream";

fn no_room_status(no_room: NoRoom) -> StatusCode {
    match no_room {
        NoRoom::OfCaller => StatusCode::TOO_MANY_REQUESTS,
        NoRoom::OfAll => StatusCode::SERVICE_UNAVAILABLE,
    }
}

pub struct HttpReply {
    pub status: StatusCode,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: ReplyBody,
}

pub enum ReplyBody {
    Whole(Bytes),
    /// Server-sent events. Dropping the stream cancels the request.
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl HttpReply {
    pub fn empty(status: StatusCode) -> Self {
        HttpReply { status, headers: Vec::new(), body: ReplyBody::Whole(Bytes::new()) }
    }

    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// A whole body of this type.
    pub fn of(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Self {
        HttpReply { body: ReplyBody::Whole(body.into()), ..HttpReply::empty(status) }
            .with(header::CONTENT_TYPE, HeaderValue::from_static(kind))
    }

    pub fn json(status: StatusCode, message: impl Into<HeldMessage>) -> Self {
        HttpReply::of(status, JSON, message.into().into_bytes())
    }

    pub fn text(status: StatusCode, text: impl Into<Bytes>) -> Self {
        HttpReply::of(status, "text/plain; charset=utf-8", text)
    }

    /// A JSON-RPC error that belongs to no request.
    pub fn refused(status: StatusCode, error: &RpcError) -> Self {
        HttpReply::json(status, error_message(None, error))
    }

    /// A request that is refused as it is.
    pub fn invalid(status: StatusCode, text: impl Into<Cow<'static, str>>) -> Self {
        HttpReply::refused(status, &RpcError::invalid_request(text))
    }

    pub fn not_allowed(allowed: &'static str) -> Self {
        HttpReply::empty(StatusCode::METHOD_NOT_ALLOWED)
            .with(header::ALLOW, HeaderValue::from_static(allowed))
    }

    pub fn events(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        HttpReply { body: ReplyBody::Events(Box::pin(stream)), ..HttpReply::empty(StatusCode::OK) }
            .with(header::CONTENT_TYPE, HeaderValue::from_static(EVENTS))
            .with(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"))
            .with(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"))
    }

    /// The answer to a request that nothing was sent before.
    pub fn answer(status: StatusCode, answer: AnsweredRequest) -> Self {
        match answer.no_room {
            None => HttpReply::json(status, answer.message),
            Some(no_room) => HttpReply::json(no_room_status(no_room), answer.message).later(),
        }
    }

    fn later(self) -> Self {
        self.with(header::RETRY_AFTER, HeaderValue::from_static("1"))
    }

    /// The reply to a body that is too large.
    pub fn too_large() -> Self {
        HttpReply::invalid(StatusCode::PAYLOAD_TOO_LARGE, "Message exceeds the size limit")
    }
}

/// The reply to a request whose body there is no room for.
impl From<NoRoom> for HttpReply {
    fn from(no_room: NoRoom) -> Self {
        let advice = match no_room {
            NoRoom::OfCaller => "read the answers, or try again later",
            NoRoom::OfAll => "try again later",
        };
        let error =
            RpcError::new(TRY_LATER, format!("Too much of {} held at once; {advice}", no_room.what()));
        HttpReply::refused(no_room_status(no_room), &error).later()
    }
}

/// The reply to a caller who has too much running.
impl From<TooMany> for HttpReply {
    fn from(refused: TooMany) -> Self {
        HttpReply::invalid(StatusCode::TOO_MANY_REQUESTS, "Too many requests at once; try again later")
            .with(header::RETRY_AFTER, HeaderValue::from(refused.seconds))
    }
}

/// A comment, which clients ignore and which keeps proxies from closing the connection.
pub fn comment() -> Bytes {
    Bytes::from_static(b": \n\n")
}

/// A JSON-RPC message as an event. Messages have no line ends.
pub fn event(message: impl Into<HeldMessage>) -> Bytes {
    let HeldMessage { text, held } = message.into();
    let text = block_if_large(text.len(), || format!("event: message\ndata: {text}\n\n"));
    HeldMessage { text, held }.into_bytes()
}

/// Answers as an event stream: `first` is sent before anything else. A tool may keep its way to the client, but the end of the answers
/// is the end of the stream. Dropping it drops the guard, which cancels the requests.
pub fn answer_events(
    first: VecDeque<HeldMessage>,
    messages: mpsc::Receiver<HeldMessage>,
    answers: impl Stream<Item = HeldMessage> + Send + Unpin + 'static,
    keep_alive: Duration,
    guard: DropGuard,
) -> HttpReply {
    let state = (first, messages, answers, guard);
    HttpReply::events(unfold(state, move |(mut first, mut messages, mut answers, guard)| async move {
        let next = match first.pop_front() {
            Some(first) => event(first),
            None => tokio::select! {
                biased;
                Some(message) = messages.recv() => event(message),
                answer = answers.next() => event(answer?),
                () = tokio::time::sleep(keep_alive) => comment(),
            },
        };
        Some((next, (first, messages, answers, guard)))
    }))
}

/// Gives the answer, or `None` if the request panicked.
pub struct RunningAnswer(Option<BoxFuture<'static, Option<AnsweredRequest>>>);

impl RunningAnswer {
    pub fn new(request: impl Future<Output = AnsweredRequest> + Send + 'static) -> Self {
        Self(Some(AssertUnwindSafe(request).catch_unwind().map(Result::ok).boxed()))
    }

    /// Waits for the answer; may be dropped and called again.
    pub async fn come(&mut self) -> Option<AnsweredRequest> {
        let answer = self.0.as_mut()?.await;
        self.0 = None;
        answer
    }

    /// Goes on in a task of its own, which gives the answer.
    pub fn detach(&mut self) -> oneshot::Receiver<AnsweredRequest> {
        let (done, answered) = oneshot::channel();
        // Without a runtime nothing can go on, and the tools have ended with it.
        if let (Some(request), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async move {
                if let Some(answer) = request.await {
                    // The client may have gone.
                    let _ = done.send(answer);
                }
            });
        }
        answered
    }
}

impl Drop for RunningAnswer {
    fn drop(&mut self) {
        if self.0.is_some() {
            drop(self.detach());
        }
    }
}

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
