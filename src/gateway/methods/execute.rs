//! One call of a tool for a caller: what the view and the budget allow, through the plan, into the audit log and the metrics.

use crate::Exchange;
use crate::identity::Caller;
use crate::operate::{AuditEvent, AuditRecord, BEGUN, OK, OperationLabels};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use toolhub_engine::hub::Hub;
use toolhub_engine::plan::{self, CallRequest, CallResult, CallTarget, LookUpRequest, Unreachable};
use toolhub_engine::served::Audience;
use toolhub_text::message;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::model::{Arguments, CallOptions, Freshness};
use toolhub_types::telemetry::TRACE_PARENT;
use toolhub_types::tool::{AttemptWatch, BeforeActing, CallContextExtras};

/// How often a call is planned whose server is removed or replaced before it begins.
const MOST_PLANS: usize = 3;

/// How long a welcome, a search or a description waits for servers that have not listed their tools.
pub(super) const SHORT_PATIENCE: Duration = Duration::from_secs(5);

/// What callers who share the hub read of a name that no server has listed. Which servers are meant, the operator's log says.
const NOT_ALL_ASKED: &str = "No known tool has this name, and some servers could not be asked.";

/// Calls a tool that the caller sees. A tool that it does not see is `NotFound`, whether it exists or not.
pub async fn execute(
    exchange: &Exchange,
    (name, audience): (&str, Audience),
    args: Arc<Arguments>,
    mut extras: CallContextExtras,
) -> CallResult {
    let (gateway, caller, cancel) = (&exchange.gateway, &exchange.caller, &exchange.cancel);
    // Counted to its last line in the audit log, so that a drain waits for it.
    let _running = gateway.operation.calls.enter();
    let call = gateway.options.audit.as_ref().map(|audit| audit.next_call());
    let event = AuditEvent::Call { tool: name, candidate: None, arguments: args.as_value(), call };
    let record = AuditedRequest::new(exchange, event).traced(&extras.meta);
    extras.before_acting = before_acting(exchange, (name, call), &args, &extras.meta);
    let begun = record.begun;
    let live = gateway.has_inspector().then(|| gateway.operation.live.call(name, &caller.principal.id));
    extras.watch = live.clone().map(|live| live as Arc<dyn AttemptWatch>);
    let mut plans = 0;
    let (is_seen, called) = loop {
        let patience = gateway.hub.options.lookup_timeout;
        let found = find(exchange, (name, audience), patience).await;
        let is_seen = found.is_ok();
        let found = if plans == 0 { found.and_then(|()| spend(exchange)) } else { found };
        let called = match found {
            Ok(()) => run(exchange, name, args.clone(), &extras).await,
            Err(error) => CallResult::refused(error),
        };
        plans += 1;
        // The server of the call was gone before anything was sent, as after a reload.
        let is_gone = |error: &HubError| error.kind == ErrorKind::Closed && error.outcome == Outcome::NotSent;
        let is_unsent = called.outcome.as_ref().is_err_and(is_gone);
        if plans == MOST_PLANS || !is_unsent || gateway.hub.is_closed() || cancel.is_cancelled() {
            break (is_seen, called);
        }
    };
    let failure = called.outcome.as_ref().err().map(|error| error.kind.name());
    if let Some(live) = live {
        live.ended(called.provider.as_deref(), failure.unwrap_or("ok"));
    }
    record.write_answered(called.provider.as_deref(), failure);
    let operation = OperationLabels {
        method: "tools/call",
        tool: if is_seen { name.to_owned() } else { String::new() },
        error: failure.unwrap_or_default().to_owned(),
        version: caller.version,
    };
    gateway.operation.metrics.operation(operation, &caller.principal.id, begun.elapsed());
    called
}

/// Takes the call from the budget of the caller in its view.
fn spend(exchange: &Exchange) -> Result<()> {
    let caller = &exchange.caller;
    let spent =
        exchange.gateway.operation.admission.spend(&caller.principal.id, &caller.view, Instant::now());
    spent.map_err(|refused| {
        let seconds = refused.seconds;
        let text = message!("Too many calls within a minute; try again in {} s.", seconds);
        HubError { retry_after: Some(seconds as f64), ..HubError::new(ErrorKind::Overloaded, text) }
    })
}

