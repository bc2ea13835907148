//! What a check of arguments on a thread gives to the event loop.

use crate::bindings::argument_checks::{CheckPass, PreparedArguments};
use crate::error::HubError;
use parking_lot::Mutex;
use pyo3::prelude::*;

/// Arguments that were checked, or what is wrong with them; and what the check found.
pub type CheckOutcome = (Result<PreparedArguments, HubError>, CheckPass);

/// What the call returns.
#[pyclass(frozen, module = "toolhub._core")]
pub struct CheckedArguments(Mutex<Option<CheckOutcome>>);

impl CheckedArguments {
    pub fn new(outcome: CheckOutcome) -> Self {
        CheckedArguments(Mutex::new(Some(outcome)))
    }

    pub fn take(&self) -> Option<CheckOutcome> {
        self.0.lock().take()
    }
}
