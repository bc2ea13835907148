//! Checking the arguments of a call that needs an approval on a thread, when that takes too long on the event loop.

use super::approvals::Approvals;
use crate::bindings::argument_checks::Checks;
use crate::error::HubError;
use crate::plan::ApprovalRequest;
use parking_lot::Mutex;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::time::Instant;

/// What a thread calls.
#[pyclass(frozen, module = "toolhub._core")]
pub struct LongFit {
    pub(super) args: Py<PyAny>,
    pub(super) checks: Checks,
    pub(super) request: ApprovalRequest,
    pub(super) deadline: Option<Instant>,
}

impl LongFit {
    pub(super) fn fit(&self, py: Python<'_>) -> Option<Result<Approvals, HubError>> {
        Approvals::new(self.args.bind(py), self.checks, &self.request, self.deadline, false).transpose()
    }
}

#[pymethods]
impl LongFit {
    fn __call__(&self, py: Python<'_>) -> FittedForms {
        FittedForms(Mutex::new(self.fit(py)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.args)
    }
}

/// What the call returns: the forms to ask about, or why no candidate takes the arguments.
#[pyclass(frozen, module = "toolhub._core")]
pub struct FittedForms(Mutex<Option<Result<Approvals, HubError>>>);

impl FittedForms {
    pub(super) fn take(&self) -> Option<Result<Approvals, HubError>> {
        self.0.lock().take()
    }
}

#[pymethods]
impl FittedForms {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Locked forms are in use right now, so they are not garbage.
        match self.0.try_lock().as_deref() {
            Some(Some(Ok(approvals))) => approvals.traverse(&visit),
            _ => Ok(()),
        }
    }
}
