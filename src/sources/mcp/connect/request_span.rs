//! The span of a request to a server: it begins when the request is written, and its context goes with it.

use crate::mcp::connection::Connection;
use crate::mcp::protocol::LEGACY;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::time::Duration;
use toolhub_types::aside::heavy;
use toolhub_types::error::HubError;
use toolhub_types::telemetry::{
    OpenSpan, SpanAttribute, SpanAttributes, SpanSide, TRACE_PARENT, TRACE_STATE, TraceParent, is_tool_error,
};

/// Begins the span of a request, and writes its context into `_meta`. `None` if telemetry is off.
pub fn begin(
    connection: &Connection,
    id: u64,
    method: &'static str,
    target: Option<&str>,
    meta: &mut Map<String, Value>,
) -> Option<Box<OpenSpan>> {
    let callbacks = &connection.callbacks;
    let parent = || TraceParent::in_meta(meta);
    let mut span = callbacks.host.telemetry.begin(SpanSide::Client, method, parent)?;
    if let Some(context) = span.context() {
        let given = meta.insert(TRACE_PARENT.to_owned(), Value::String(context.written()));
        // The state of a parent that cannot be read belongs to no span.
        if TraceParent::of(given.as_ref().and_then(Value::as_str), None).context.is_none() {
            meta.remove(TRACE_STATE);
        }
    }
    if let Some(target) = target {
        span.set_target(method, &callbacks.secrets.hide(target.to_owned()));
    }
    span.set(SpanAttribute::RequestId, id.to_string());
    span.set(SpanAttribute::Server, &*callbacks.server);
    // Before the answer, the version that is asked for.
    let version = if method == "initialize" { LEGACY[0] } else { connection.server().version };
    for (attribute, value) in place(connection, version) {
        span.set(attribute, value);
    }
    Some(span)
}

/// Ends the span of a request that was answered, or could not be.
pub fn end(mut span: Box<OpenSpan>, method: &str, reply: &Result<Box<RawValue>, HubError>) {
    match reply {
        Ok(result) if method == "tools/call" => {
            let result = result.get();
            if heavy(result.len(), || is_tool_error(result)) {
                span.fail(None, "tool_error");
            }
        }
        Ok(_) => {}
        Err(error) => span.fail(error.code, error.kind.name()),
    }
    span.end();
}

/// Reports a session that is over. `is_closed`: the hub has ended it.
pub fn session_ended(connection: &Connection, lived: Duration, is_closed: bool) {
    connection.callbacks.host.telemetry.session_ended(SpanSide::Client, lived, || {
        let mut attributes = place(connection, connection.server().version);
        if let Some(error) = connection.retired().filter(|_| !is_closed) {
            attributes.push((SpanAttribute::ErrorType, error.kind.name().into()));
        }
        attributes
    });
}

fn place(connection: &Connection, version: &str) -> SpanAttributes {
    let place = connection.transport().place();
    let mut attributes = vec![(SpanAttribute::ProtocolVersion, version.into())];
    let mut add = |attribute, value: Option<&str>| {
        attributes.extend(value.map(|value| (attribute, value.into())));
    };
    add(SpanAttribute::Network, place.network);
    add(SpanAttribute::NetworkProtocol, place.protocol);
    add(SpanAttribute::SessionId, place.session.as_deref());
    add(SpanAttribute::Address, place.address.as_deref());
    attributes.extend(place.port.map(|port| (SpanAttribute::Port, port.into())));
    attributes
}
