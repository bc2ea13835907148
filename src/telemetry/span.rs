//! A request that is running, and its record.

use super::attribute::{AttributeValue, SpanAttribute, SpanAttributes};
use super::context::{TraceContext, TraceParent};
use super::{SpanSide, TelemetryRecord, TelemetrySink};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

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

    pub fn set(&mut self, attribute: SpanAttribute, value: impl Into<AttributeValue>) {
        if let Some(record) = &mut self.record {
            record.attributes.push((attribute, value.into()));
        }
    }

    /// Names what the request is about: a tool, a prompt, or a resource. The address of a resource is no part of the name of
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

#[cfg(test)]
mod tests {
    use super::super::Telemetry;
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
    fn a_span_that_is_dropped_was_cancelled() {
        let (telemetry, records) = recorded();
        drop(telemetry.begin(SpanSide::Client, "ping", TraceParent::default));
        let records = records.lock();
        assert!(records[0].is_error);
        assert_eq!(records[0].attributes[1], (SpanAttribute::ErrorType, "cancelled".into()));
    }
}
