//! Waiting for an identical call in flight, which may run on another event loop.

use crate::bindings::addressee::{Addressee, Message};
use crate::bindings::awaiting::{Awaitable, Awaited, Step, new_awaitable};
use crate::bindings::loop_bridge::{self, DeadlineKey, LoopBridge, Mail};
use parking_lot::Mutex;
use pyo3::exceptions::PyBaseException;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use std::time::Instant;

/// A result that several callers copy.
pub type SharedResult = Py<PyDict>;

/// How the wait ended.
#[derive(Default)]
pub enum Landed {
    Result(Arc<SharedResult>),
    /// The leader ended without a result.
    #[default]
    Nothing,
    /// The deadline of the waiting call has passed.
    Late,
}

/// An awaitable that ends when the flight does. The flight belongs to all its followers: cancelling the wait ends only the
/// wait.
#[pyclass(frozen, extends = Awaitable, module = "toolhub._core")]
pub struct FlightWait {
    bridge: Py<LoopBridge>,
    deadline: Option<Instant>,
    landed: Arc<Mutex<Option<Landed>>>,
    state: Mutex<WaitState>,
}

#[derive(Default)]
struct WaitState {
    key: Option<u64>,
    timer: Option<DeadlineKey>,
    waiter: Option<Py<PyAny>>,
}

impl FlightWait {
    pub fn new(py: Python<'_>, deadline: Option<Instant>) -> PyResult<Bound<'_, Self>> {
        let bridge = loop_bridge::current(py)?.unbind();
        new_awaitable(py, FlightWait { bridge, deadline, landed: Arc::default(), state: Mutex::default() })
    }

    /// Ends the wait from any thread.
    pub fn notifier(slf: &Bound<'_, Self>) -> impl FnOnce(Option<Arc<SharedResult>>) + Send + 'static {
        let this = slf.get();
        let bridge = this.bridge.get();
        let key = bridge.expect_mail(slf.clone().unbind(), 0);
        this.state.lock().key = Some(key);
        let (mailbox, landed) = (bridge.mailbox().clone(), this.landed.clone());
        move |result| {
            *landed.lock() = Some(result.map_or(Landed::Nothing, Landed::Result));
            mailbox.push(Mail::Deliver(key, Message::Settled));
        }
    }

    pub fn take_landed(&self) -> Landed {
        self.landed.lock().take().unwrap_or_default()
    }

    fn wait(slf: &Bound<'_, Self>) -> PyResult<Step> {
        let (py, this) = (slf.py(), slf.get());
        if this.landed.lock().is_some() {
            this.leave(py);
            return Ok(Step::Return(py.None()));
        }
        let bridge = this.bridge.bind(py);
        let waiter = bridge.get().create_waiter(py)?.unbind();
        let starts = {
            let mut state = this.state.lock();
            state.waiter = Some(waiter.clone_ref(py));
            state.timer.is_none()
        };
        if let Some(deadline) = this.deadline.filter(|_| starts) {
            let timer = LoopBridge::add_deadline(bridge, deadline, slf.clone().unbind())?;
            this.state.lock().timer = Some(timer);
        }
        Ok(Step::Yield(waiter))
    }

    /// No message and no timer is expected any more.
    pub fn leave(&self, py: Python<'_>) {
        let WaitState { key, timer, waiter } = std::mem::take(&mut *self.state.lock());
        let bridge = self.bridge.bind(py).get();
        drop(key.and_then(|key| bridge.forget_mail(key)));
        timer.inspect(|timer| bridge.remove_deadline(*timer));
        drop(waiter);
    }

    fn wake(slf: &Bound<'_, Self>) {
        let waiter = slf.get().state.lock().waiter.take();
        let woken = waiter.map_or(Ok(()), |waiter| loop_bridge::wake(waiter.bind(slf.py())));
        if let Err(error) = woken {
            error.write_unraisable(slf.py(), Some(slf.as_any()));
        }
    }
}

impl Addressee for FlightWait {
    fn receive(slf: &Bound<'_, Self>, _slot: usize, _message: Message) {
        Self::wake(slf);
    }

    fn expire(slf: &Bound<'_, Self>) {
        slf.get().state.lock().timer = None;
        slf.get().landed.lock().get_or_insert(Landed::Late);
        Self::wake(slf);
    }
}

impl Awaited for FlightWait {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step> {
        Self::wait(slf)
    }

    fn throw(slf: &Bound<'_, Self>, error: Bound<'_, PyBaseException>) -> PyResult<Step> {
        slf.get().leave(slf.py());
        Err(PyErr::from_value(error.into_any()))
    }

    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.get().leave(slf.py());
        Ok(())
    }
}

#[pymethods]
impl FlightWait {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.bridge)?;
        match self.state.try_lock() {
            Some(state) => visit.call(&state.waiter),
            None => Ok(()),
        }
    }
}
