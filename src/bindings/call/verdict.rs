//! What the answer of the user's `approve` means.

use crate::bindings::errors::class_of;
use crate::bindings::unicode::start_of;
use crate::error::shown_seconds;
use crate::invisible::error_line;
use crate::plan::Verdict;
use pyo3::exceptions::{PyException, PyTimeoutError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

/// Characters of a reason; what is longer is cut.
const LONGEST: usize = 1_000;

/// `True` approves, and nothing else does; a text is the reason of a refusal.
pub fn verdict(answer: &Bound<'_, PyAny>) -> Verdict {
    if answer.cast::<PyBool>().is_ok_and(|answer| answer.is_true()) {
        return Verdict::Approved;
    }
    let reason = answer.cast::<PyString>().ok().and_then(|text| start_of(text, 4 * LONGEST).ok());
    let reason = reason.map(|reason| error_line(&reason, LONGEST));
    Verdict::Refused(match reason.filter(|reason| !reason.is_empty()) {
        Some(reason) => format!("it was not approved: {reason}"),
        None => "it was not approved".to_owned(),
    })
}

/// A question that failed is a refusal. A cancellation or an interrupt is for the caller.
pub fn failed_question(py: Python<'_>, error: PyErr, limit: f64) -> PyResult<Verdict> {
    if error.is_instance_of::<PyTimeoutError>(py) {
        return Ok(Verdict::Refused(format!("it was not approved within {} s", shown_seconds(limit))));
    }
    if !error.is_instance_of::<PyException>(py) {
        return Err(error);
    }
    Ok(Verdict::Refused(format!("asking for approval failed ({})", class_of(error.value(py)))))
}
