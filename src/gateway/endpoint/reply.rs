//! The reply to an HTTP request.

use crate::gateway::rpc::{RpcError, error_message};
use bytes::Bytes;
use futures_util::stream::Stream;
use http::{HeaderName, HeaderValue, StatusCode, header};
use std::pin::Pin;

pub const JSON: &str = "application/json";
pub const EVENTS: &str = "text/event-stream";

pub struct HttpReply {
    pub status: StatusCode,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: ReplyBody,
    /// The events have no end of their own.
    pub is_standing: bool,
}

pub enum ReplyBody {
    Whole(Bytes),
    /// Server-sent events. Dropping the stream cancels the request.
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl HttpReply {
    pub fn empty(status: StatusCode) -> Self {
        HttpReply { status, headers: Vec::new(), is_standing: false, body: ReplyBody::Whole(Bytes::new()) }
    }

    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub fn json(status: StatusCode, message: String) -> Self {
        let body = ReplyBody::Whole(Bytes::from(message));
        HttpReply { status, headers: Vec::new(), is_standing: false, body }
            .with(header::CONTENT_TYPE, HeaderValue::from_static(JSON))
    }

    pub fn text(status: StatusCode, text: impl Into<Bytes>) -> Self {
        let body = ReplyBody::Whole(text.into());
        HttpReply { status, headers: Vec::new(), is_standing: false, body }
            .with(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))
    }

    /// A JSON-RPC error that belongs to no request.
    pub fn refused(status: StatusCode, error: &RpcError) -> Self {
        HttpReply::json(status, error_message(None, error))
    }

    pub fn events(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        let body = ReplyBody::Events(Box::pin(stream));
        HttpReply { status: StatusCode::OK, headers: Vec::new(), is_standing: false, body }
            .with(header::CONTENT_TYPE, HeaderValue::from_static(EVENTS))
            .with(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"))
            .with(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"))
    }

    /// A stream that lasts until one side ends it.
    pub fn standing(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        HttpReply { is_standing: true, ..HttpReply::events(stream) }
    }

    /// The reply to a body that is too large.
    pub fn too_large() -> Self {
        let error = RpcError::invalid_request("The message is larger than this server accepts");
        HttpReply::refused(StatusCode::PAYLOAD_TOO_LARGE, &error)
    }
}
