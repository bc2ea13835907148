//! Asking a function of the user for an approval, and what its answer means.

use super::services::LoopCall;
use crate::runtime::fork_safe_once::intern;
use crate::runtime::lazy_import::Imported;
use crate::values::arguments::copying;
use crate::values::errors::class_of;
use crate::values::json;
use pyo3::exceptions::{PyException, PyRuntimeError, PyTimeoutError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};
use serde_json::{Map, Value};
use std::time::Instant;
use toolhub::error::shown_seconds;
use toolhub::message;
use toolhub::plan::{ApprovalRequest, CallPlan, FunctionAnswer, NOT_APPROVED};

impl LoopCall {
    /// The question to a function of the user, within the deadline of the call.
    pub(super) fn question<'py>(
        &self,
        py: Python<'py>,
        plan: &CallPlan,
        number: usize,
        (request, args, meta): (&ApprovalRequest, &Py<PyAny>, Map<String, Value>),
    ) -> PyResult<Bound<'py, PyAny>> {
        static APPROVAL: Imported = Imported::new("toolhub.permissions", "Approval");
        static UNTIL_CLOSED: Imported = Imported::new("toolhub._user_functions", "until_closed");
        let nobody = || PyRuntimeError::new_err("there is nobody to ask for an approval");
        let permissions = self.callbacks.permissions.as_ref().ok_or_else(nobody)?;
        let programs = self.hub.get().core().definition(&request.candidates).programs();
        let Ok(shown) = copying::copy(args.bind(py)) else {
            return Err(PyRuntimeError::new_err("arguments that were copied cannot be copied again"));
        };
        let servers = PyTuple::new(py, request.servers.iter().map(|id| &**id))?;
        let approval = APPROVAL.get(py)?.call1((
            &*request.name,
            shown,
            self.callbacks.call_id.as_deref(),
            servers,
            &*request.description,
            json::to_python(py, &Value::Object(meta))?,
            PyTuple::new(py, programs)?,
            plan.request().proposed_in.as_deref(),
        ))?;
        let left = plan.time_left(Instant::now()).map(|left| left.as_secs_f64());
        let question = permissions.bind(py).call_method1(intern!(py, "ask"), (number, approval, left))?;
        UNTIL_CLOSED.get(py)?.call1((&self.hub, question))
    }

    pub(super) fn approval_limit(&self, py: Python<'_>) -> f64 {
        let permissions = self.callbacks.permissions.as_ref();
        let limit = permissions.and_then(|one| one.bind(py).getattr(intern!(py, "timeout")).ok());
        limit.and_then(|limit| limit.extract().ok()).unwrap_or_default()
    }
}

/// `True` goes, `False` refuses, None leaves it to the next; everything else is a mistake, and never an approval.
pub fn function_answer(answer: &Bound<'_, PyAny>) -> FunctionAnswer {
    if answer.is_none() {
        return FunctionAnswer::Pass;
    }
    match answer.cast::<PyBool>() {
        Ok(answer) if answer.is_true() => FunctionAnswer::Go,
        Ok(_) => FunctionAnswer::Refuse(NOT_APPROVED.into()),
        Err(_) => FunctionAnswer::Refuse(message!(
            "approve must answer True, False or None, got {}",
            class_of(answer)
        )),
    }
}

/// A question that failed is a refusal. A cancellation or an interrupt is for the caller.
pub fn failed_question(py: Python<'_>, error: PyErr, limit: f64) -> PyResult<FunctionAnswer> {
    if error.is_instance_of::<PyTimeoutError>(py) {
        return Ok(FunctionAnswer::Refuse(message!("it was not approved within {} s", shown_seconds(limit))));
    }
    if !error.is_instance_of::<PyException>(py) {
        return Err(error);
    }
    Ok(FunctionAnswer::Refuse(message!("asking for approval failed ({})", class_of(error.value(py)))))
}
