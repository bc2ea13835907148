//! The line of one call in the audit log. It is written in any case: a call that is dropped was cancelled.

use crate::error::{ErrorKind, HubError};
use crate::gateway::caller::Caller;
use crate::gateway::operate::{AuditOutcome, AuditRecord};
use crate::gateway::state::Gateway;
use serde_json::Value;
use std::time::{Instant, SystemTime};

pub struct CallRecord<'a> {
    gateway: &'a Gateway,
    caller: &'a Caller,
    tool: &'a str,
    arguments: &'a Value,
    begun: Instant,
    time: SystemTime,
    is_written: bool,
}

impl<'a> CallRecord<'a> {
    /// The call begins now.
    pub fn new(gateway: &'a Gateway, caller: &'a Caller, tool: &'a str, arguments: &'a Value) -> Self {
        let (begun, time) = (Instant::now(), SystemTime::now());
        CallRecord { gateway, caller, tool, arguments, begun, time, is_written: false }
    }

    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// Writes the line: the kind of the error, or none for a success.
    pub fn write(mut self, candidate: Option<&str>, failure: Option<&str>) -> Result<(), HubError> {
        self.write_line(candidate, failure)
    }

    fn write_line(&mut self, candidate: Option<&str>, failure: Option<&str>) -> Result<(), HubError> {
        self.is_written = true;
        let Some(audit) = &self.gateway.options.audit else { return Ok(()) };
        audit.write(&AuditRecord {
            time: self.time,
            principal: &self.caller.principal.id,
            view: &self.caller.view.name,
            tool: self.tool,
            candidate,
            arguments: self.arguments,
            outcome: failure.map_or(AuditOutcome::Ok, AuditOutcome::Error),
            duration: self.begun.elapsed(),
        })
    }
}

impl Drop for CallRecord<'_> {
    fn drop(&mut self) {
        if !self.is_written {
            // Nobody is left who could be told that the log cannot be written.
            let _ = self.write_line(None, Some(ErrorKind::Cancelled.name()));
        }
    }
}
