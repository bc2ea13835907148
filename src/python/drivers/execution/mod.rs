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

mod direct;
pub mod events;
mod recording;
mod start;
mod state;
pub use recording::{failure, kept};
pub use state::{Attempt, State, replayed_time};

use super::awaiting::{Awaitable, Awaited, Step, close, is_cancelled_error, send};
use crate::classes::hub::PyHub;
use crate::prelude::*;
use crate::runtime::call_scope;
use crate::runtime::loop_bridge::{self, LoopBridge, LoopMessage};
use crate::values::arguments::argument_checks::Checks;
use crate::values::arguments::given::SlotArguments;
use crate::values::results::result;
use events::detach;
use pyo3::exceptions::PyGeneratorExit;
use state::{AttemptStart, AttemptState};
use toolhub::execute::Action;
use toolhub::hub::{EndedRows, PlannedRun};
use toolhub::identity::CallContent;
use toolhub::principal::Principal;

/// The object that a caller awaits: what it was called with, and its state behind one lock.
#[pyclass(frozen, extends = Awaitable, module = "toolhub._core")]
pub struct Execution {
    hub: Py<PyHub>,
    checks: Checks,
    extras: Option<Box<Extras>>,
    state: Mutex<State>,
}

/// What few callers pass in addition to the arguments.
pub struct Extras {
    /// Reports of a tool on a server go to the scope of this call, as those of tools in Python do.
    pub wants_progress: bool,
    /// Passed on to the server.
    pub meta: serde_json::Map<String, serde_json::Value>,
    /// Called with the events of attempts.
    pub watch: Option<Py<PyAny>>,
    /// Values of the caller for the tools that have parameters of these names.
    pub passed_on: Option<Py<PyDict>>,
    /// The caller of the served call that this one is made in.
    pub principal: Option<Arc<Principal>>,
}

impl Extras {
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.passed_on)?;
        visit.call(&self.watch)
    }
}

