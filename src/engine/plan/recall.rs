//! Calls of a run: what the run has recorded of this call, before anything else is done for it.

use super::state::{CallPlan, CallRequest, NumberedCall, not_json};
use crate::hub::{
    AskedCall, CallRecord, Hub, PlannedRun, blocked_by_run, call_cancelled, kept_result, run_unreadable,
    without_secrets,
};
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;
use toolhub_registry::identity::NotJson;
use toolhub_store::ledger::{CallsBefore, FileProblem, Ledger, OccurrenceTicket, RunCall, RunMemory};
use toolhub_text::message;
use toolhub_types::error::{Result, clip};

/// Asks the ledger what a run knows of a call; report it with [`CallPlan::recalled`].
pub struct RecallRequest {
    pub ledger: Arc<Ledger>,
    ticket: Arc<OccurrenceTicket>,
    call: RunCall,
    /// Its providers and digests of what they are, if it may have an effect.
    acts_with: Option<Vec<(String, String)>>,
    /// When the deadline of the call passes.
    end: Option<Instant>,
}

impl RecallRequest {
    /// Asks; `done` is called on another thread.
    pub fn ask(&self, done: impl FnOnce(Result<RunMemory, FileProblem>) + Send + 'static) {
        let (ticket, open) = (self.ticket.clone(), self.ticket.open_before());
        let answered = {
            let open = open.clone();
            move |memory: Result<RunMemory, FileProblem>| {
                match &memory {
                    Ok(RunMemory::New(_)) => ticket.close(&open),
                    Ok(RunMemory::Answered(number, _)) => ticket.skip_to(*number),
                    Ok(RunMemory::Settled(number, _)) => ticket.close(&[*number]),
                    _ => {}
                }
                done(memory);
            }
        };
        let made_otherwise = self.acts_with.as_deref().and_then(|tools| self.ticket.made_otherwise(tools));
        self.ledger.recall(
            self.call.clone(),
            CallsBefore { open, made_otherwise },
            self.end,
            Box::new(answered),
        );
    }
}

impl CallPlan {
    /// Takes the number of a call of a run: first of all, so that it does not depend on what becomes of the call.
    pub(super) fn take_number(&mut self, hub: &Hub) {
        let (None, Some(run), Some(Ok(key))) = (&self.number, &self.options.run, &self.key) else { return };
        let (ledger, key) = (hub.ledger(), key.digest());
        let principal = self.options.principal.as_deref().unwrap_or_default().to_owned();
        let ticket = ledger.occurrence(&principal, run, key);
        let call = RunCall {
            principal,
            run: run.to_string(),
            key: key.to_string(),
            occurrence: ticket.number,
            tool: self.request.target.name().to_string(),
            definition: String::new(),
        };
        self.number = Some(NumberedCall { ledger, ticket: Arc::new(ticket), call });
    }

    /// The question to the ledger, for a call of a run.
    pub(super) fn recall(&self, hub: &Hub, planned: &PlannedRun) -> Result<Option<RecallRequest>> {
        let (Some(run), None) = (&self.options.run, &self.record) else { return Ok(None) };
        let tool = self.request.target.name();
        let identity = self.identity(hub, &planned.candidates);
        let not_json = |why: NotJson| {
            let text = message!(
                "Tool '{}' was not called: a call of run '{}' is recognised by its arguments, and these are not JSON: {}.",
                clip(tool),
                clip(run),
                why.sentence
            );
            not_json(tool, &why, text)
        };
        let definition = identity.map_err(not_json)?.definition;
        let may_act = planned.candidates.iter().any(|one| !one.spec().effects.are_harmless());
        // It has a number, because it has a key.
        let Some(NumberedCall { ledger, ticket, call }) = &self.number else { return Ok(None) };
        Ok(Some(RecallRequest {
            ledger: ledger.clone(),
            ticket: ticket.clone(),
            call: RunCall { definition: definition.text(), ..call.clone() },
            acts_with: may_act.then(|| definition.by_provider()),
            end: self.end(),
        }))
    }

    /// The ledger has answered: what the call gave when it was made in an earlier life of its run, if it was.
    pub fn recalled(
        &mut self,
        memory: Result<RunMemory, FileProblem>,
        now: Instant,
    ) -> Result<Option<Value>> {
        let (tool, run) = (self.request.target.name().clone(), self.options.run.clone().unwrap_or_default());
        let Some(NumberedCall { ticket, .. }) = &self.number else { return Ok(None) };
        let error = match memory {
            Err(problem) => Some(run_unreadable(&tool, &run, &problem)),
            Ok(RunMemory::New(call)) => {
                self.record = Some(CallRecord { run: run.to_string(), call, ticket: ticket.clone() });
                None
            }
            Ok(RunMemory::Over(result) | RunMemory::Answered(_, result) | RunMemory::Settled(_, result)) => {
                ticket.end();
                return Ok(Some(result));
            }
            Ok(memory) => blocked_by_run(&tool, &run, &memory),
        };
        // The ledger gives up at the deadline.
        error.map_or(Ok(None), |error| self.check_deadline(now).and(Err(error)))
    }

    /// Makes a call of a run, or one that may have effects, a recorded one.
    pub(super) fn record(&mut self, hub: &Hub, planned: &mut PlannedRun) {
        let key = self.key.as_ref().and_then(|key| key.as_deref().ok());
        let CallRequest { target, options, .. } = &self.request;
        hub.record(planned, self.record.take(), || AskedCall::new(target.clone(), options.clone(), key));
    }

    /// Whether the run keeps what the caller is told, because it has no result of the call.
    pub fn is_told(&self) -> bool {
        self.number.as_ref().is_some_and(|number| !number.ticket.is_over())
    }

    /// Lets the run keep what the caller was told; `None` if it was not told anything.
    pub(super) fn tell(&mut self, answer: Option<Value>) {
        let is_told = self.is_told();
        let Some(NumberedCall { ledger, call, .. }) = self.number.take().filter(|_| is_told) else { return };
        let cancelled = || kept_result(&Err(call_cancelled(&call.tool)));
        let answer = without_secrets(answer.unwrap_or_else(cancelled));
        ledger.tell(call, answer.to_string());
    }
}
