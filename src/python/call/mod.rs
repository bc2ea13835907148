//! The driver of a [`CallPlan`] on the caller's own event loop.
//!
//! Every step that waits is an awaitable that is stepped inside the caller's task: a look-up on servers ([`bridge`]), the
//! user's `approve`, an identical call in flight ([`flight`]), the run of the candidates ([`super::execution`]), the user's model.
//! What they yield goes up to the event loop; what is thrown in goes down to them.
//!
//! A plain call has no such driver: it is a run alone.

mod approval;
mod approvals;
mod content;
pub mod entry;
pub mod flight;
mod recall;
pub mod request;
pub mod run;
mod state;
mod steps;
mod stored_approval;
mod verdict;

pub use state::{CallCallbacks, CallDriver};

use super::awaiting::{Awaited, Step, close, send, throw};
use super::once::intern;
use pyo3::exceptions::{PyBaseException, PyRuntimeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use state::{Awaiting, Next};

impl CallDriver {
    /// Steps the current awaitable, and starts the next one when it has ended.
    fn advance(slf: &Bound<'_, Self>, thrown: Option<PyErr>) -> PyResult<Step> {
        let py = slf.py();
        let (inner, is_done) = {
            let state = slf.get().state.lock();
            let inner = state.inner.as_ref().map(|inner| inner.bind(py).clone());
            (inner, matches!(state.awaiting, Awaiting::Done))
        };
        let mut stepped = match (inner, thrown) {
            (Some(inner), None) => Some(send(&inner)),
            (Some(inner), Some(error)) => Some(throw(&inner, error)),
            (None, None) if is_done => {
                return Err(PyRuntimeError::new_err("cannot reuse an awaitable that was awaited already"));
            }
            (None, None) => None,
            (None, Some(error)) => return slf.get().break_off(py, error),
        };
        loop {
            let next = match stepped {
                Some(Ok(Step::Yield(value))) => return Ok(Step::Yield(value)),
                Some(Ok(Step::Return(value))) => Self::step_ended(slf, Ok(value)),
                Some(Err(error)) => Self::step_ended(slf, Err(error)),
                None => Self::start_step(slf),
            };
            match next {
                Ok(Next::Await(inner)) => {
                    slf.get().state.lock().inner = Some(inner.clone().unbind());
                    stepped = Some(send(&inner));
                }
                Ok(Next::Plan) => stepped = None,
                Ok(Next::Finish(result)) => return slf.get().finish(result),
                Err(error) => return slf.get().break_off(py, error),
            }
        }
    }

    /// Ends without a result: a follower may lead, and listeners hear why.
    fn break_off(&self, py: Python<'_>, error: PyErr) -> PyResult<Step> {
        let (lead, inner) = {
            let mut state = self.state.lock();
            state.awaiting = Awaiting::Done;
            (state.lead.take(), state.inner.take())
        };
        drop((lead, inner));
        self.plan.lock().ended(None, None);
        self.report(py, intern!(py, "broken_off"), (error.value(py),))?;
        Err(error)
    }
}

impl Awaited for CallDriver {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step> {
        Self::advance(slf, None)
    }

    fn throw(slf: &Bound<'_, Self>, error: Bound<'_, PyBaseException>) -> PyResult<Step> {
        Self::advance(slf, Some(PyErr::from_value(error.into_any())))
    }

    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (inner, lead) = {
            let mut state = slf.get().state.lock();
            state.awaiting = Awaiting::Done;
            (state.inner.take(), state.lead.take())
        };
        drop(lead);
        slf.get().plan.lock().ended(None, None);
        inner.map_or(Ok(()), |inner| close(inner.bind(slf.py())))
    }
}

#[pymethods]
impl CallDriver {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.hub)?;
        visit.call(&self.args)?;
        visit.call(&self.callbacks.watch)?;
        visit.call(&self.callbacks.llm)?;
        visit.call(&self.callbacks.permissions)?;
        // A locked state is in use right now, so it is not garbage.
        let Some(state) = self.state.try_lock() else { return Ok(()) };
        visit.call(&state.inner)?;
        if let Some(approvals) = &state.approvals {
            approvals.traverse(&visit)?;
        }
        if let Some(extras) = &state.extras {
            extras.traverse(&visit)?;
        }
        match &state.awaiting {
            Awaiting::Synthesis { result, .. } => visit.call(result),
            Awaiting::Flight(wait, _) => visit.call(wait),
            _ => Ok(()),
        }
    }
}
