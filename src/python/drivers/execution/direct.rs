//! The fast way: one coroutine, stepped inside the caller's own task.
//!
//! Its time limit works like `asyncio.timeout`: the caller's task is cancelled and, when the cancellation comes back,
//! uncancelled. A coroutine that goes on after that has the grace for its clean-up; then it is cancelled once more, and if
//! it still goes on it is moved into a task of its own, so that no caller waits forever. The caller's own cancellation is
//! bounded by the same grace, and is raised whatever the coroutine makes of it.

use super::Execution;
use super::state::AttemptState;
use crate::drivers::awaiting::{
    Awaited, Step, cancellations, current_task_of, has_pending_cancel, is_cancelled_error, is_safe,
    new_awaitable, throw, uncancel,
};
use crate::drivers::candidate_task::CandidateTask;
use crate::prelude::*;
use crate::runtime::call_scope::{self, LentPermits};
use crate::runtime::loop_bridge::LoopBridge;
use crate::values::value;
use pyo3::exceptions::{PyGeneratorExit, PyKeyboardInterrupt};
use toolhub::execute::Fate;

impl Execution {
    /// Asks the coroutine that is stepped in the caller's task, if there is one.
    fn with_direct<T>(&self, ask: impl FnOnce(&mut InPlaceCoroutine) -> T) -> Option<T> {
        self.state.lock().direct.as_mut().map(ask)
    }

    pub(super) fn throw_in_place(slf: &Bound<'_, Self>, error: PyErr) -> PyResult<Step> {
        let py = slf.py();
        if is_cancelled_error(py, &error) {
            let cancelled = Some(Box::new(error.clone_ref(py)));
            let before =
                slf.get().with_direct(|direct| std::mem::replace(&mut direct.cancelled_by, cancelled));
            drop(before);
        }
        let closing = error.is_instance_of::<PyGeneratorExit>(py);
        let thrown = match slf.get().with_direct(|direct| direct.stepped(py)) {
            Some((awaitable, held)) => call_scope::within(py, &held, || throw(&awaitable, error)),
            None => Err(error),
        };
        match thrown {
            // GeneratorExit from our close ends the call; one raised by the tool is a tool error.
            Err(error) if closing && error.is_instance_of::<PyGeneratorExit>(py) => {
                let direct = slf.get().state.lock().direct.take();
                drop(direct);
                Self::abandon(slf);
                Err(error)
            }
            thrown => Self::on_step(slf, thrown)?.map_or_else(|| Self::pump(slf), Ok),
        }
    }

    /// Takes in one step; `None` when the attempt is over and the policy goes on.
    pub(super) fn on_step(slf: &Bound<'_, Self>, stepped: PyResult<Step>) -> PyResult<Option<Step>> {
        if let Ok(Step::Yield(value)) = stepped {
            return Self::suspended(slf, value);
        }
        let direct = slf.get().state.lock().direct.take();
        match direct {
            Some(direct) => Self::ended(slf, direct, stepped).map(|()| None),
            None => stepped.map(|_| None),
        }
    }

    fn ended(slf: &Bound<'_, Self>, mut direct: InPlaceCoroutine, stepped: PyResult<Step>) -> PyResult<()> {
        match stepped {
            Ok(Step::Return(value) | Step::Yield(value)) => {
                let py = slf.py();
                let is_cancelled = direct.caller_is_cancelled(py)?;
                direct.uncancel(py)?;
                if let Some(cancelled) = direct.pending_caller_cancel.take().or(direct.cancelled_by.take())
                    && is_cancelled
                {
                    // The tool swallowed the caller's cancellation. Its answer came too late.
                    value::discard(value.bind(py));
                    Self::abandon(slf);
                    return Err(*cancelled);
                }
                slf.get().returned(py, direct.slot, value);
                Ok(())
            }
            Err(error) => Self::ended_by(slf, direct, error),
        }
    }

    /// What the coroutine yields goes up to the event loop, unless it has overstayed its grace.
    fn suspended(slf: &Bound<'_, Self>, value: Py<PyAny>) -> PyResult<Option<Step>> {
        let py = slf.py();
        let look = |direct: &mut InPlaceCoroutine| {
            (direct.caller.is_none(), direct.cancelled_by.is_some(), direct.cancelled_twice)
        };
        let (first, cancelled, cancelled_twice) = slf.get().with_direct(look).unwrap_or_default();
        if first {
            let caller = Self::port(slf).and_then(|port| calling_task(port.get().event_loop(py)));
            let caller = caller.inspect_err(|_| show_unraisable(Self::close(slf), slf.as_any()))?;
            slf.get().with_direct(|direct| direct.caller = Some(caller));
            Self::arm(slf)?;
            Self::end_if_closed(slf);
        }
        if cancelled_twice {
            Self::detach_to_task(slf, value).map(|()| None)
        } else {
            if cancelled {
                Self::grant_grace(slf)?;
            }
            Ok(Some(Step::Yield(value)))
        }
    }

    /// The coroutine went on after a cancellation. If that was the caller's, it has the grace for its clean-up.
    fn grant_grace(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let grace = slf.get().hub.get().core().options.grace;
        let direct = slf.get().state.lock().direct.take();
        let Some(mut direct) = direct else { return Ok(()) };
        let is_new =
            direct.pending_caller_cancel.is_none() && direct.caller_is_cancelled(py).unwrap_or(false);
        if is_new {
            direct.pending_caller_cancel =
                direct.cancelled_by.as_ref().map(|error| Box::new(error.clone_ref(py)));
            direct.second_cancel_at.get_or_insert(Instant::now() + grace);
        }
        slf.get().state.lock().direct = Some(direct);
        if is_new { Self::arm(slf) } else { Ok(()) }
    }