async fn run(
    exchange: &Exchange,
    name: &str,
    args: Arc<Arguments>,
    extras: &CallContextExtras,
) -> CallResult {
    let (gateway, caller, cancel) = (&exchange.gateway, &exchange.caller, &exchange.cancel);
    let snapshot = gateway.hub.registry.snapshot();
    let mut options = caller.view.call_options(&caller.principal);
    if Hub::is_read_more(&snapshot, name) {
        (options.allowed, options.safety) = (None, None);
    }
    // A request that a server has begun is for no other.
    options.server = extras.resumes.as_ref().map(|begun| begun.server.clone());
    // Whether the caller may have a tool that is not for models was asked before; routes are for models.
    let is_hidden = snapshot.find(name).is_some_and(|entry| entry.is_hidden());
    let target = match is_hidden {
        true => CallTarget::Name(Arc::from(name)),
        false => CallTarget::Routed { name: Arc::from(name), source: None },
    };
    let request = CallRequest::new(target, options);
    let sources = &*gateway.upstreams;
    tokio::select! {
        biased;
        called = plan::call(&gateway.hub, sources, request, args, extras, cancel) => called,
        () = gateway.operation.abandon.cancelled() => {
            let snapshot = gateway.hub.registry.snapshot();
            CallResult::given_up(name, caller.view.tool(&snapshot, name).and_then(|tool| tool.only_provider()))
        }
    }
}

/// Fails when the caller does not see the tool. Servers that have not listed their tools are asked before, also when the tool
/// is known and hidden: both take the same way.
pub(super) async fn find(
    exchange: &Exchange,
    (name, audience): (&str, Audience),
    patience: Duration,
) -> Result<()> {
    let (gateway, caller) = (&exchange.gateway, &exchange.caller);
    let is_seen = || {
        let snapshot = gateway.hub.registry.snapshot();
        caller.view.tool_for(&snapshot, name, audience).is_some()
    };
    if is_seen() {
        return Ok(());
    }
    let (asked, options) = (Some(Arc::from(name)), CallOptions::default());
    let request =
        LookUpRequest { name: asked, options, servers: Vec::new(), freshness: Freshness::Any, patience };
    let unreachable = tokio::select! {
        unreachable = gateway.upstreams.look_up(&request) => unreachable,
        () = exchange.cancel.cancelled() => Unreachable::new(),
    };
    if is_seen() {
        return Ok(());
    }
    match caller.view.shows_everything() {
        true => Err(not_found(name, unreachable)),
        // Callers who see some tools only must not learn that there are servers that could not be asked.
        false => Err(unknown(name)),
    }
}

/// Why there is no such tool: no server has it, or the servers that may have it could not list their tools.
fn not_found(name: &str, unreachable: Unreachable) -> HubError {
    let unknown = unknown(name);
    let Some((_, first)) = unreachable.first() else { return unknown };
    let (kind, text) = (first.kind, plan::not_all_asked(&unknown, &unreachable));
    match unreachable.into_iter().find(|(_, error)| error.kind == ErrorKind::Auth) {
        // It says how to log in.
        Some((_, login)) => login.with_outcome(Outcome::NotSent),
        None => HubError { public: Some(NOT_ALL_ASKED), ..HubError::new(kind, text) }
            .with_outcome(Outcome::NotSent),
    }
}

fn unknown(name: &str) -> HubError {
    HubError::new(ErrorKind::NotFound, message!("There is no tool named '{}'.", clip(name)))
}

// The lines of one request in the audit log.

/// Dropping it writes its last line.
pub struct AuditedRequest<'a> {
    exchange: &'a Exchange,
    trace: String,
    event: AuditEvent<'a>,
    begun: Instant,
    time: SystemTime,
    /// A request that is dropped before it has an answer was cancelled.
    outcome: &'static str,
}

impl<'a> AuditedRequest<'a> {
    /// The request begins now.
    pub fn new(exchange: &'a Exchange, event: AuditEvent<'a>) -> Self {
        let (begun, time, outcome) = (Instant::now(), SystemTime::now(), ErrorKind::Cancelled.name());
        AuditedRequest { exchange, trace: String::new(), event, begun, time, outcome }
    }

    /// `meta` is what goes to the server.
    pub fn traced(mut self, meta: &Map<String, Value>) -> Self {
        self.trace = trace_of(meta);
        self
    }

    /// Writes the line: the kind of the error, or none for a success.
    pub fn write(self, failure: Option<ErrorKind>) {
        self.write_answered(None, failure.map(ErrorKind::name));
    }

    /// The same, with the provider that answered a call.
    pub fn write_answered(mut self, answered: Option<&'a str>, failure: Option<&'static str>) {
        if let AuditEvent::Call { candidate, .. } = &mut self.event {
            *candidate = answered;
        }
        self.outcome = failure.unwrap_or(OK);
    }
}

impl Drop for AuditedRequest<'_> {
    fn drop(&mut self) {
        let Some(audit) = &self.exchange.gateway.options.audit else { return };
        let record = record(&self.exchange.caller, &self.trace, self.event, (self.time, self.outcome));
        audit.write(&AuditRecord { duration: self.begun.elapsed(), ..record });
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
