//! One call under way on the caller's event loop: its request, its plan, and what it waits for.

use super::approvals::Approvals;
use super::flight::{FlightWait, SharedResult};
use crate::argument_checks::Checks;
use crate::awaiting::Awaitable;
use crate::bridge;
use crate::execution::Extras;
use crate::hub::PyHub;
use crate::user_code;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolhub::error::HubError;
use toolhub::plan::{CallPlan, FlightLead, TimeAllowed};

/// What Python hands over with a call.
#[derive(Default)]
pub struct CallCallbacks {
    /// An object that reports what happens to the call; see `toolhub.events.Watched`.
    pub watch: Option<Py<PyAny>>,
    /// Makes one answer of several.
    pub llm: Option<Py<PyAny>>,
    /// A `toolhub.permissions.Permissions`, when the call needs an approval.
    pub permissions: Option<Py<PyAny>>,
    /// The id that a model gave to the call.
    pub call_id: Option<String>,
}

/// One call with everything around its run; await it.
#[pyclass(frozen, extends = Awaitable, module = "toolhub._core")]
pub struct CallDriver {
    pub(super) hub: Py<PyHub>,
    pub(super) args: Py<PyAny>,
    pub(super) checks: Checks,
    pub(super) callbacks: CallCallbacks,
    /// Apart from the state, because permissions are Python code: this lock is held while they are asked.
    pub(super) plan: Mutex<CallPlan>,
    pub(super) state: Mutex<CallState>,
}

pub(super) struct CallState {
    pub(super) extras: Option<Box<Extras>>,
    pub(super) awaiting: Awaiting,
    /// The iterator of the awaitable that is being stepped.
    pub(super) inner: Option<Py<PyAny>>,
    pub(super) lead: Option<FlightLead<SharedResult>>,
    pub(super) approvals: Option<Box<Approvals>>,
    pub(super) route_reported: bool,
}

/// What the driver does next.
pub enum Next<'py> {
    /// Step this iterator.
    Await(Bound<'py, PyAny>),
    /// Ask the plan.
    Plan,
    Finish(Bound<'py, PyDict>),
}

/// How a call goes on when the core has answered.
pub(super) type AfterCore = Box<dyn for<'py> FnOnce(&CallDriver, Python<'py>) -> PyResult<Next<'py>> + Send>;

/// What the caller waits for.
pub(super) enum Awaiting {
    Nothing,
    /// A future of the core: the key of a large call, a look-up, the end of earlier calls, the ledger.
    Core(AfterCore),
    Approval,
    Flight(Py<FlightWait>, TimeAllowed),
    Run,
    Synthesis {
        result: Py<PyDict>,
        begun: Instant,
        limit: Duration,
    },
    Done,
}

impl CallDriver {
    pub fn new(
        hub: Py<PyHub>,
        plan: CallPlan,
        args: Py<PyAny>,
        checks: Checks,
        extras: Option<Box<Extras>>,
        callbacks: CallCallbacks,
    ) -> Self {
        let state = CallState {
            extras,
            awaiting: Awaiting::Nothing,
            inner: None,
            lead: None,
            approvals: None,
            route_reported: false,
        };
        CallDriver { hub, args, checks, callbacks, plan: Mutex::new(plan), state: Mutex::new(state) }
    }

    /// Awaits a future of the core, and goes on with what it gives.
    pub(super) fn await_core<'py, T: Send + 'static>(
        &self,
        py: Python<'py>,
        future: impl Future<Output = T> + Send + 'static,
        go_on: impl for<'a> FnOnce(&CallDriver, Python<'a>, T) -> PyResult<Next<'a>> + Send + 'static,
    ) -> PyResult<Next<'py>> {
        let given = Arc::new(Mutex::new(None));
        let filled = given.clone();
        let fill = async move {
            *filled.lock() = Some(future.await);
            Ok::<(), HubError>(())
        };
        self.state.lock().awaiting = Awaiting::Core(Box::new(move |this, py| {
            let given = given.lock().take();
            given.map_or(Ok(Next::Plan), |given| go_on(this, py, given))
        }));
        Ok(Next::Await(bridge::run(py, fill)?.into_any()))
    }

    /// Calls a method of the watch, if there is one. An error is an interrupt, which ends the call.
    pub(super) fn report<'py>(
        &self,
        py: Python<'py>,
        method: &Bound<'py, pyo3::types::PyString>,
        args: impl pyo3::call::PyCallArgs<'py>,
    ) -> PyResult<()> {
        let Some(watch) = &self.callbacks.watch else { return Ok(()) };
        user_code::only_interrupts(watch.bind(py).call_method1(method, args), watch.bind(py))
    }
}
