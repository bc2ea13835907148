//! One Python candidate among several: what its asyncio task runs.
//!
//! It reports inside the coroutine's last step, which saves a turn of the loop, and keeps the tool's exception out of the
//! task, so that asyncio never reports it as never retrieved.

use crate::drivers::awaiting::{
    Awaitable, Awaited, Step, cancellations, close, current_task, is_cancelled_error, send, throw_value,
};
use crate::drivers::execution::Execution;
use crate::runtime::kept::intern;
use crate::runtime::loop_bridge::{self, Addressee, DeadlineKey, LoopBridge, Message};
use crate::runtime::pool::Leftover;
use crate::values::errors::show_unraisable;
use parking_lot::Mutex;
use pyo3::exceptions::{PyBaseException, PyKeyboardInterrupt};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[pyclass(frozen, extends = Awaitable, module = "toolhub._core")]
pub struct Child {
    execution: Py<Execution>,
    slot: usize,
    awaitable: Py<PyAny>,
    /// What a coroutine that was moved here is waiting for already; yielded first.
    pending: Option<Mutex<Option<Py<PyAny>>>>,
    /// A stop that is due as soon as the tool has handled a cancellation from elsewhere.
    stop_owed: AtomicBool,
    /// It goes on without its call, and keeps these until it ends.
    leftover: Mutex<Option<Leftover>>,
    /// Its call is over; see [`Child::outlives_call`].
    is_detached: AtomicBool,
    /// Its own task and the end of its last grace; set when that begins.
    last_grace: Mutex<Option<(Py<PyAny>, DeadlineKey)>>,
    /// The coroutine was closed: it ends with the next cancellation.
    is_closed: AtomicBool,
    /// It was stepped.
    is_begun: AtomicBool,
}

/// How long a task whose call is over may go on after a cancellation from outside, as when its event loop ends.
const LAST_GRACE: Duration = Duration::from_secs(1);

impl Child {
    /// A coroutine that has `moved` here has been stepped elsewhere, waits for this, and goes on without its call.
    pub fn new(
        execution: Py<Execution>,
        slot: usize,
        awaitable: Py<PyAny>,
        moved: Option<(Py<PyAny>, Leftover)>,
    ) -> Self {
        let is_moved = moved.is_some();
        let (pending, leftover) = moved.unzip();
        Child {
            execution,
            slot,
            awaitable,
            pending: pending.map(|pending| Mutex::new(Some(pending))),
            stop_owed: AtomicBool::new(false),
            leftover: Mutex::new(leftover),
            is_detached: AtomicBool::new(is_moved),
            last_grace: Mutex::default(),
            is_closed: AtomicBool::new(false),
            is_begun: AtomicBool::new(is_moved),
        }
    }

    /// The call of this task is over and the task goes on. From now on a cancellation comes from outside, and the task ends
    /// soon after it, whatever the tool does: an event loop that ends waits for its tasks.
    pub fn outlives_call(task: &Bound<'_, PyAny>, leftover: Leftover) -> PyResult<()> {
        let coroutine = task.call_method0(intern!(task.py(), "get_coro"))?;
        if let Ok(child) = coroutine.cast::<Child>() {
            child.get().is_detached.store(true, Ordering::Relaxed);
            *child.get().leftover.lock() = Some(leftover);
        }
        Ok(())
    }

    /// A detached coroutine went on after a cancellation from outside.
    fn limit_its_time(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        if slf.get().last_grace.lock().is_some() {
            return Ok(());
        }
        let (task, port) = (current_task(py)?, loop_bridge::current(py)?);
        let key = LoopBridge::add_deadline(&port, Instant::now() + LAST_GRACE, slf.clone().unbind())?;
        *slf.get().last_grace.lock() = Some((task.unbind(), key));
        Ok(())
    }

    /// The coroutine has ended.
    fn release(&self, py: Python<'_>) {
        let (leftover, last_grace) = (self.leftover.lock().take(), self.last_grace.lock().take());
        drop(leftover);
        if let Some((_, key)) = last_grace
            && let Ok(port) = loop_bridge::current(py)
        {
            port.get().remove_deadline(key);
        }
    }