    fn ended_by(slf: &Bound<'_, Self>, direct: InPlaceCoroutine, error: PyErr) -> PyResult<()> {
        let py = slf.py();
        let only_ours = direct.uncancel(py)?;
        if is_cancelled_error(py, &error) {
            if direct.cancels > 0 && only_ours {
                slf.get().mark_stopped(direct.slot);
                return Ok(());
            }
            if direct.cancels > 0 || !direct.is_its_own(py)? {
                Self::abandon(slf);
                return Err(error);
            }
        } else if !error.is_instance_of::<PyKeyboardInterrupt>(py)
            && !direct.is_its_own(py)?
            && let Some(cancelled) = direct.cancelled_by
        {
            // The caller was cancelled, and the tool made another error of it. No other candidate may be tried after that.
            Self::abandon(slf);
            return Err(*cancelled);
        }
        Self::raised_in_place(slf, direct.slot, error)
    }

    /// Anything but a keyboard interrupt, which is for the caller, is the tool's failure.
    pub(super) fn raised_in_place(slf: &Bound<'_, Self>, slot: usize, error: PyErr) -> PyResult<()> {
        let py = slf.py();
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            Self::abandon(slf);
            return Err(error);
        }
        slf.get().raised(py, slot, error);
        Ok(())
    }

    /// The time of the coroutine, or its grace after the caller's cancellation, is over: cancel the caller's task, or cancel
    /// it again.
    pub(super) fn cancel_direct(slf: &Bound<'_, Self>, now: Instant) -> PyResult<()> {
        let py = slf.py();
        let grace = slf.get().hub.get().core().options.grace;
        let (mut direct, over) = {
            let mut state = slf.get().state.lock();
            let Some(direct) = state.direct.take() else { return Ok(()) };
            let over = state.plan.as_ref().is_some_and(|plan| plan.run.fate(direct.slot) != Fate::Running);
            (direct, over)
        };
        let is_cancelled = direct.caller_is_cancelled(py);
        let is_due = (over || direct.pending_caller_cancel.is_some())
            && direct.second_cancel_at.is_none_or(|at| at <= now);
        let mut task = None;
        if is_due && !over && matches!(is_cancelled, Ok(false)) {
            // A timeout inside the tool took its cancellation back: the caller was not cancelled.
            (direct.pending_caller_cancel, direct.second_cancel_at) = (None, None);
        } else if is_due && is_cancelled.is_ok() {
            direct.cancelled_twice = direct.cancels > 0 || direct.pending_caller_cancel.is_some();
            direct.cancels += 1;
            direct.second_cancel_at = Some(now + grace);
            task = direct.caller.as_ref().map(|(task, _)| task.clone_ref(py));
        }
        slf.get().state.lock().direct = Some(direct);
        is_cancelled?;
        task.map_or(Ok(()), |task| task.call_method0(py, intern!(py, "cancel")).map(drop))
    }

    /// Moves a coroutine that ignored its cancellation into a task of its own; `pending` is what it waits for.
    fn detach_to_task(slf: &Bound<'_, Self>, pending: Py<PyAny>) -> PyResult<()> {
        let py = slf.py();
        let Some(direct) = slf.get().state.lock().direct.take() else { return Ok(()) };
        let is_cancelled = direct.caller_is_cancelled(py)?;
        direct.uncancel(py)?;
        let leftover = slf.get().take_leftover(direct.slot).unwrap_or_default();
        let child = CandidateTask::new(
            slf.clone().unbind(),
            direct.slot,
            direct.awaitable,
            Some((pending, leftover)),
        );
        let port: Bound<'_, LoopBridge> = Self::port(slf)?;
        let name = slf.get().tool_name(direct.slot);
        let name = PyString::new(py, &name).unbind();
        let (task, _) = port.get().create_task(py, new_awaitable(py, child)?.into_any(), &name)?;
        port.get().keep_until_done(&task)?;
        slf.get().state.lock().attempts[direct.slot].state = AttemptState::Nothing;
        slf.get().mark_stopped(direct.slot);
        if let Some(cancelled) = direct.pending_caller_cancel.filter(|_| is_cancelled) {
            Self::abandon(slf);
            return Err(*cancelled);
        }
        Ok(())
    }
}

/// The task that awaits us, and how many cancellations it has behind it.
fn calling_task(event_loop: &Bound<'_, PyAny>) -> PyResult<(Py<PyAny>, usize)> {
    let task = current_task_of(event_loop)?;
    if task.is_none() {
        return Err(PyRuntimeError::new_err("a hub's coroutine must be awaited inside an asyncio task"));
    }
    let mut behind = cancellations(&task)?;
    if behind > 0 && !is_safe() {
        // One that was asked for and is yet to be delivered will be thrown into us: it is not behind the task.
        behind -= usize::from(has_pending_cancel(&task)?);
    }
    Ok((task.unbind(), behind))
}

pub struct InPlaceCoroutine {
    pub slot: usize,
    pub awaitable: Py<PyAny>,
    /// What calls inside the coroutine may borrow.
    pub held: LentPermits,
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
    pub pending_caller_cancel: Option<Box<PyErr>>,
}

impl InPlaceCoroutine {
    pub fn new(slot: usize, awaitable: Py<PyAny>, held: LentPermits) -> Self {
        InPlaceCoroutine {
            slot,
            awaitable,
            held,
            caller: None,
            cancels: 0,
            second_cancel_at: None,
            cancelled_twice: false,
            cancelled_by: None,
            pending_caller_cancel: None,
        }
    }

    /// What a step needs: the iterator, and what calls inside it may borrow.
    pub fn stepped<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, LentPermits) {
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
