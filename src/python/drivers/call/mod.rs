//! The driver of a plan ([`toolhub::plan::drive`]) on the caller's own event loop.
//!
//! ```text
//! CallDriver ──polls──► drive(plan, LoopCall) ──hands over──► an awaitable: a look-up, `approve`, a run, the model
//!     └──────────────────────steps it inside the caller's task ◄──────┘
//! ```
//!
//! The future is polled in place. It never waits by itself: whatever it waits for is an awaitable, which is stepped here, and
//! when that has ended the future is polled again. What awaitables yield goes up to the event loop; what is thrown in goes down
//! to them. Futures of the core are awaitables too ([`super::bridge`]), and woken by the mailbox.
//!
//! A plain call has no such driver: it is a run alone.

pub mod entry;
mod questions;
pub mod request;
mod services;

pub use services::LoopCall;

use super::awaiting::{Awaitable, Awaited, Step, close, send, throw};
use crate::prelude::*;
use services::Handover;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use toolhub::plan::{CallPlan, drive};

/// One call with everything around its run; await it.
#[pyclass(frozen, extends = Awaitable, module = "toolhub._core")]
pub struct CallDriver {
    call: Arc<LoopCall>,
    /// Taken while it is polled, and gone when the call is over.
    future: Mutex<Option<CallFuture>>,
}

type CallFuture = Pin<Box<dyn Future<Output = Py<PyDict>> + Send>>;

impl CallDriver {
    pub fn new(call: LoopCall, mut plan: CallPlan) -> Self {
        let call = Arc::new(call);
        let made = call.clone();
        let future = async move {
            let result = drive(&mut plan, &*made).await;
            made.finish(&plan, result).await
        };
        CallDriver { call, future: Mutex::new(Some(Box::pin(future))) }
    }

    /// Steps what the future waits for, and polls it when that has ended.
    fn advance(&self, py: Python<'_>, mut thrown: Option<PyErr>) -> PyResult<Step> {
        loop {
            let inner = match &*self.call.handover.lock() {
                Handover::Await(inner) => Some(inner.bind(py).clone()),
                _ => None,
            };
            let stepped = match (inner, thrown.take()) {
                (Some(inner), None) => Some(send(&inner)),
                (Some(inner), Some(error)) => Some(throw(&inner, error)),
                (None, Some(error)) => return self.break_off(py, error),
                (None, None) => None,
            };
            match stepped {
                Some(Ok(Step::Yield(value))) => return Ok(Step::Yield(value)),
                Some(Ok(Step::Return(value))) => self.call.hand_over(Handover::Ended(Ok(value))),
                Some(Err(error)) => self.call.hand_over(Handover::Ended(Err(error))),
                None => {}
            }
            let Some(mut future) = self.take_future() else {
                return Err(PyRuntimeError::new_err("cannot reuse an awaitable that was awaited already"));
            };
            if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return Ok(Step::Return(result.into_any()));
            }
            *self.future.lock() = Some(future);
            let handed = std::mem::take(&mut *self.call.handover.lock());
            match handed {
                Handover::Broken(error) => return self.break_off(py, error),
                waiting => self.call.hand_over(waiting),
            }
        }
    }

    fn take_future(&self) -> Option<CallFuture> {
        self.future.lock().take()
    }

    /// Ends without a result: a follower may lead, and listeners hear why.
    fn break_off(&self, py: Python<'_>, error: PyErr) -> PyResult<Step> {
        drop(self.take_future());
        self.call.hand_over(Handover::Nothing);
        self.call.report(py, intern!(py, "broken_off"), (error.value(py),))?;
        Err(error)
    }
}

impl Awaited for CallDriver {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step> {
        slf.get().advance(slf.py(), None)
    }

    fn throw(slf: &Bound<'_, Self>, error: PyErr) -> PyResult<Step> {
        slf.get().advance(slf.py(), Some(error))
    }

    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        drop(slf.get().take_future());
        let handed = std::mem::take(&mut *slf.get().call.handover.lock());
        match handed {
            Handover::Await(inner) => close(inner.bind(slf.py())),
            _ => Ok(()),
        }
    }
}

#[pymethods]
impl CallDriver {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.call.traverse(&visit)
    }
}
