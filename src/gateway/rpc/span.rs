//! The span of a request of a client, from its arrival to its answer.

use crate::Exchange;
use crate::rpc::{RpcError, RpcParams, RpcRequest};
use http::HeaderMap;
use serde_json::Value;
use std::sync::OnceLock;
use toolhub_types::blocking::block_if_large;
use toolhub_types::telemetry::{
    OpenSpan, SpanAttribute, SpanSide, TRACE_PARENT, TRACE_STATE, TraceContext, TraceParent, is_tool_error,
    session_name,
};

/// The span that the request names as its parent, in `_meta` or in a header.
fn parent(params: &RpcParams, header: Option<&str>) -> TraceParent {
    let text = |key| params.meta().and_then(|meta| meta.get(key)).and_then(Value::as_str);
    let own = TraceParent::of(text(TRACE_PARENT), text(TRACE_STATE));
    if own.context.is_some() { own } else { TraceParent::of(header, None) }
}

/// Begins the span of a request. Called only if telemetry is on; `method` is none that a client made up.
pub fn begin(exchange: &Exchange, request: &RpcRequest, method: &str) -> Option<Box<OpenSpan>> {
    let gateway = &exchange.gateway;
    let telemetry = &gateway.hub.telemetry;
    let params = &request.params;
    let (trace, caller) = (&exchange.trace, &exchange.caller);
    let mut span = telemetry.begin(SpanSide::Server, method, || parent(params, trace.header.as_deref()))?;
    if let Some(context) = span.context() {
        // A request is answered once.
        let _ = trace.span.set(context);
    }
    let target = params.text("name").or(params.text("uri")).ok();
    // Clients choose names: those of tools that they do not see would make a series each.
    let is_known = |name: &&str| {
        let snapshot = gateway.hub.registry.load();
        method != "tools/call" || caller.view.tool(&snapshot, name).is_some()
    };
    if let Some(target) = target.filter(is_known) {
        span.set_target(method, target);
    }
    span.set(SpanAttribute::RequestId, request.id.as_json().trim_matches('"'));
    span.set(SpanAttribute::ProtocolVersion, caller.version);
    span.set(SpanAttribute::Network, if trace.is_http { "tcp" } else { "pipe" });
    if trace.is_http {
        span.set(SpanAttribute::NetworkProtocol, "http");
    }
    if let Some(session) = caller.session.as_deref().filter(|_| trace.is_http) {
        span.set(SpanAttribute::SessionId, session_name(session));
    }
    Some(span)
}

/// Ends the span with the answer.
pub fn end(mut span: Box<OpenSpan>, method: &str, answer: &Result<String, RpcError>) {
    match answer {
        Err(error) => span.fail(Some(error.code), ""),
        Ok(result) if method == "tools/call" => {
            if block_if_large(result.len(), || is_tool_error(result)) {
                span.fail(None, "tool_error");
            }
        }
        Ok(_) => {}
    }
    span.end();
}

/// How a request came, and the span that it got.
#[derive(Clone, Debug, Default)]
pub struct RequestTrace {
    /// The `traceparent` of the HTTP request. The one in `_meta` counts more: it belongs to this message alone.
    pub header: Option<String>,
    pub is_http: bool,
    /// All that is done for the request is inside.
    pub span: OnceLock<TraceContext>,
}

impl RequestTrace {
    pub fn of_http(headers: &HeaderMap, is_on: bool) -> Self {
        let header = headers.get(toolhub_types::telemetry::TRACE_PARENT).filter(|_| is_on);
        let header = header.and_then(|value| value.to_str().ok()).map(str::to_owned);
        RequestTrace { header, is_http: true, span: OnceLock::new() }
    }
}
