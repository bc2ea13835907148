//! L0, what OpenTelemetry gets to know of MCP requests and sessions, as its conventions for GenAI and MCP name it.
//!
//! | file | content |
//! |---|---|
//! | `attribute.rs` | the table of attributes |
//! | `context.rs` | the W3C trace context, which requests carry as `traceparent` in `_meta` |
//! | `span.rs` | a request that is running, and its record |
//!
//! Whoever sends or answers a request asks [`Telemetry`] for a span. Without a sink there is none: that costs one atomic load,
//! and nothing is allocated. A span gets its ids here, so that its context can be sent before anything is exported. When it
//! ends, its record goes to the sink, which must be quick.

mod attribute;
mod context;
mod span;

pub use attribute::{AttributeValue, SpanAttribute, SpanAttributes};
pub use context::{TRACE_PARENT, TRACE_STATE, TraceContext, TraceParent};
pub use span::{OpenSpan, SpanRecord};

use crate::canonical::digest_of;
use arc_swap::ArcSwapOption;
use std::sync::Arc;
use std::time::Duration;

/// A name for a session, by which nobody can use it as by its id. Both sides give it the same one.
pub fn session_name(id: &str) -> String {
    let digest = digest_of(&["mcp session", id]);
    digest.trim_start_matches("sha256:").chars().take(32).collect()
}

/// The side of an exchange that reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanSide {
    Client,
    Server,
}

impl SpanSide {
    pub fn name(self) -> &'static str {
        match self {
            SpanSide::Client => "client",
            SpanSide::Server => "server",
        }
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
