//! The reply to an HTTP request.

use crate::answer::AnsweredRequest;
use crate::operate::{HeldMessage, NoRoom, TooMany};
use crate::rpc::{RpcError, TRY_LATER, error_message};
use bytes::Bytes;
use futures_util::stream::Stream;
use http::{HeaderName, HeaderValue, StatusCode, header};
use std::borrow::Cow;
use std::pin::Pin;

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
