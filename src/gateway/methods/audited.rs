//! The line of one request in the audit log. It is written in any case: a request that is dropped was cancelled.

use crate::error::{ErrorKind, HubError};
use crate::gateway::caller::Caller;
use crate::gateway::operate::{AuditEvent, AuditOutcome, AuditRecord};
use crate::gateway::rpc::{INTERNAL_ERROR, RpcError};
use crate::gateway::state::Gateway;
use std::time::{Instant, SystemTime};

pub struct AuditedRequest<'a> {
    gateway: &'a Gateway,
    caller: &'a Caller,
    event: AuditEvent<'a>,
    begun: Instant,
    time: SystemTime,
    is_written: bool,
}

impl<'a> AuditedRequest<'a> {
    /// The request begins now.
    pub fn new(gateway: &'a Gateway, caller: &'a Caller, event: AuditEvent<'a>) -> Self {
        let (begun, time) = (Instant::now(), SystemTime::now());
        AuditedRequest { gateway, caller, event, begun, time, is_written: false }
    }

    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// Writes the line of a call: the provider that answered, and the kind of the error, or none for a success.
    pub fn write_call(mut self, answered: Option<&str>, failure: Option<&str>) -> Result<(), HubError> {
        self.is_written = true;
        let event = match self.event {
            AuditEvent::Call { tool, arguments, .. } => {
                AuditEvent::Call { tool, candidate: answered, arguments }
            }
            event => event,
        };
        self.write_line(event, failure)
    }

    /// Writes the line: the kind of the error, or none for a success. What is not in the log must not be answered.
    pub fn write(mut self, failure: Option<ErrorKind>) -> Result<(), RpcError> {
        self.is_written = true;
        let written = self.write_line(self.event, failure.map(ErrorKind::name));
        written.map_err(|error| RpcError::new(INTERNAL_ERROR, error.message))
    }

    fn write_line(&self, event: AuditEvent<'_>, failure: Option<&str>) -> Result<(), HubError> {
        let Some(audit) = &self.gateway.options.audit else { return Ok(()) };
        audit.write(&AuditRecord {
            time: self.time,
            principal: &self.caller.principal.id,
            view: &self.caller.view.name,
            event,
            outcome: failure.map_or(AuditOutcome::Ok, AuditOutcome::Error),
            duration: self.begun.elapsed(),
        })
    }
}

impl Drop for AuditedRequest<'_> {
    fn drop(&mut self) {
        if !self.is_written {
            // The client has gone, so a failure to write can be reported to none.
            let _ = self.write_line(self.event, Some(ErrorKind::Cancelled.name()));
        }
    }
}
