//! L0, what OpenTelemetry gets to know of MCP requests and sessions, as its conventions for GenAI and MCP name it.
//!
//! Whoever sends or answers a request asks [`Telemetry`] for a span. Without a sink there is none: that costs one atomic load,
//! and nothing is allocated. A span gets its ids here, so that its context can be sent before anything is exported: the W3C trace
//! context, which requests carry as `traceparent` in `_meta`. When it ends, its record goes to the sink, which must be quick.

use arc_swap::ArcSwapOption;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use toolhub_text::canonical::digest_of;

/// A name for a session, by which nobody can use it as by its id. Both sides give it the same one.
pub fn session_name(id: &str) -> String {
    let digest = digest_of(&["mcp session", id]);
    digest.trim_start_matches("sha256:").chars().take(32).collect()
}

/// The telemetry of one hub; clones share the sink.
#[derive(Clone, Default)]
pub struct Telemetry(Arc<ArcSwapOption<TelemetrySink>>);

impl Telemetry {
    /// Turns it on with a sink, or off. Spans that are open then go to the sink that they began with.
    pub fn set_sink(&self, sink: Option<TelemetrySink>) {
        self.0.store(sink.map(Arc::new));
    }

    pub fn is_on(&self) -> bool {
        self.0.load().is_some()
    }

    /// A span that begins now; `None` if telemetry is off. `parent` is asked only if it is on.
    pub fn begin(
        &self,
        side: SpanSide,
        method: &str,
        parent: impl FnOnce() -> TraceParent,
    ) -> Option<Box<OpenSpan>> {
        let (sink, parent) = (self.0.load_full()?, parent());
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
        Some(Box::new(OpenSpan { sink, begun: Instant::now(), record: Some(record) }))
    }

    /// Reports the end of a session.
    pub fn session_ended(
        &self,
        side: SpanSide,
        duration: Duration,
        attributes: impl FnOnce() -> SpanAttributes,
    ) {
        if let Some(sink) = self.0.load_full() {
            sink(TelemetryRecord::Session(SessionRecord { side, duration, attributes: attributes() }));
        }
    }
}

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

/// The members of `_meta` that carry it; SEP-414 leaves them without a prefix.
pub const TRACE_PARENT: &str = "traceparent";
pub const TRACE_STATE: &str = "tracestate";

/// A longer `tracestate` need not be passed on.
const LONGEST_STATE: usize = 512;

/// A span as others name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    pub trace: u128,
    pub span: u64,
    pub flags: u8,
}

const SAMPLED: u8 = 1;
/// The id of the trace is random in all its bits.
const RANDOM: u8 = 2;

impl TraceContext {
    /// Reads a `traceparent`; `None` if it has another form.
    pub fn read(text: &str) -> Option<Self> {
        // A later version may add parts.
        let mut parts = text.splitn(5, '-');
        let mut part = |digits: usize| parts.next().filter(|part| part.len() == digits).and_then(hex);
        let (version, trace, span, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        let is_known = version != 0xff && (version != 0 || parts.next().is_none());
        let context = TraceContext { trace, span: span as u64, flags: flags as u8 };
        (is_known && trace != 0 && span != 0).then_some(context)
    }

    /// As a `traceparent`.
    pub fn written(self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }

    /// A span inside of this one.
    pub fn child(self) -> Self {
        TraceContext { span: new_id(), ..self }
    }

    /// The first span of a new trace. It is sampled: who exports it decides what is kept.
    pub fn root() -> Self {
        let trace = (u128::from(new_id()) << 64) | u128::from(new_id());
        TraceContext { trace, span: new_id(), flags: SAMPLED | RANDOM }
    }
}

fn new_id() -> u64 {
    fastrand::u64(1..)
}

/// Lower-case digits only, as the specification wants.
fn hex(digits: &str) -> Option<u128> {
    let is_hex = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    is_hex.then(|| u128::from_str_radix(digits, 16).ok()).flatten()
}

/// What a request brings: the span that it is a part of, and what vendors have added to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceParent {
    pub context: Option<TraceContext>,
    pub state: Option<String>,
}

