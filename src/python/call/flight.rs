//! Waiting for an identical call in flight, which may run on another event loop.

use crate::addressee::{Addressee, Message};
use crate::awaiting::{Awaitable, Awaited, Step, new_awaitable};
use crate::errors::show_unraisable;
use crate::hub::PyHub;
use crate::loop_bridge::{self, DeadlineKey, LoopBridge, Mail};
use parking_lot::Mutex;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyWeakrefMethods, PyWeakrefReference};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use toolhub::model::FOREVER;
use toolhub::plan::{FollowedFlight, Leader, TimeAllowed};

/// How often a follower looks whether the loop of its leader still runs.
const LOOK_AFTER: Duration = Duration::from_secs(1);
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
    /// It has waited as long as its own candidates may run.
    TimedOut,
}

/// The event loop of a leader, as its followers see it. Weak: a flight does not keep a loop alive.
pub struct LeadingLoop(Py<PyWeakrefReference>);

impl Leader for LeadingLoop {
    /// On a loop that does not run, or is gone, nothing makes progress.
    fn is_gone(&self) -> bool {
        Python::attach(|py| {
            let bridge = self.0.bind(py).upgrade_as_exact::<LoopBridge>().ok().flatten();
            bridge.is_none_or(|bridge| !bridge.get().is_running(py))
        })
    }
}

/// An awaitable that ends when the flight does. The flight belongs to all its followers: cancelling the wait ends only the
/// wait.
#[pyclass(frozen, extends = Awaitable, module = "toolhub._core")]
pub struct FlightWait {
    bridge: Py<LoopBridge>,
    hub: Py<PyHub>,
    deadline: Option<Instant>,
    /// When the candidates of this call would have timed out, and when they would have ended, had it not waited.
    own_timeout: Instant,
    own_end: Instant,
    flight: OnceLock<FollowedFlight>,
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
    /// A wait until `deadline`, and within the time that the call has.
    pub fn new<'py>(
        hub: &Bound<'py, PyHub>,
        deadline: Option<Instant>,
        time: TimeAllowed,
    ) -> PyResult<Bound<'py, Self>> {
        let py = hub.py();
        let (bridge, hub) = (loop_bridge::current(py)?.unbind(), hub.clone().unbind());
        let end_after = |time: Duration| Instant::now() + time.min(FOREVER);
        let (own_timeout, own_end) = (end_after(time.timeouts), end_after(time.longest));
        let (flight, landed, state) = (OnceLock::new(), Arc::default(), Mutex::default());
        new_awaitable(py, FlightWait { bridge, hub, deadline, own_timeout, own_end, flight, landed, state })
    }

    /// What other followers know of this call if it leads.
    pub fn leader(slf: &Bound<'_, Self>) -> PyResult<Arc<dyn Leader>> {
        let bridge = PyWeakrefReference::new(slf.get().bridge.bind(slf.py()))?;
        Ok(Arc::new(LeadingLoop(bridge.unbind())))
    }

    /// Follows a flight. One whose leader is gone already is given up, so that this wait ends at once.
    pub fn follow(&self, flight: FollowedFlight) {
        let flight = self.flight.get_or_init(|| flight);
        if flight.has_lost_its_leader() {
            self.hub.get().shared_results().give_up(flight);
        }
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
            this.stop_waiting(py);
            return Ok(Step::Return(py.None()));
        }
        let bridge = this.bridge.bind(py);
        let waiter = bridge.get().create_waiter(py)?.unbind();
        let starts = {
            let mut state = this.state.lock();
            state.waiter = Some(waiter.clone_ref(py));
            state.timer.is_none()
        };
        if starts {
            Self::arm(slf)?;
        }
        Ok(Step::Yield(waiter))
    }

    /// Sets the timer to the next look at the leader, or to the deadline if that comes first.
    fn arm(slf: &Bound<'_, Self>) -> PyResult<()> {
        let this = slf.get();
        let look = Instant::now() + LOOK_AFTER;
        let overdue_at = this.flight.get().map(|flight| flight.overdue_at);
        let ends = [this.deadline, overdue_at, this.times_out_at()];
        let at = ends.into_iter().flatten().fold(look, Instant::min);
        let timer = LoopBridge::add_deadline(this.bridge.bind(slf.py()), at, slf.clone().unbind())?;
        this.state.lock().timer = Some(timer);
        Ok(())
    }

    /// When this call times out, if its leader has more time. A leader that takes as long as this call may is replaced by it.
    fn times_out_at(&self) -> Option<Instant> {
        let flight = self.flight.get()?;
        (self.own_end < flight.overdue_at).then_some(self.own_timeout)
    }

    /// Whether the wait goes on after a look at the clock and at the leader.
    fn goes_on(&self, now: Instant) -> bool {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.landed.lock().get_or_insert(Landed::Late);
            return false;
        }
        let Some(flight) = self.flight.get() else { return true };
        if flight.overdue_at <= now || flight.has_lost_its_leader() {
            self.hub.get().shared_results().give_up(flight);
            return false;
        }
        if self.times_out_at().is_some_and(|at| at <= now) {
            self.landed.lock().get_or_insert(Landed::TimedOut);
            return false;
        }
        true
    }

    /// No message and no timer is expected any more.
    pub fn stop_waiting(&self, py: Python<'_>) {
        let WaitState { key, timer, waiter } = std::mem::take(&mut *self.state.lock());
        let bridge = self.bridge.bind(py).get();
        drop(key.and_then(|key| bridge.forget_mail(key)));
        timer.inspect(|timer| bridge.remove_deadline(*timer));
        drop(waiter);
    }

    fn wake(slf: &Bound<'_, Self>) {
        let waiter = slf.get().state.lock().waiter.take();
        loop_bridge::wake_waiting(waiter, slf.as_any());
    }
}

impl Addressee for FlightWait {
    fn receive(slf: &Bound<'_, Self>, _slot: usize, _message: Message) {
        Self::wake(slf);
    }

    fn expire(slf: &Bound<'_, Self>) {
        slf.get().state.lock().timer = None;
        if !slf.get().goes_on(Instant::now()) {
            // One that was given up has landed with nothing.
            return Self::wake(slf);
        }
        show_unraisable(Self::arm(slf), slf.as_any());
    }
}

impl Awaited for FlightWait {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step> {
        Self::wait(slf)
    }

    fn leave(slf: &Bound<'_, Self>) {
        slf.get().stop_waiting(slf.py());
    }
}

#[pymethods]
impl FlightWait {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.bridge)?;
        visit.call(&self.hub)?;
        match self.state.try_lock() {
            Some(state) => visit.call(&state.waiter),
            None => Ok(()),
        }
    }
}
