//! One call of a tool for a caller: what the view and the budget allow, through the plan, into the audit log and the metrics.

use super::call_record::CallRecord;
use crate::error::{ErrorKind, HubError, Outcome, clip};
use crate::gateway::caller::Caller;
use crate::gateway::operate::Operation;
use crate::gateway::state::Gateway;
use crate::model::{Arguments, CallOptions};
use crate::plan::{self, CallRequest, CallResult, CallTarget, LookUpRequest, Unreachable};
use crate::tool::CallContextExtras;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Calls a tool that the caller sees. A tool that it does not see is `NotFound`, whether it exists or not.
pub async fn perform(
    gateway: &Gateway,
    caller: &Caller,
    name: &str,
    args: Arc<Arguments>,
    extras: &CallContextExtras,
    cancel: &CancellationToken,
) -> CallResult {
    // Counted to its last line in the audit log, so that a drain waits for it.
    let _running = gateway.calls.enter();
    let record = CallRecord::new(gateway, caller, name, args.as_value());
    let begun = record.begun();
    let found = find(gateway, caller, name, cancel).await;
    let is_seen = found.is_ok();
    let called = match found {
        Ok(()) => run(gateway, caller, name, args.clone(), extras, cancel).await,
        Err(error) => CallResult::refused(error),
    };
    let failure = called.outcome.as_ref().err().map(|error| error.kind.name());
    // What is not in the log must not look as if it were.
    if let Err(error) = record.write(called.provider.as_deref(), failure) {
        return CallResult::refused(error);
    }
    let operation = Operation {
        method: "tools/call",
        tool: if is_seen { name.to_owned() } else { String::new() },
        error: failure.unwrap_or_default().to_owned(),
        version: caller.version,
    };
    gateway.metrics.operation(operation, begun.elapsed());
    called
}

async fn run(
    gateway: &Gateway,
    caller: &Caller,
    name: &str,
    args: Arc<Arguments>,
    extras: &CallContextExtras,
    cancel: &CancellationToken,
) -> CallResult {
    if let Err(refused) = gateway.admission.spend(&caller.principal.id, &caller.view, Instant::now()) {
        let seconds = refused.seconds();
        let text = format!("Too many calls within a minute; try again in {seconds} s.");
        let error =
            HubError { retry_after: Some(seconds as f64), ..HubError::new(ErrorKind::Overloaded, text) };
        return CallResult::refused(error);
    }
    let options = caller.view.call_options(&caller.principal);
    let request = CallRequest::new(CallTarget::Name(Arc::from(name)), options);
    let services = &*gateway.upstreams;
    plan::call(&gateway.hub, services, &gateway.shared, request, args, extras, cancel).await
}

/// Fails when the caller does not see the tool. Servers that have not listed their tools are asked before, also when the tool
/// is known and hidden: both take the same way.
async fn find(
    gateway: &Gateway,
    caller: &Caller,
    name: &str,
    cancel: &CancellationToken,
) -> Result<(), HubError> {
    let is_seen = || gateway.hub.registry.load().get(name).is_some_and(|entry| caller.view.sees(entry));
    if is_seen() {
        return Ok(());
    }
    let patience = gateway.hub.options.lookup_timeout;
    let request = LookUpRequest { name: Some(Arc::from(name)), options: CallOptions::default(), patience };
    let unreachable = tokio::select! {
        unreachable = gateway.upstreams.look_up(&request) => unreachable,
        () = cancel.cancelled() => Unreachable::new(),
    };
    if is_seen() {
        return Ok(());
    }
    // Callers who see some tools only must not learn of servers.
    let login = unreachable.into_iter().find(|(_, error)| error.kind == ErrorKind::Auth);
    match login.filter(|_| caller.view.shows_everything()) {
        Some((_, error)) => Err(error.with_outcome(Outcome::NotSent)),
        None => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> HubError {
    HubError::new(ErrorKind::NotFound, format!("There is no tool named '{}'.", clip(name)))
}
