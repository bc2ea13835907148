//! The span of a request of a client, from its arrival to its answer.

use crate::Exchange;
use crate::rpc::{RpcError, RpcParams, RpcRequest};
use serde_json::Value;
use toolhub_types::aside::heavy;
use toolhub_types::telemetry::{
    OpenSpan, SpanAttribute, SpanSide, TRACE_PARENT, TRACE_STATE, TraceParent, is_tool_error, session_name,
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
        trace.enter(context);
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
            if heavy(result.len(), || is_tool_error(result)) {
                span.fail(None, "tool_error");
            }
        }
        Ok(_) => {}
    }
    span.end();
}
