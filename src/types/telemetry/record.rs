//! What the sink gets.

use super::attribute::SpanAttributes;
use super::context::{TraceContext, TraceParent};
use std::time::{Duration, SystemTime};

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
