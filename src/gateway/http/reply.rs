//! The reply to an HTTP request.

use crate::answer::AnsweredRequest;
use crate::operate::{HeldMessage, NoRoom};
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

    pub fn json(status: StatusCode, message: impl Into<HeldMessage>) -> Self {
        let body = ReplyBody::Whole(message.into().into_bytes());
        HttpReply { status, headers: Vec::new(), body }
            .with(header::CONTENT_TYPE, HeaderValue::from_static(JSON))
    }

    pub fn text(status: StatusCode, text: impl Into<Bytes>) -> Self {
        let body = ReplyBody::Whole(text.into());
        HttpReply { status, headers: Vec::new(), body }
            .with(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))
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
        let body = ReplyBody::Events(Box::pin(stream));
        HttpReply { status: StatusCode::OK, headers: Vec::new(), body }
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

    /// The reply to a request whose body, or whose answer, there is no room for.
    pub fn no_room(no_room: NoRoom) -> Self {
        let text = match no_room {
            NoRoom::OfCaller => {
                "Too much of your requests and unread answers is held at once; read the answers, or try again later"
            }
            NoRoom::OfAll => {
                "Too much of the requests and unread answers of all callers is held at once; try again later"
            }
        };
        HttpReply::refused(no_room_status(no_room), &RpcError::new(TRY_LATER, text)).later()
    }

    fn later(self) -> Self {
        self.with(header::RETRY_AFTER, HeaderValue::from_static("1"))
    }

    /// The reply to a body that is too large.
    pub fn too_large() -> Self {
        HttpReply::invalid(StatusCode::PAYLOAD_TOO_LARGE, "Message exceeds the size limit")
    }
}