impl TraceParent {
    /// From the two texts; without a sound `traceparent` the other one means nothing.
    pub fn of(parent: Option<&str>, state: Option<&str>) -> Self {
        let context = parent.and_then(TraceContext::read);
        let state = state.filter(|state| context.is_some() && state.len() <= LONGEST_STATE);
        TraceParent { context, state: state.map(str::to_owned) }
    }

    /// From `_meta`.
    pub fn in_meta(meta: &Map<String, Value>) -> Self {
        let text = |key| meta.get(key).and_then(Value::as_str);
        TraceParent::of(text(TRACE_PARENT), text(TRACE_STATE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::Mutex;

    fn recorded() -> (Telemetry, Arc<Mutex<Vec<SpanRecord>>>) {
        let (telemetry, records) = (Telemetry::default(), Arc::new(Mutex::new(Vec::new())));
        let kept = records.clone();
        telemetry.set_sink(Some(Box::new(move |record| {
            if let TelemetryRecord::Span(span) = record {
                kept.lock().push(*span);
            }
        })));
        (telemetry, records)
    }

    #[test]
    fn without_a_sink_there_is_no_span() {
        let telemetry = Telemetry::default();
        let asked = || -> TraceParent { panic!("nothing is read") };
        assert!(telemetry.begin(SpanSide::Client, "tools/call", asked).is_none() && !telemetry.is_on());
    }

    #[test]
    fn a_span_is_a_child_of_what_the_request_brings() {
        let (telemetry, records) = recorded();
        let parent = TraceContext { flags: 0, ..TraceContext::root() };
        let given = || TraceParent { context: Some(parent), state: None };
        let mut span = telemetry.begin(SpanSide::Server, "tools/call", given).unwrap();
        span.set_target("tools/call", "add");
        let own = span.context().unwrap();
        assert_eq!((own.trace, own.flags), (parent.trace, 0));
        assert_ne!(own.span, parent.span);
        span.end();
        let records = records.lock();
        assert_eq!(records[0].name, "tools/call add");
        assert!(!records[0].is_error && records.len() == 1);
    }

    #[test]
    fn only_true_is_an_error() {
        assert!(is_tool_error(r#"{"content": [], "isError": true}"#));
        for other in [r#"{"isError": false}"#, r#"{"isError": "true"}"#, "{}", "[]", "", "null"] {
            assert!(!is_tool_error(other), "{other}");
        }
    }

    #[test]
    fn a_span_that_is_dropped_was_cancelled() {
        let (telemetry, records) = recorded();
        drop(telemetry.begin(SpanSide::Client, "ping", TraceParent::default));
        let records = records.lock();
        assert!(records[0].is_error);
        assert_eq!(records[0].attributes[1], (SpanAttribute::ErrorType, "cancelled".into()));
    }
}

#[cfg(test)]
mod context_tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_parent_is_read_as_the_specification_says() {
        let context = TraceContext::read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
        assert_eq!(context.trace, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
        assert_eq!((context.span, context.flags), (0x00f0_67aa_0ba9_02b7, 1));
        assert!(TraceContext::read("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more").is_some());
        for wrong in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceContext::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_state_without_a_parent_means_nothing() {
        let parent = TraceContext::root().written();
        assert_eq!(TraceParent::of(Some(&parent), Some("a=1")).state.as_deref(), Some("a=1"));
        assert_eq!(TraceParent::of(Some("wrong"), Some("a=1")), TraceParent::default());
        assert_eq!(TraceParent::of(Some(&parent), Some(&"x".repeat(513))).state, None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(trace in 1u128.., span in 1u64.., flags: u8) {
            let context = TraceContext { trace, span, flags };
            prop_assert_eq!(TraceContext::read(&context.written()), Some(context));
        }

        #[test]
        fn any_text_is_survived(text in "\\PC{0,80}", near in "[0-9a-f]{2}-[0-9a-fé]{31,33}-[0-9a-f]{16}-[0-9a-f]{2}.?") {
            let _ = TraceContext::read(&text);
            let _ = TraceContext::read(&near);
        }
    }
}
