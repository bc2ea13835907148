//! `hub.execute(...)`: the policy of [`toolhub::execute::Run`], driven on the caller's own event loop.
//!
//! * One candidate at a time (the usual case): its coroutine is stepped *inside the caller's task* ([`direct`]), no task,
//!   no future; its deadline is registered when it first suspends.
//! * Several at once: each coroutine is a task of its own ([`super::child`]), sync functions run in the pool, tools in Rust
//!   on tokio; the caller waits on one future ([`events`]).
//! * The caller is cancelled: everything below is cancelled and awaited for a bounded grace, then the cancellation goes on.
//!   A second one leaves at once.
//!
//! The state's lock is never held while Python code runs.

pub mod arguments;
pub mod closing;
mod detach;
mod direct;
mod events;
mod in_place;
mod object;
mod recording;
mod start;
mod state;
mod taped;
mod uncancel;
mod watch;
mod watching;

pub use arguments::prepare;
pub use object::{Execution, Extras};
pub use recording::kept;
pub use state::{Attempt, FinishedExecution};
pub use taped::replayed_time;
pub use watch::Watch;

use super::awaiting::{Awaited, Step, is_cancelled_error};
use super::result;
use crate::errors::show_unraisable;
use crate::once::intern;
use detach::detach;
use pyo3::exceptions::{PyBaseException, PyGeneratorExit, PyRuntimeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use start::InPlace;
use state::{AttemptStart, Phase, Resumed};
use std::time::Instant;
use toolhub::error::HubError;
use toolhub::execute::{Action, Executor, Run, advance};

impl Execution {
    /// Does what the policy wants until it has to wait or is finished.
    fn pump(slf: &Bound<'_, Self>) -> PyResult<Step> {
        advance(&mut AsyncioExecutor(slf))
    }

    /// Suspends the caller on a future of its loop.
    fn wait(slf: &Bound<'_, Self>) -> PyResult<Step> {
        let py = slf.py();
        let waiter = Self::port(slf)?.get().create_waiter(py)?;
        slf.get().state.lock().waiter = Some(waiter.clone().unbind());
        Ok(Step::Yield(waiter.unbind()))
    }

    fn conclude(py: Python<'_>, mut finished: FinishedExecution) -> PyResult<Step> {
        let now = finished.at.unwrap_or_else(Instant::now);
        record_and_release(py, &mut finished, now);
        let rows = recording::ended_rows(&mut finished);
        let built = match finished.reraise.take() {
            Some(error) => Err(*error),
            None => result::build(py, finished, now),
        };
        recording::write(py, rows, built.as_ref().ok());
        built.map(|result| Step::Return(result.into_any().unbind()))
    }

    fn throw_in(slf: &Bound<'_, Self>, error: PyErr) -> PyResult<Step> {
        let this = slf.get();
        let (phase, in_place) = {
            let state = this.state.lock();
            (state.phase, state.direct.is_some())
        };
        match phase {
            Phase::Running if in_place => Self::throw_in_place(slf, error),
            // A cancellation that the tool asked for, and did not wait for.
            Phase::Running if is_cancelled_error(slf.py(), &error) && this.absorbs_cancel() => {
                Self::pump(slf)
            }
            Phase::Running if !error.is_instance_of::<PyGeneratorExit>(slf.py()) => {
                let waiter = {
                    let mut state = this.state.lock();
                    state.phase = Phase::Settling;
                    state.reraise = Some(Box::new(error));
                    state.cancel_run(Instant::now());
                    state.waiter.take()
                };
                drop(waiter);
                Self::pump(slf)
            }
            // A scope of anyio repeats its cancellation at every turn of the loop; it does not count as a second one.
            Phase::Settling if this.is_repeated(slf.py(), &error) => {
                let waiter = this.state.lock().waiter.take();
                drop(waiter);
                Self::pump(slf)
            }
            Phase::New | Phase::Running | Phase::Settling => {
                Self::abandon(slf);
                Err(error)
            }
            Phase::Done => Err(error),
        }
    }

    /// Whether this CancelledError repeats the one that is being handled: the same args, and not empty. anyio delivers its
    /// cancellation again at every turn of the loop.
    fn is_repeated(&self, py: Python<'_>, error: &PyErr) -> bool {
        let args_of = |error: &PyErr| error.value(py).getattr(intern!(py, "args"));
        let handled = self.state.lock().reraise.as_ref().map(|handled| handled.clone_ref(py));
        let same = |handled: PyErr| -> PyResult<bool> {
            let args = args_of(error)?;
            Ok(is_cancelled_error(py, error) && args.len()? > 0 && args.eq(args_of(&handled)?)?)
        };
        handled.is_some_and(|handled| same(handled).unwrap_or(false))
    }

    /// Leaves at once: stops all attempts without waiting for them.
    fn abandon(slf: &Bound<'_, Self>) {
        let waiter = {
            let mut state = slf.get().state.lock();
            state.cancel_run(Instant::now());
            state.waiter.take()
        };
        drop(waiter);
        Self::stop_losers(slf);
        show_unraisable(slf.get().tell_changes(slf.py()), slf.as_any());
        let mut finished = slf.get().state.lock().end();
        record_and_release(slf.py(), &mut finished, Instant::now());
        recording::write(slf.py(), recording::ended_rows(&mut finished), None);
    }
}

/// Ends the bookkeeping: no timer, no mail, no running leftovers without an owner, statistics written.
fn record_and_release(py: Python<'_>, finished: &mut FinishedExecution, now: Instant) {
    if let (Some(port), Some(plan)) = (&finished.port, &finished.plan) {
        let port = port.bind(py).get();
        finished.timer.inspect(|key| port.remove_deadline(*key));
        for (attempt, candidate) in finished.attempts.iter_mut().zip(&plan.candidates) {
            detach(attempt, py, port, candidate);
        }
    }
    taped::record(py, finished);
    if let Some(plan) = &finished.plan {
        for (slot, attempt) in finished.attempts.iter().enumerate() {
            plan.record(slot, attempt.error.as_ref().map(|error| error.kind), now);
        }
    }
}

/// Carries the policy out on the caller's own event loop.
struct AsyncioExecutor<'a, 'py>(&'a Bound<'py, Execution>);

impl AsyncioExecutor<'_, '_> {
    fn start_of(&self, slot: usize) -> Option<AttemptStart> {
        self.0.get().state.lock().plan.as_deref().map(|plan| AttemptStart::new(plan, slot))
    }
}

impl<'py> AsyncioExecutor<'_, 'py> {
    /// Runs an awaitable inside the caller's task; a pause if it suspends.
    fn run_in_place(&self, coroutine: InPlace<'py>) -> PyResult<Option<Step>> {
        match coroutine {
            Some((awaitable, held)) => Execution::run_in_place(self.0, awaitable, &held),
            None => Ok(None),
        }
    }
}

