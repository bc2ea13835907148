//! A plain function of the user on a thread of ours, as an awaitable.
//!
//! asyncio's own executor is not used: `asyncio.run` and the interpreter's exit wait for its threads, so a function that
//! hangs would hold up both. A caller that is cancelled leaves the function behind.

use crate::drivers::awaiting::{Awaitable, Awaited, Step, new_awaitable};
use crate::runtime::call_context;
use crate::runtime::loop_bridge::{self, LoopBridge};
use crate::runtime::mail_handler::{Addressee, Message};
use crate::runtime::pool::{self, FunctionCall, Leftover, NotQueued, PoolKind, Reply};
use parking_lot::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A call of a function on a thread; await it once.
#[pyclass(frozen, extends = Awaitable, module = "toolhub._core")]
pub struct ThreadCall {
    function: Py<PyAny>,
    state: Mutex<ThreadCallState>,
}

#[derive(Default)]
struct ThreadCallState {
    running: Option<RunningFunction>,
    waiter: Option<Py<PyAny>>,
    ended: Option<PyResult<Py<PyAny>>>,
}

struct RunningFunction {
    bridge: Py<LoopBridge>,
    reply: Reply,
    key: u64,
}

impl ThreadCall {
    fn start(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        let bridge = loop_bridge::current(py)?;
        let call = FunctionCall {
            function: this.function.bind(py).clone(),
            value: None,
            kwargs: PyDict::new(py).into_any().unbind(),
            around: call_context::current(py)?,
            latest_start: None,
            tool: None,
            sent: None,
        };
        let key = bridge.get().expect_mail(slf.clone().unbind(), 0);
        let submitted = pool::submit(py, PoolKind::Callbacks, call, (bridge.get().mailbox().clone(), key));
        let reply = submitted.map_err(|not_queued| {
            drop(bridge.get().forget_mail(key));
            match not_queued {
                NotQueued::Failed(error) => error,
                NotQueued::Refused(_) => too_many(),
            }
        })?;
        this.state.lock().running = Some(RunningFunction { bridge: bridge.unbind(), reply, key });
        Ok(())
    }

    /// The caller leaves; the function goes on alone.
    fn stop_waiting(&self, py: Python<'_>) {
        let ThreadCallState { running, waiter, ended } = std::mem::take(&mut *self.state.lock());
        if let Some(RunningFunction { bridge, reply, key }) = running {
            drop(bridge.get().forget_mail(key));
            reply.abandon(py, Leftover::default());
        }
        drop((waiter, ended));
    }
}

fn too_many() -> PyErr {
    PyRuntimeError::new_err("too many callbacks that were given up still run; the function was not called")
}

impl Addressee for ThreadCall {
    fn receive(slf: &Bound<'_, Self>, _slot: usize, message: Message) {
        let ended = match message {
            Message::Returned(ended) => ended,
            Message::Refused(_) => Err(too_many()),
            _ => Err(PyRuntimeError::new_err("the thread of this function ended before the function did")),
        };
        let waiter = {
            let mut state = slf.get().state.lock();
            state.running = None;
            state.ended = Some(ended);
            state.waiter.take()
        };
        loop_bridge::wake_waiting(waiter, slf.as_any());
    }
}

impl Awaited for ThreadCall {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step> {
        let (py, this) = (slf.py(), slf.get());
        let (ended, is_running) = {
            let mut state = this.state.lock();
            (state.ended.take(), state.running.is_some())
        };
        if let Some(ended) = ended {
            return ended.map(Step::Return);
        }
        if !is_running {
            Self::start(slf)?;
        }
        let waiter = loop_bridge::current(py)?.get().create_waiter(py)?.unbind();
        this.state.lock().waiter = Some(waiter.clone_ref(py));
        Ok(Step::Yield(waiter))
    }

    fn leave(slf: &Bound<'_, Self>) {
        slf.get().stop_waiting(slf.py());
    }
}

#[pymethods]
impl ThreadCall {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)?;
        // A locked state is in use right now, so it is not garbage.
        let Some(state) = self.state.try_lock() else { return Ok(()) };
        visit.call(&state.waiter)?;
        visit.call(state.running.as_ref().map(|running| &running.bridge))?;
        match &state.ended {
            Some(Ok(value)) => visit.call(value),
            _ => Ok(()),
        }
    }
}

/// Runs a function without arguments on a thread of ours; await what comes back.
#[pyfunction]
pub fn in_thread(py: Python<'_>, function: Py<PyAny>) -> PyResult<Bound<'_, ThreadCall>> {
    new_awaitable(py, ThreadCall { function, state: Mutex::default() })
}