    /// Cancels the task of a child. One that is being cancelled already, by `asyncio.run` at its end or by a timeout inside
    /// the tool, is left to its clean-up, which a second cancellation would break off.
    pub fn stop(task: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = task.py();
        if cancellations(task)? > 0
            && let Ok(child) = task.call_method0(intern!(py, "get_coro"))?.cast::<Child>()
        {
            child.get().stop_owed.store(true, Ordering::Relaxed);
            return Ok(());
        }
        task.call_method0(intern!(py, "cancel")).map(drop)
    }

    /// The tool has suspended. If it absorbed the other cancellation (`uncancel`), deliver the one that is owed.
    fn suspended(&self, py: Python<'_>) -> PyResult<()> {
        if !self.stop_owed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let task = current_task(py)?;
        if cancellations(&task)? == 0 {
            self.stop_owed.store(false, Ordering::Relaxed);
            task.call_method0(intern!(py, "cancel"))?;
        }
        Ok(())
    }

    fn take_pending(&self) -> Option<Py<PyAny>> {
        self.pending.as_ref().and_then(|pending| pending.lock().take())
    }

    fn report(&self, py: Python<'_>, stepped: PyResult<Step>) -> PyResult<Step> {
        let execution = self.execution.bind(py);
        if self.is_detached.load(Ordering::Relaxed) && !matches!(stepped, Ok(Step::Yield(_))) {
            self.release(py);
        }
        match stepped {
            Ok(Step::Yield(value)) => self.suspended(py).map(|()| Step::Yield(value)),
            Ok(Step::Return(value)) => {
                Execution::child_returned(execution, self.slot, value);
                Ok(Step::Return(py.None()))
            }
            Err(error) if is_cancelled_error(py, &error) => {
                Execution::child_cancelled(execution, self.slot, &error);
                Err(error)
            }
            // The user's interrupt is for the caller, who stops the loop with it; when there is none any more, for the loop.
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                Execution::child_interrupted(execution, self.slot, error).map(|()| Step::Return(py.None()))
            }
            Err(error) => {
                Execution::child_raised(execution, self.slot, error);
                Ok(Step::Return(py.None()))
            }
        }
    }
}

impl Awaited for Child {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step> {
        let py = slf.py();
        let this = slf.get();
        if let Some(pending) = this.take_pending() {
            return Ok(Step::Yield(pending));
        }
        if !this.is_begun.swap(true, Ordering::Relaxed) && !this.execution.get().begin_here(this.slot) {
            close(this.awaitable.bind(py))?;
            this.execution.get().mark_stopped(this.slot);
            return Ok(Step::Return(py.None()));
        }
        this.report(py, send(this.awaitable.bind(py)))
    }

    fn throw(slf: &Bound<'_, Self>, error: Bound<'_, PyBaseException>) -> PyResult<Step> {
        let (py, this) = (slf.py(), slf.get());
        drop(this.take_pending());
        if this.is_closed.load(Ordering::Relaxed) {
            return this.report(py, Err(PyErr::from_value(error.into_any())));
        }
        let stepped = throw_value(this.awaitable.bind(py), error);
        if this.is_detached.load(Ordering::Relaxed) && matches!(stepped, Ok(Step::Yield(_))) {
            Self::limit_its_time(slf)?;
        }
        this.report(py, stepped)
    }

    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        drop(slf.get().take_pending());
        close(slf.get().awaitable.bind(slf.py()))
    }
}

impl Addressee for Child {
    fn receive(_slf: &Bound<'_, Self>, _slot: usize, _message: Message) {}

    /// The last grace is over: closes the coroutine, then ends the task.
    fn expire(slf: &Bound<'_, Self>) {
        let (py, this) = (slf.py(), slf.get());
        let Some((task, _)) = this.last_grace.lock().take() else { return };
        this.is_closed.store(true, Ordering::Relaxed);
        // One that ignores this too is not stepped any more.
        drop(close(this.awaitable.bind(py)));
        show_unraisable(task.call_method0(py, intern!(py, "cancel")), slf.as_any());
    }
}

#[pymethods]
impl Child {
    /// asyncio shows these in a task's repr and stack.
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        self.awaitable.getattr(py, name)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.execution)?;
        visit.call(&self.awaitable)?;
        if let Some(last_grace) = self.last_grace.try_lock() {
            visit.call(last_grace.as_ref().map(|(task, _)| task))?;
        }
        // A locked one is in use right now, so it is not garbage.
        match self.pending.as_ref().and_then(Mutex::try_lock) {
            Some(pending) => visit.call(&*pending),
            None => Ok(()),
        }
    }
}