impl Executor for AsyncioExecutor<'_, '_> {
    type Pause = Step;
    type Error = PyErr;

    fn next_action(&mut self) -> Action {
        let this = self.0.get();
        if this.extras.is_some()
            && let Err(interrupt) = this.tell_changes(self.0.py())
        {
            drop(this.interrupt(interrupt));
        }
        this.state.lock().plan.as_mut().map_or(Action::Finish, |plan| plan.run.next_action())
    }

    fn start(&mut self, slot: usize) -> PyResult<Option<Step>> {
        let Some(start) = self.start_of(slot) else { return Ok(None) };
        let args = {
            let state = self.0.get().state.lock();
            let approved = state.approved.as_ref().map(|approved| approved[slot].as_ref());
            let py = self.0.py();
            approved.map_or_else(
                || Ok(state.args.clone_ref(py)),
                |one| one.map(|args| args.clone_ref(py)).map_err(HubError::clone),
            )
        };
        match args {
            Ok(args) => self.run_in_place(Execution::begin(self.0, start, args)?),
            Err(refusal) => {
                self.0.get().reject(slot, refusal);
                Ok(None)
            }
        }
    }

    fn resume(&mut self, slot: usize) -> PyResult<Option<Step>> {
        let Some(start) = self.start_of(slot) else { return Ok(None) };
        let resumed = self.0.get().state.lock().take_resumed(slot);
        let awaitable = match resumed {
            Resumed::Admitted(_) if self.0.get().is_late(Run::refuse_late_entry) => None,
            Resumed::Admitted(prepared) => Execution::launch(self.0, start, prepared)?,
            Resumed::Coroutine(coroutine) => {
                Execution::resume_coroutine(self.0, start, coroutine.bind(self.0.py()))?
            }
            Resumed::Gone => None,
        };
        self.run_in_place(awaitable)
    }

    fn stop(&mut self, slot: usize) {
        let state = self.0.get().state.lock().stop_target(self.0.py(), slot);
        Execution::stop(self.0, slot, state);
    }

    fn wait(&mut self) -> PyResult<Step> {
        Execution::arm(self.0)?;
        let step = Execution::wait(self.0)?;
        Execution::end_if_closed(self.0);
        Ok(step)
    }

    fn finish(&mut self) -> PyResult<Step> {
        let finished = self.0.get().state.lock().end();
        Execution::conclude(self.0.py(), finished)
    }
}

impl Awaited for Execution {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step> {
        let (phase, awaitable) = {
            let mut state = slf.get().state.lock();
            let phase = state.phase;
            if phase == Phase::New {
                state.phase = Phase::Running;
            }
            state.absorbs_cancel = false;
            (phase, state.direct.as_ref().map(|direct| direct.stepped(slf.py())))
        };
        if phase == Phase::New {
            Self::refuse_if_closed(slf);
        }
        match (phase, awaitable) {
            (Phase::Running, Some((awaitable, held))) => Self::step_in_place(slf, awaitable, &held),
            (Phase::New | Phase::Running | Phase::Settling, _) => Self::pump(slf),
            (Phase::Done, _) => Err(PyRuntimeError::new_err("cannot reuse already awaited execution")),
        }
    }

    fn throw(slf: &Bound<'_, Self>, error: Bound<'_, PyBaseException>) -> PyResult<Step> {
        Self::throw_in(slf, PyErr::from_value(error.into_any()))
    }

    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (direct, over) = {
            let mut state = slf.get().state.lock();
            (state.direct.take(), state.phase == Phase::Done)
        };
        if !over {
            Self::abandon(slf);
        }
        match direct {
            Some(direct) => direct.close(slf.py()),
            None => Ok(()),
        }
    }
}

#[pymethods]
impl Execution {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.hub)?;
        if let Some(extras) = &self.extras {
            extras.traverse(&visit)?;
        }
        // A locked state is in use right now, so it is not garbage.
        match self.state.try_lock() {
            Some(state) => state.traverse(&visit),
            None => Ok(()),
        }
    }
}
