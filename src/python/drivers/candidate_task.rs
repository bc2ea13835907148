//! One Python candidate among several: what its asyncio task runs.
//!
//! It reports inside the coroutine's last step, which saves a turn of the loop, and keeps the tool's exception out of the
//! task, so that asyncio never reports it as never retrieved.

use crate::drivers::awaiting::{
    Awaitable, Awaited, Step, cancellations, close, current_task, is_cancelled_error, send, throw,
};
use crate::drivers::execution::Execution;
use crate::prelude::*;
use crate::runtime::loop_bridge::running_loop;
use crate::runtime::pool::AbandonedResources;
use pyo3::exceptions::PyKeyboardInterrupt;

#[pyclass(frozen, extends = Awaitable, module = "toolhub._core")]
pub struct CandidateTask {
    execution: Py<Execution>,
    slot: usize,
    awaitable: Py<PyAny>,
    state: Mutex<ChildState>,
}

#[derive(Default)]
struct ChildState {
    /// It was stepped.
    is_begun: bool,
    /// What a coroutine that was moved here is waiting for already; yielded first.
    pending: Option<Py<PyAny>>,
    /// A stop that is due as soon as the tool has handled a cancellation from elsewhere.
    stop_owed: bool,
    /// It goes on without its call, see [`CandidateTask::outlives_call`], and keeps these until it ends.
    leftover: Option<AbandonedResources>,
    /// The end of its last grace, when that has begun: a cancellation after it closes the coroutine.
    ends: Option<Instant>,
}

/// How long a task whose call is over may go on after a cancellation from outside, as when its event loop ends.
const LAST_GRACE: Duration = Duration::from_secs(1);

impl CandidateTask {
    /// A coroutine that has `moved` here has been stepped elsewhere, waits for this, and goes on without its call.
    pub fn new(
        execution: Py<Execution>,
        slot: usize,
        awaitable: Py<PyAny>,
        moved: Option<(Py<PyAny>, AbandonedResources)>,
    ) -> Self {
        let is_begun = moved.is_some();
        let (pending, leftover) = moved.unzip();
        let state = ChildState { is_begun, pending, leftover, ..ChildState::default() };
        CandidateTask { execution, slot, awaitable, state: Mutex::new(state) }
    }

    /// The call of this task is over and the task goes on. From now on a cancellation comes from outside, and the task ends
    /// soon after it, whatever the tool does: an event loop that ends waits for its tasks.
    pub fn outlives_call(task: &Bound<'_, PyAny>, leftover: AbandonedResources) -> PyResult<()> {
        let coroutine = task.call_method0(intern!(task.py(), "get_coro"))?;
        if let Ok(child) = coroutine.cast::<CandidateTask>() {
            child.get().state.lock().leftover = Some(leftover);
        }
        Ok(())
    }

    /// A detached coroutine went on after a cancellation from outside.
    fn limit_its_time(&self, py: Python<'_>) -> PyResult<()> {
        if self.state.lock().ends.is_some() {
            return Ok(());
        }
        self.state.lock().ends = Some(Instant::now() + LAST_GRACE);
        let cancel = current_task(py)?.getattr(intern!(py, "cancel"))?;
        let later = (LAST_GRACE.as_secs_f64(), cancel);
        running_loop(py)?.call_method1(intern!(py, "call_later"), later).map(drop)
    }

    /// Cancels the task of a child. One that is being cancelled already, by `asyncio.run` at its end or by a timeout inside
    /// the tool, is left to its clean-up, which a second cancellation would break off.
    pub fn stop(task: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = task.py();
        if cancellations(task)? > 0
            && let Ok(child) = task.call_method0(intern!(py, "get_coro"))?.cast::<CandidateTask>()
        {
            child.get().state.lock().stop_owed = true;
            return Ok(());
        }
        task.call_method0(intern!(py, "cancel")).map(drop)
    }

    /// The tool has suspended. If it absorbed the other cancellation (`uncancel`), deliver the one that is owed.
    fn suspended(&self, py: Python<'_>) -> PyResult<()> {
        if !self.state.lock().stop_owed {
            return Ok(());
        }
        let task = current_task(py)?;
        if cancellations(&task)? == 0 {
            self.state.lock().stop_owed = false;
            task.call_method0(intern!(py, "cancel"))?;
        }
        Ok(())
    }

    /// Its call is over.
    fn is_detached(&self) -> bool {
        self.state.lock().leftover.is_some()
    }

    fn take_pending(&self) -> Option<Py<PyAny>> {
        self.state.lock().pending.take()
    }

    fn report(&self, py: Python<'_>, stepped: PyResult<Step>) -> PyResult<Step> {
        let execution = self.execution.bind(py);
        if self.is_detached() && !matches!(stepped, Ok(Step::Yield(_))) {
            let ended = std::mem::take(&mut *self.state.lock());
            drop(ended);
        }
        let run = execution.get();
        let ended = match stepped {
            Ok(Step::Yield(value)) => return self.suspended(py).map(|()| Step::Yield(value)),
            Ok(Step::Return(value)) => {
                run.returned(py, self.slot, value);
                Ok(Step::Return(py.None()))
            }
            Err(error) if is_cancelled_error(py, &error) => {
                run.child_cancelled(py, self.slot, &error);
                Err(error)
            }
            // The user's interrupt is for the caller, who stops the loop with it; when there is none any more, for the loop.
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                run.interrupt(error)?;
                run.mark_stopped(self.slot);
                Ok(Step::Return(py.None()))
            }
            Err(error) => {
                run.raised(py, self.slot, error);
                Ok(Step::Return(py.None()))
            }
        };
        Execution::after_event(execution);
        ended
    }
}

impl Awaited for CandidateTask {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step> {
        let py = slf.py();
        let this = slf.get();
        if let Some(pending) = this.take_pending() {
            return Ok(Step::Yield(pending));
        }
        let was_begun = std::mem::replace(&mut this.state.lock().is_begun, true);
        if !was_begun && !this.execution.get().begin_here(this.slot) {
            close(this.awaitable.bind(py))?;
            this.execution.get().mark_stopped(this.slot);
            return Ok(Step::Return(py.None()));
        }
        this.report(py, send(this.awaitable.bind(py)))
    }

    fn throw(slf: &Bound<'_, Self>, error: PyErr) -> PyResult<Step> {
        let (py, this) = (slf.py(), slf.get());
        drop(this.take_pending());
        if this.state.lock().ends.is_some_and(|at| at <= Instant::now()) {
            // One that ignores this too is not stepped any more.
            drop(close(this.awaitable.bind(py)));
            return this.report(py, Err(error));
        }
        let stepped = throw(this.awaitable.bind(py), error);
        if this.is_detached() && matches!(stepped, Ok(Step::Yield(_))) {
            this.limit_its_time(py)?;
        }
        this.report(py, stepped)
    }

    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        drop(slf.get().take_pending());
        close(slf.get().awaitable.bind(slf.py()))
    }
}

#[pymethods]
impl CandidateTask {
    /// asyncio shows these in a task's repr and stack.
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        self.awaitable.getattr(py, name)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.execution)?;
        visit.call(&self.awaitable)?;
        // A locked one is in use right now, so it is not garbage.
        let Some(state) = self.state.try_lock() else { return Ok(()) };
        visit.call(&state.pending)
    }
}
