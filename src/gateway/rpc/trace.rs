//! How a request came, and the span that it got.

use http::HeaderMap;
use std::sync::OnceLock;
use toolhub_types::telemetry::TraceContext;

/// How a request came, and the span that it got.
#[derive(Clone, Debug, Default)]
pub struct RequestTrace {
    /// The `traceparent` of the HTTP request. The one in `_meta` counts more: it belongs to this message alone.
    pub header: Option<String>,
    pub is_http: bool,
    span: OnceLock<TraceContext>,
}

impl RequestTrace {
    pub fn of_http(headers: &HeaderMap, is_on: bool) -> Self {
        let header = headers.get(toolhub_types::telemetry::TRACE_PARENT).filter(|_| is_on);
        let header = header.and_then(|value| value.to_str().ok()).map(str::to_owned);
        RequestTrace { header, is_http: true, span: OnceLock::new() }
    }

    /// A part of an HTTP request that carries several messages.
    pub fn of_batch() -> Self {
        RequestTrace { is_http: true, ..RequestTrace::default() }
    }

    /// The request has got a span; all that is done for it is inside.
    pub fn enter(&self, span: TraceContext) {
        // A request is answered once.
        let _ = self.span.set(span);
    }

    pub fn span(&self) -> Option<TraceContext> {
        self.span.get().copied()
    }
}
