//! One coroutine that is stepped inside the caller's own task, and the cancellations of that task.

use crate::drivers::awaiting::{cancellations, uncancel};
use crate::runtime::call_context::LentSlots;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::time::Instant;

pub struct InPlaceCoroutine {
    pub slot: usize,
    pub awaitable: Py<PyAny>,
    /// What calls inside the coroutine may borrow.
    pub held: LentSlots,
    /// The caller's task and how often it was being cancelled when we began; known from the first suspension on.
    pub caller: Option<(Py<PyAny>, usize)>,
    /// How often we have cancelled the caller's task, to be undone.
    pub cancels: usize,
    /// When to cancel again; see `Execution::cancel_direct`.
    pub second_cancel_at: Option<Instant>,
    pub cancelled_twice: bool,
    /// The last cancellation that was thrown into the coroutine, ours or another one.
    pub cancelled_by: Option<Box<PyErr>>,
    /// The caller's cancellation, which the coroutine went on after; it gets a grace, then the caller leaves with it.
    pub outlived: Option<Box<PyErr>>,
}

impl InPlaceCoroutine {
    pub fn new(slot: usize, awaitable: Py<PyAny>, held: LentSlots) -> Self {
        InPlaceCoroutine {
            slot,
            awaitable,
            held,
            caller: None,
            cancels: 0,
            second_cancel_at: None,
            cancelled_twice: false,
            cancelled_by: None,
            outlived: None,
        }
    }

    /// What a step needs: the iterator, and what calls inside it may borrow.
    pub fn stepped<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, LentSlots) {
        (self.awaitable.bind(py).clone(), self.held.as_ref().map(|held| held.clone_ref(py)))
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.awaitable)?;
        self.caller.as_ref().map_or(Ok(()), |(task, _)| visit.call(task))
    }

    /// Takes back our cancellations; false if another cancellation was requested too.
    pub fn uncancel(&self, py: Python<'_>) -> PyResult<bool> {
        let Some((task, before)) = &self.caller else { return Ok(true) };
        let mut left = 0;
        for _ in 0..self.cancels {
            left = uncancel(task.bind(py))?;
        }
        Ok(left <= *before)
    }

    /// Whether another one than us has cancelled the caller's task, and has not taken it back. A timeout inside the tool
    /// cancels the task too, and takes it back when it has ended.
    pub fn caller_is_cancelled(&self, py: Python<'_>) -> PyResult<bool> {
        match (&self.caller, &self.cancelled_by) {
            (Some((task, before)), Some(_)) => Ok(cancellations(task.bind(py))? > *before + self.cancels),
            _ => Ok(false),
        }
    }

    /// True when the tool itself raised a cancellation.
    pub fn is_its_own(&self, py: Python<'_>) -> PyResult<bool> {
        match &self.caller {
            None => Ok(true),
            Some((task, before)) => Ok(cancellations(task.bind(py))? <= *before),
        }
    }
}
