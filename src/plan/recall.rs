//! Calls of a run: what the run has recorded of this call, before anything else is done for it.

use super::request::CallRequest;
use super::state::{CallPlan, RecallState};
use crate::error::{ErrorKind, HubError, clip};
use crate::hub::{AskedCall, CallRecord, Hub, PlannedRun, held_back, not_recalled};
use crate::identity::CallIdentity;
use crate::store::ledger::{Ledger, OccurrenceTicket, RunCall, RunMemory};
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

/// Asks the ledger what a run knows of a call; report it with [`CallPlan::recalled`].
pub struct RecallRequest {
    pub ledger: Arc<Ledger>,
    pub run: Arc<str>,
    principal: String,
    tool: String,
    identity: CallIdentity,
    /// When the deadline of the call passes.
    end: Option<Instant>,
}

/// What a call of a run does before it is made.
pub(super) enum RecallStep {
    Ask(RecallRequest),
    /// It is over, and gave this.
    Replay(Value),
}

impl RecallRequest {
    /// Asks; `done` is called on another thread.
    pub fn ask(&self, done: impl FnOnce(Result<RunMemory, String>) + Send + 'static) -> OccurrenceTicket {
        let key = self.identity.key.digest();
        let ticket = self.ledger.occurrence(&self.principal, &self.run, key);
        let wanted = RunCall {
            principal: self.principal.clone(),
            run: self.run.to_string(),
            key: key.to_string(),
            occurrence: ticket.number,
            tool: self.tool.clone(),
            definition: self.identity.definition.text(),
        };
        self.ledger.recall(wanted, self.end, Box::new(done));
        ticket
    }
}

impl CallPlan {
    /// The question to the ledger, for a call of a run, and what it has answered.
    pub(super) fn recall(
        &self,
        hub: &Hub,
        planned: &PlannedRun,
        now: Instant,
    ) -> Result<Option<RecallStep>, HubError> {
        let Some(run) = self.options.run.clone() else { return Ok(None) };
        match &self.recall {
            RecallState::Open => {
                let tool = self.request.target.name();
                let identity = match self.identity(hub, &planned.candidates) {
                    Some(Ok(identity)) => identity,
                    Some(Err(reason)) => return Err(not_json(tool, &run, &reason)),
                    None => return Err(not_json(tool, &run, "they were not given")),
                };
                Ok(Some(RecallStep::Ask(RecallRequest {
                    ledger: hub.ledger(),
                    run,
                    principal: self.options.principal.as_deref().unwrap_or_default().to_owned(),
                    tool: tool.to_string(),
                    identity,
                    end: self.end(),
                })))
            }
            RecallState::Over(result) => Ok(Some(RecallStep::Replay(result.clone()))),
            // The ledger gives up at the deadline.
            RecallState::Refused(error) => self.check_deadline(now).and(Err(error.clone())),
            RecallState::Record(_) => Ok(None),
        }
    }

    /// The ledger has answered.
    pub fn recalled(&mut self, memory: Result<RunMemory, String>, ticket: OccurrenceTicket) {
        let (tool, run) = (self.request.target.name().clone(), self.options.run.clone().unwrap_or_default());
        self.recall = match memory {
            Err(why) => RecallState::Refused(not_recalled(&tool, &run, &why)),
            Ok(RunMemory::New(call)) => RecallState::Record(CallRecord::new(&run, call, ticket)),
            Ok(RunMemory::Over(result)) => {
                ticket.consume();
                RecallState::Over(result)
            }
            Ok(memory) => match held_back(&tool, &run, &memory) {
                Some(error) => RecallState::Refused(error),
                None => RecallState::Open,
            },
        };
    }

    /// Makes a call of a run, or one that may have effects, a recorded one.
    pub(super) fn record(&mut self, hub: &Hub, planned: &mut PlannedRun) {
        let record = match std::mem::take(&mut self.recall) {
            RecallState::Record(record) => Some(record),
            _ => None,
        };
        let key = self.key.as_ref().and_then(|key| key.as_deref().ok());
        let CallRequest { target, options, .. } = &self.request;
        hub.record(planned, record, || AskedCall::new(target.clone(), options.clone(), key));
    }
}

/// The error of a call that a run could not recognise later.
fn not_json(tool: &str, run: &str, reason: &str) -> HubError {
    let text = format!(
        "Tool '{}' was not called: a call of run '{}' is recognised by its arguments, and these are not JSON: {reason}.",
        clip(tool),
        clip(run)
    );
    HubError::new(ErrorKind::InvalidArguments, text)
}
