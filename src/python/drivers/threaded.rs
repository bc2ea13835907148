//! A plain function of the user on a thread of ours, as an awaitable.
//!
//! asyncio's own executor is not used: `asyncio.run` and the interpreter's exit wait for its threads, so a function that
//! hangs would hold up both. A caller that is cancelled leaves the function behind.

use super::served_call::ServedCall;
use crate::drivers::awaiting::{Awaitable, Awaited, Step, new_awaitable};
use crate::prelude::*;
use crate::runtime::call_scope;
use crate::runtime::loop_bridge::{self, LoopBridge, Message};
use crate::runtime::pool::{self, FunctionCall, PoolKind, Reply};
use toolhub::workers::PoolRefusal;

/// A function that runs on a thread; await it once.
#[pyclass(frozen, extends = Awaitable, module = "toolhub._core")]
pub struct ThreadCall {
    /// The call of a served tool whose function it is.
    served: Option<Py<ServedCall>>,
    state: Mutex<ThreadCallState>,
}

#[derive(Default)]
struct ThreadCallState {
    running: Option<(Py<LoopBridge>, Reply)>,
    waiter: Option<Py<PyAny>>,
    ended: Option<PyResult<Py<PyAny>>>,
}

impl ThreadCall {
    /// Hands the function to a pool.
    pub fn start<'py>(
        py: Python<'py>,
        kind: PoolKind,
        call: FunctionCall<'py>,
        served: Option<Py<ServedCall>>,
    ) -> PyResult<Bound<'py, Self>> {
        let made = new_awaitable(py, ThreadCall { served, state: Mutex::default() })?;
        let bridge = loop_bridge::current(py)?;
        let key = bridge.get().expect_mail(&made, 0);
        let submitted = pool::submit(py, kind, call, (bridge.get().mailbox.clone(), key));
        let reply = submitted.inspect_err(|_| drop(bridge.get().forget_mail(key)))?;
        made.get().state.lock().running = Some((bridge.unbind(), reply));
        Ok(made)
    }

    /// The function was not called; without a refusal its thread was lost.
    fn not_returned(&self, py: Python<'_>, refusal: Option<PoolRefusal>) -> PyResult<Py<PyAny>> {
        match (&self.served, refusal) {
            (Some(served), refusal) => {
                served.get().not_returned(refusal);
                Ok(py.None())
            }
            (None, Some(_)) => Err(PyRuntimeError::new_err(
                "too many callbacks that were given up still run; the function was not called",
            )),
            (None, None) => {
                Err(PyRuntimeError::new_err("the thread of this function ended before the function did"))
            }
        }
    }
}

impl Awaited for ThreadCall {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step> {
        let (py, this) = (slf.py(), slf.get());
        if let Some(ended) = this.state.lock().ended.take() {
            return ended.map(Step::Return);
        }
        let waiter = loop_bridge::current(py)?.get().create_waiter(py)?.unbind();
        this.state.lock().waiter = Some(waiter.clone_ref(py));
        Ok(Step::Yield(waiter))
    }

    /// The caller leaves; the function goes on alone.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let this = slf.get();
        let ThreadCallState { running, waiter, ended } = std::mem::take(&mut *this.state.lock());
        if let Some((bridge, reply)) = running {
            drop(bridge.get().forget_mail(reply.key));
            let leftover = this.served.as_ref().map(|served| served.get().leftover());
            reply.abandon(slf.py(), leftover.unwrap_or_default());
        }
        drop((waiter, ended));
        Ok(())
    }

    fn receive(slf: &Bound<'_, Self>, _slot: usize, message: Message) {
        let ended = match message {
            Message::Returned(ended) => ended,
            Message::NotReturned(refusal) => slf.get().not_returned(slf.py(), refusal),
            _ => return,
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

#[pymethods]
impl ThreadCall {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.served)?;
        // A locked state is in use right now, so it is not garbage.
        let Some(state) = self.state.try_lock() else { return Ok(()) };
        visit.call(&state.waiter)?;
        visit.call(state.running.as_ref().map(|(bridge, _)| bridge))?;
        match &state.ended {
            Some(Ok(value)) => visit.call(value),
            _ => Ok(()),
        }
    }
}

/// Runs a function without arguments on a thread of ours; await what comes back.
#[pyfunction]
pub fn in_thread(py: Python<'_>, function: Py<PyAny>) -> PyResult<Bound<'_, ThreadCall>> {
    let call = FunctionCall {
        function: function.into_bound(py),
        value: None,
        kwargs: PyDict::new(py).into_any().unbind(),
        around: call_scope::current(py)?,
        latest_start: None,
        tool: None,
        sent: None,
    };
    ThreadCall::start(py, PoolKind::Callbacks, call, None)
}
