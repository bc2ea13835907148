//! The lines of one request in the audit log. The last one is written in any case: a request that is dropped was cancelled.

use crate::Exchange;
use crate::identity::Caller;
use crate::operate::{AuditEvent, AuditRecord, BEGUN, OK};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip};
use toolhub_types::model::Arguments;
use toolhub_types::telemetry::TRACE_PARENT;
use toolhub_types::tool::BeforeActing;

pub struct AuditedRequest<'a> {
    exchange: &'a Exchange,
    trace: String,
    event: AuditEvent<'a>,
    begun: Instant,
    time: SystemTime,
    is_written: bool,
}

impl<'a> AuditedRequest<'a> {
    /// The request begins now.
    pub fn new(exchange: &'a Exchange, event: AuditEvent<'a>) -> Self {
        let (begun, time) = (Instant::now(), SystemTime::now());
        AuditedRequest { exchange, trace: String::new(), event, begun, time, is_written: false }
    }

    /// `meta` is what goes to the server.
    pub fn traced(mut self, meta: &Map<String, Value>) -> Self {
        self.trace = trace_of(meta);
        self
    }

    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// Writes the line: the kind of the error, or none for a success.
    pub fn write(self, failure: Option<ErrorKind>) {
        self.write_answered(None, failure.map(ErrorKind::name));
    }

    /// The same, with the provider that answered a call.
    pub fn write_answered(mut self, answered: Option<&str>, failure: Option<&str>) {
        self.is_written = true;
        let event = match self.event {
            AuditEvent::Call { tool, arguments, call, .. } => {
                AuditEvent::Call { tool, candidate: answered, arguments, call }
            }
            event => event,
        };
        self.write_line(event, failure);
    }

    fn write_line(&self, event: AuditEvent<'_>, failure: Option<&str>) {
        let Some(audit) = &self.exchange.gateway.options.audit else { return };
        let record = record(&self.exchange.caller, &self.trace, event, (self.time, failure.unwrap_or(OK)));
        audit.write(&AuditRecord { duration: self.begun.elapsed(), ..record });
    }
}

impl Drop for AuditedRequest<'_> {
    fn drop(&mut self) {
        if !self.is_written {
            self.write_line(self.event, Some(ErrorKind::Cancelled.name()));
        }
    }
}

fn trace_of(meta: &Map<String, Value>) -> String {
    let parent = meta.get(TRACE_PARENT).and_then(Value::as_str).unwrap_or_default();
    parent.split('-').nth(1).map(|id| clip(id).into_owned()).unwrap_or_default()
}

fn record<'a>(
    caller: &'a Caller,
    trace: &'a str,
    event: AuditEvent<'a>,
    (time, outcome): (SystemTime, &'a str),
) -> AuditRecord<'a> {
    let (view, session) = (&*caller.view.name, caller.session.as_deref().unwrap_or_default());
    AuditRecord { view, session, trace, ..AuditRecord::new(time, &caller.principal.id, event, outcome) }
}

/// Writes the line of each attempt of a call that may act, before it is sent; `None` without an audit log.
pub fn before_acting(
    exchange: &Exchange,
    (tool, call): (&str, Option<u64>),
    args: &Arc<Arguments>,
    meta: &Map<String, Value>,
) -> Option<BeforeActing> {
    let (audit, call) = (exchange.gateway.options.audit.clone()?, call?);
    let (caller, tool, args) = (exchange.caller.clone(), tool.to_owned(), args.clone());
    let trace = trace_of(meta);
    Some(Arc::new(move |candidate| {
        let (audit, caller, tool, args) = (audit.clone(), caller.clone(), tool.clone(), args.clone());
        let (candidate, trace) = (candidate.to_owned(), trace.clone());
        Box::pin(async move {
            let arguments = args.as_value();
            let event = AuditEvent::Begin { tool: &tool, candidate: &candidate, arguments, call };
            let written = audit.begin(&record(&caller, &trace, event, (SystemTime::now(), BEGUN))).await;
            written.map_err(|error| {
                let message = message!("{} Tool '{}' was not called.", error.message, clip(&tool));
                HubError { message, ..error }.with_outcome(Outcome::NotSent)
            })
        })
    }))
}
