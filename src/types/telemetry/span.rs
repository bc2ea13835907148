//! A request that is running, and what the sink gets of it.

use super::context::{TraceContext, TraceParent};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Their names are written here only.
pub type SpanAttributes = Vec<(SpanAttribute, Value)>;

crate::named! {
    /// An attribute of the conventions, or one of ours.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SpanAttribute {
        Method = "mcp.method.name",
        Tool = "gen_ai.tool.name",
        Prompt = "gen_ai.prompt.name",
        /// `execute_tool` for a call of a tool, absent for everything else.
        Operation = "gen_ai.operation.name",
        Resource = "mcp.resource.uri",
        RequestId = "jsonrpc.request.id",
        /// The code of a JSON-RPC error.
        StatusCode = "rpc.response.status_code",
        /// The code of a JSON-RPC error, `tool_error` for a result with `isError`, or the kind of the error.
        ErrorType = "error.type",
        ProtocolVersion = "mcp.protocol.version",
        /// A digest: who knows the id of a session may use it.
        SessionId = "mcp.session.id",
        Network = "network.transport",
        NetworkProtocol = "network.protocol.name",
        Address = "server.address",
        Port = "server.port",
        /// The id that the hub has for a server.
        Server = "toolhub.server",
    }
}

impl SpanAttribute {
    /// Whether metrics have it too. What has many values, such as an id, would make a series of its own each time.
    pub fn is_in_metrics(self) -> bool {
        use SpanAttribute::{RequestId, Resource, Server, SessionId};
        !matches!(self, Resource | RequestId | SessionId | Server)
    }
}

/// A request that is over.
#[derive(Debug)]
pub struct SpanRecord {
    pub side: SpanSide,
    /// The method, and the tool or the prompt that it is about.
    pub name: String,
    pub context: TraceContext,
    pub parent: TraceParent,
    pub begun: SystemTime,
    pub duration: Duration,
    pub attributes: SpanAttributes,
    pub is_error: bool,
}

crate::named! {
    /// The side of an exchange that reports it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SpanSide {
        Client = "client",
        Server = "server",
    }
}

/// A session that is over.
#[derive(Debug)]
pub struct SessionRecord {
    pub side: SpanSide,
    pub duration: Duration,
    pub attributes: SpanAttributes,
}

/// What the sink gets.
#[derive(Debug)]
pub enum TelemetryRecord {
    Span(Box<SpanRecord>),
    Session(SessionRecord),
}

/// Called on whatever thread.
pub type TelemetrySink = Box<dyn Fn(TelemetryRecord) + Send + Sync>;

/// A request that is running. One that is dropped before its end was cancelled.
pub struct OpenSpan {
    sink: Arc<TelemetrySink>,
    begun: Instant,
    /// `None` once it was handed over.
    record: Option<SpanRecord>,
}

impl OpenSpan {
    pub(super) fn new(sink: Arc<TelemetrySink>, side: SpanSide, method: &str, parent: TraceParent) -> Self {
        let context = parent.context.map_or_else(TraceContext::root, TraceContext::child);
        let mut attributes = Vec::with_capacity(12);
        attributes.push((SpanAttribute::Method, method.into()));
        if method == "tools/call" {
            attributes.push((SpanAttribute::Operation, "execute_tool".into()));
        }
        let record = SpanRecord {
            side,
            name: method.to_owned(),
            context,
            parent,
            begun: SystemTime::now(),
            duration: Duration::ZERO,
            attributes,
            is_error: false,
        };
        OpenSpan { sink, begun: Instant::now(), record: Some(record) }
    }

    /// What the request carries: the span is the parent of all that the other side does for it.
    pub fn context(&self) -> Option<TraceContext> {
        self.record.as_ref().map(|record| record.context)
    }

    pub fn set(&mut self, attribute: SpanAttribute, value: impl Into<Value>) {
        if let Some(record) = &mut self.record {
            record.attributes.push((attribute, value.into()));
        }
    }

    /// Names what the request is about: a tool, a prompt, or a resource. The address of a resource is not part of the name of
    /// the span, because there may be any number of them.
    pub fn set_target(&mut self, method: &str, target: &str) {
        let attribute = match method {
            "tools/call" => SpanAttribute::Tool,
            "prompts/get" => SpanAttribute::Prompt,
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => SpanAttribute::Resource,
            _ => return,
        };
        self.set(attribute, target);
        if let Some(record) = self.record.as_mut().filter(|_| attribute != SpanAttribute::Resource) {
            record.name.push(' ');
            record.name.push_str(target);
        }
    }

    /// The request has failed: with the code of a JSON-RPC error, or with a kind of error. Messages are left out, because they
    /// may quote arguments.
    pub fn fail(&mut self, code: Option<i64>, kind: &str) {
        let Some(record) = &mut self.record else { return };
        record.is_error = true;
        let error = code.map_or_else(|| kind.to_owned(), |code| code.to_string());
        if code.is_some() {
            record.attributes.push((SpanAttribute::StatusCode, error.clone().into()));
        }
        record.attributes.push((SpanAttribute::ErrorType, error.into()));
    }

    /// The request is over.
    pub fn end(mut self: Box<Self>) {
        self.hand_over();
    }

    fn hand_over(&mut self) {
        if let Some(mut record) = self.record.take() {
            record.duration = self.begun.elapsed();
            (self.sink)(TelemetryRecord::Span(Box::new(record)));
        }
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        self.fail(None, "cancelled");
        self.hand_over();
    }
}

#[derive(Deserialize)]
struct FlaggedResult {
    #[serde(rename = "isError")]
    is_error: Option<Value>,
}

/// Whether the result of a call, as JSON, says that the tool has failed.
pub fn is_tool_error(result: &str) -> bool {
    let flagged: Result<FlaggedResult, _> = serde_json::from_str(result);
    flagged.is_ok_and(|flagged| flagged.is_error == Some(Value::Bool(true)))
}
