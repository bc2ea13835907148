//! Calls of a run: what the run has recorded of this call, before anything else is done for it.

use super::state::{CallPlan, RecallState};
use crate::canonical::digest_of;
use crate::error::HubError;
use crate::hub::{CallRecord, Hub, PlannedRun, held_back, not_recalled};
use crate::store::ledger::{Ledger, OccurrenceTicket, RunCall, RunMemory};
use serde_json::Value;
use std::sync::Arc;

/// Asks the ledger what a run knows of a call; report it with [`CallPlan::recalled`].
pub struct RecallRequest {
    pub ledger: Arc<Ledger>,
    pub run: Arc<str>,
    principal: String,
    tool: String,
    /// The server that the call names.
    server: Option<String>,
    definition: String,
}

/// What a call of a run does before it is made.
pub(super) enum RecallStep {
    Ask(RecallRequest),
    /// It is over, and gave this.
    Replay(Value),
}

impl RecallRequest {
    /// Asks; `done` is called on another thread. `arguments` is the digest of those of the call.
    pub fn ask(
        &self,
        arguments: String,
        done: impl FnOnce(Result<RunMemory, String>) + Send + 'static,
    ) -> OccurrenceTicket {
        let key = self.key(&arguments);
        let ticket = self.ledger.occurrence(&self.principal, &self.run, &key);
        let wanted = RunCall {
            principal: self.principal.clone(),
            run: self.run.to_string(),
            key,
            occurrence: ticket.number,
            tool: self.tool.clone(),
            definition: self.definition.clone(),
        };
        self.ledger.recall(wanted, Box::new(done));
        ticket
    }

    /// What makes two calls of the run the same. To be replaced by the key of `CallIdentity`: the ledger only compares it.
    fn key(&self, arguments: &str) -> String {
        // Calls that name different servers are different calls, whatever is known of their tools.
        digest_of(&[self.server.as_deref().unwrap_or_default(), &self.tool, arguments])
    }
}

impl CallPlan {
    /// The question to the ledger, for a call of a run, and what it has answered.
    pub(super) fn recall(&self, hub: &Hub, planned: &PlannedRun) -> Result<Option<RecallStep>, HubError> {
        let Some(run) = self.options.run.clone() else { return Ok(None) };
        match &self.recall {
            RecallState::Open => Ok(Some(RecallStep::Ask(RecallRequest {
                ledger: hub.ledger_of(planned),
                run,
                principal: self.options.principal.as_deref().unwrap_or_default().to_owned(),
                tool: self.request.target.name().to_string(),
                server: self.request.options.server.as_deref().map(str::to_owned),
                definition: known_definition(hub, planned),
            }))),
            RecallState::Over(result) => Ok(Some(RecallStep::Replay(result.clone()))),
            RecallState::Refused(error) => Err(error.clone()),
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

    /// Makes the call of a run a recorded one.
    pub(super) fn record(&mut self, hub: &Hub, planned: &mut PlannedRun) {
        if let RecallState::Record(record) = std::mem::take(&mut self.recall) {
            hub.record_as(planned, self.options.principal.as_ref(), record);
        }
    }
}

/// The hash of the definitions of a call; empty if a server has not listed one of its tools.
fn known_definition(hub: &Hub, planned: &PlannedRun) -> String {
    match planned.candidates.iter().all(|one| one.tool.is_defined()) {
        true => hub.definitions_hash(&planned.candidates),
        false => String::new(),
    }
}
