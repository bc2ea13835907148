//! L0, what OpenTelemetry gets to know of MCP requests and sessions, as its conventions for GenAI and MCP name it.
//!
//! | file | content |
//! |---|---|
//! | `context.rs` | the W3C trace context, which requests carry as `traceparent` in `_meta` |
//! | `span.rs` | a request that is running, its attributes, and what the sink gets |
//!
//! Whoever sends or answers a request asks [`Telemetry`] for a span. Without a sink there is none: that costs one atomic load,
//! and nothing is allocated. A span gets its ids here, so that its context can be sent before anything is exported. When it
//! ends, its record goes to the sink, which must be quick.

mod context;
mod span;

pub use context::{TRACE_PARENT, TRACE_STATE, TraceContext, TraceParent};
pub use span::{
    OpenSpan, SessionRecord, SpanAttribute, SpanAttributes, SpanRecord, SpanSide, TelemetryRecord,
    TelemetrySink, is_tool_error,
};

use arc_swap::ArcSwapOption;
use std::sync::Arc;
use std::time::Duration;
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
        let sink = self.0.load_full()?;
        Some(Box::new(OpenSpan::new(sink, side, method, parent())))
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