/// What a call sends, with its values converted.
pub fn content_of<E>(
    args: &Bound<'_, PyAny>,
    extras: Option<&Extras>,
    convert: impl Fn(&Bound<'_, PyAny>) -> Result<Value, E>,
) -> Result<CallContent, E> {
    let passed_on = extras.and_then(|extras| extras.passed_on.as_ref());
    let passed_on = passed_on.map(|given| convert(given.bind(args.py()))).transpose()?.unwrap_or_default();
    let meta = extras.map(|extras| extras.meta.clone()).unwrap_or_default();
    Ok(CallContent { arguments: convert(args)?, meta, passed_on })
}

impl Execution {
    /// With `approved` each candidate gets its own arguments.
    pub fn new(
        hub: Py<PyHub>,
        plan: Box<PlannedRun>,
        (args, approved): (Py<PyAny>, Option<SlotArguments>),
        checks: Checks,
        extras: Option<Box<Extras>>,
    ) -> Self {
        let state = State { approved: approved.map(Box::new), ..State::new(plan, args) };
        Execution { hub, checks, extras, state: Mutex::new(state) }
    }

    /// Asks the plan; `None` when the call is over.
    fn with_plan<T>(&self, ask: impl FnOnce(&mut PlannedRun) -> T) -> Option<T> {
        self.state.lock().plan.as_deref_mut().map(ask)
    }

    fn watcher(&self) -> Option<&Py<PyAny>> {
        self.extras.as_ref()?.watch.as_ref()
    }

    /// The bridge of the loop that this execution runs on, opened at first need.
    fn port<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, LoopBridge>> {
        let py = slf.py();
        if let Some(port) = &slf.get().state.lock().port {
            return Ok(port.clone_ref(py).into_bound(py));
        }
        let port = loop_bridge::current(py)?;
        slf.get().state.lock().port = Some(port.clone().unbind());
        Ok(port)
    }

    /// Does what the policy wants until it has to wait or is finished.
    fn pump(slf: &Bound<'_, Self>) -> PyResult<Step> {
        let this = slf.get();
        loop {
            if this.watcher().is_some()
                && this.state.lock().direct.is_none()
                && let Err(interrupt) = this.tell_changes(slf.py())
            {
                drop(this.interrupt(interrupt));
            }
            let (stepped, action) = {
                let mut state = this.state.lock();
                let State { plan: Some(plan), direct, reraise, .. } = &mut *state else {
                    return Err(PyRuntimeError::new_err("cannot reuse already awaited execution"));
                };
                match direct {
                    // It runs inside the caller's task, which pauses if it suspends.
                    Some(direct) if reraise.is_none() => (Some(direct.stepped(slf.py())), Action::Wait),
                    _ => (None, plan.run.next_action()),
                }
            };
            if let Some((awaitable, held)) = stepped {
                let stepped = call_scope::within(slf.py(), &held, || send(&awaitable));
                if let Some(step) = Self::on_step(slf, stepped)? {
                    return Ok(step);
                }
                continue;
            }
            match action {
                Action::Stop(slot) => Self::stop(slf, slot),
                Action::Resume(slot) => Self::resume(slf, slot)?,
                Action::Start(slot) => Self::start(slf, slot)?,
                Action::Wait => {
                    Self::arm(slf)?;
                    let step = Self::wait(slf)?;
                    Self::end_if_closed(slf);
                    return Ok(step);
                }
                Action::Finish => {
                    let finished = std::mem::take(&mut *this.state.lock());
                    return Self::conclude(slf.py(), finished);
                }
            }
        }
    }

    fn resume(slf: &Bound<'_, Self>, slot: usize) -> PyResult<()> {
        let (start, waited, latest) = {
            let mut state = slf.get().state.lock();
            let Some(plan) = state.plan.as_deref() else { return Ok(()) };
            let start = AttemptStart::new(plan, slot);
            let is_limited = !slf.get().hub.get().core().is_unlimited(&start.candidate);
            let latest = plan.run.latest_start(slot).filter(|_| is_limited);
            (start, std::mem::take(&mut state.attempts[slot].state), latest)
        };
        match waited {
            AttemptState::Waiting(..) if slf.get().is_late(None) => Ok(()),
            // It is given up, and its time runs out.
            AttemptState::Waiting(..) if latest.is_some_and(|at| at <= Instant::now()) => Ok(()),
            AttemptState::Waiting(entrance, prepared) => Self::pass(slf, (start, prepared), entrance),
            AttemptState::Coroutine(coroutine) => Self::run_awaitable(slf, &start, coroutine.bind(slf.py())),
            _ => Ok(()),
        }
    }

    /// Suspends the caller on a future of its loop.
    fn wait(slf: &Bound<'_, Self>) -> PyResult<Step> {
        let py = slf.py();
        let waiter = Self::port(slf)?.get().create_waiter(py)?;
        slf.get().state.lock().waiter = Some(waiter.clone().unbind());
        Ok(Step::Yield(waiter.unbind()))
    }

    fn conclude(py: Python<'_>, mut finished: State) -> PyResult<Step> {
        let now = finished.ended_at.unwrap_or_else(Instant::now);
        let rows = record_and_release(py, &mut finished, now);
        let built = match finished.reraise.take() {
            Some(error) => Err(*error),
            None => result::build(py, finished, now),
        };
        if let Some(rows) = rows {
            recording::write(rows, built.as_ref().ok());
        }
        built.map(|result| Step::Return(result.into_any().unbind()))
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
        if slf.get().watcher().is_some() {
            show_unraisable(slf.get().tell_changes(slf.py()), slf.as_any());
        }
        let mut finished = std::mem::take(&mut *slf.get().state.lock());
        if let Some(rows) = record_and_release(slf.py(), &mut finished, Instant::now()) {
            recording::write(rows, None);
        }
    }
}

/// Ends the bookkeeping: no timer, no mail, no running leftovers without an owner, statistics written. Gives what is to be
/// written of the rows.
fn record_and_release(py: Python<'_>, finished: &mut State, now: Instant) -> Option<EndedRows> {
    if let (Some(port), Some(plan)) = (&finished.port, &finished.plan) {
        let port = port.bind(py).get();
        finished.timer.inspect(|key| port.remove_deadline(*key));
        for (attempt, candidate) in finished.attempts.iter_mut().zip(&plan.candidates) {
            detach(attempt, py, port, candidate);
        }
    }
    let State { plan: Some(plan), attempts, .. } = finished else { return None };
    plan.write_recordings(|plan, slot| recording::answer_of(py, &attempts[slot], plan, slot));
    plan.end(now, |slot| attempts[slot].error.as_deref())
}

impl Awaited for Execution {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step> {
        let this = slf.get();
        let was_begun = std::mem::replace(&mut this.state.lock().is_begun, true);
        if !was_begun && this.hub.get().core().is_closed() {
            // Planned before the hub was closed, it starts nothing.
            this.with_plan(|plan| plan.run.close(Instant::now()));
        }
        Self::pump(slf)
    }

    fn throw(slf: &Bound<'_, Self>, error: PyErr) -> PyResult<Step> {
        let this = slf.get();
        // A scope of anyio repeats its cancellation at every turn of the loop; it does not count as a second one.
        let is_repeated = this.is_repeated(slf.py(), &error);
        let mut state = this.state.lock();
        if state.plan.is_none() {
            return Err(error);
        }
        let is_running = state.is_begun && state.reraise.is_none();
        if is_running && state.direct.is_some() {
            drop(state);
            return Self::throw_in_place(slf, error);
        }
        if is_running && !error.is_instance_of::<PyGeneratorExit>(slf.py()) {
            state.reraise = Some(Box::new(error));
            state.cancel_run(Instant::now());
        } else if !is_repeated {
            drop(state);
            Self::abandon(slf);
            return Err(error);
        }
        let waiter = state.waiter.take();
        drop(state);
        drop(waiter);
        Self::pump(slf)
    }

    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (direct, over) = {
            let mut state = slf.get().state.lock();
            (state.direct.take(), state.plan.is_none())
        };
        if !over {
            Self::abandon(slf);
        }
        match direct {
            Some(direct) => close(direct.awaitable.bind(slf.py())),
            None => Ok(()),
        }
    }

    fn receive(slf: &Bound<'_, Self>, slot: usize, message: LoopMessage) {
        Self::on_message(slf, slot, message);
    }

    fn expire(slf: &Bound<'_, Self>) {
        Self::on_deadline(slf);
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
