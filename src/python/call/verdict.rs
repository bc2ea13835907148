//! What the answer of the user's `approve` means.

use crate::errors::class_of;
use pyo3::exceptions::{PyException, PyTimeoutError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use toolhub::error::shown_seconds;
use toolhub::plan::{FunctionAnswer, NOT_APPROVED};

/// `True` goes, `False` refuses, None leaves it to the next; everything else is a mistake, and never an approval.
pub fn function_answer(answer: &Bound<'_, PyAny>) -> FunctionAnswer {
    if answer.is_none() {
        return FunctionAnswer::Pass;
    }
    match answer.cast::<PyBool>() {
        Ok(answer) if answer.is_true() => FunctionAnswer::Go,
        Ok(_) => FunctionAnswer::Refuse(NOT_APPROVED.to_owned()),
        Err(_) => {
            let reason = format!("approve must answer True, False or None, got {}", class_of(answer));
            FunctionAnswer::Refuse(reason)
        }
    }
}

/// A question that failed is a refusal. A cancellation or an interrupt is for the caller.
pub fn failed_question(py: Python<'_>, error: PyErr, limit: f64) -> PyResult<FunctionAnswer> {
    if error.is_instance_of::<PyTimeoutError>(py) {
        return Ok(FunctionAnswer::Refuse(format!("it was not approved within {} s", shown_seconds(limit))));
    }
    if !error.is_instance_of::<PyException>(py) {
        return Err(error);
    }
    Ok(FunctionAnswer::Refuse(format!("asking for approval failed ({})", class_of(error.value(py)))))
}
