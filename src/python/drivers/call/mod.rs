//! The driver of a plan ([`toolhub::plan::drive`]) on the caller's own event loop.
//!
//! ```text
//! CallDriver ──polls──► drive(plan, LoopCall) ──hands over──► an awaitable: a look-up, `approve`, a run, the model
//!     └──────────────────────steps it inside the caller's task ◄──────┘
//! ```
//!
//! The future is polled in place. It never waits by itself: whatever it waits for is an awaitable, which is stepped here, and
//! when that has ended the future is polled again. What awaitables yield goes up to the event loop; what is thrown in goes down
//! to them. Futures of the core are awaitables too ([`super::bridge`]), and woken by the mailbox.
//!
//! A plain call has no such driver: it is a run alone. Nothing is decided here.

pub mod entry;
mod questions;
pub mod request;

use super::awaiting::{Awaitable, Awaited, Step, close, new_awaitable, send, throw};
use super::execution::{Execution, Extras, failure, kept};
use crate::classes::hub::PyHub;
use crate::prelude::*;
use crate::runtime::loop_bridge::{self, LoopBridge};
use crate::runtime::{bridge, call_scope, interpreter};
use crate::values::arguments::argument_checks::{CheckPass, Checks};
use crate::values::arguments::given;
use crate::values::json::NotJson;
use crate::values::results::result::{mark_language, refused, succeeded};
use crate::values::value::{copy_result, size_of_result};
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use questions::{failed_question, function_answer};
use std::future::{pending, poll_fn};
use std::task::{Context, Poll, Waker};
use toolhub::error::{Outcome, Result};
use toolhub::hub::{Hub, PlannedRun};
use toolhub::plan::{
    ApprovalRequest, CallPlan, CallServices, FunctionAnswer, IsGone, LookUpRequest, PlanStep, ServerSet,
    SharedResults, Unreachable, WithoutRun, drive,
};
use toolhub::registry::Candidate;
use toolhub::tool::{BoxFuture, OnProgress};

/// One call with everything around its run; await it.
#[pyclass(frozen, extends = Awaitable, module = "toolhub._core")]
pub struct CallDriver {
    call: Arc<LoopCall>,
    /// Taken while it is polled, and gone when the call is over.
    future: Mutex<Option<BoxFuture<'static, Py<PyDict>>>>,
}

impl CallDriver {
    fn new(call: LoopCall, mut plan: CallPlan) -> Self {
        let call = Arc::new(call);
        let made = call.clone();
        let future = async move {
            let result = drive(&mut plan, &*made).await;
            made.finish(&plan, result).await
        };
        CallDriver { call, future: Mutex::new(Some(Box::pin(future))) }
    }

    /// Steps what the future waits for, and polls it when that has ended.
    fn advance(&self, py: Python<'_>, mut thrown: Option<PyErr>) -> PyResult<Step> {
        loop {
            let inner = self.call.inner.lock().as_ref().map(|inner| inner.bind(py).clone());
            let stepped = match (inner, thrown.take()) {
                (Some(inner), None) => Some(send(&inner)),
                (Some(inner), Some(error)) => Some(throw(&inner, error)),
                (None, Some(error)) => return self.break_off(py, error),
                (None, None) => None,
            };
            *self.call.passed.lock() = match stepped {
                Some(Ok(Step::Yield(value))) => return Ok(Step::Yield(value)),
                Some(Ok(Step::Return(value))) => Some(Ok(value)),
                Some(Err(error)) => Some(Err(error)),
                None => None,
            };
            self.call.await_inner(None);
            let Some(mut future) = self.take_future() else {
                return Err(PyRuntimeError::new_err("cannot reuse an awaitable that was awaited already"));
            };
            if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return Ok(Step::Return(result.into_any()));
            }
            *self.future.lock() = Some(future);
            let broken = self.call.passed.lock().take();
            if let Some(Err(error)) = broken {
                return self.break_off(py, error);
            }
        }
    }

    fn take_future(&self) -> Option<BoxFuture<'static, Py<PyDict>>> {
        self.future.lock().take()
    }

    /// Ends without a result: a follower may lead, and listeners hear why.
    fn break_off(&self, py: Python<'_>, error: PyErr) -> PyResult<Step> {
        drop(self.take_future());
        self.call.await_inner(None);
        self.call.report(py, intern!(py, "broken_off"), (error.value(py),))?;
        Err(error)
    }
}

impl Awaited for CallDriver {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step> {
        slf.get().advance(slf.py(), None)
    }

    fn throw(slf: &Bound<'_, Self>, error: PyErr) -> PyResult<Step> {
        slf.get().advance(slf.py(), Some(error))
    }

    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        drop(slf.get().take_future());
        let inner = slf.get().call.inner.lock().take();
        inner.map_or(Ok(()), |inner| close(inner.bind(slf.py())))
    }
}

#[pymethods]
impl CallDriver {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.call.traverse(&visit)
    }
}

/// One call on the caller's event loop.
struct LoopCall {
    hub: Py<PyHub>,
    args: Py<PyAny>,
    checks: Checks,
    /// An object that reports what happens to the call; see `toolhub.events.Watched`.
    watch: Option<Py<PyAny>>,
    /// Makes one answer of several.
    llm: Option<Py<PyAny>>,
    /// A `toolhub.permissions.Permissions`, when the call needs an approval.
    permissions: Option<Py<PyAny>>,
    /// The id that a model gave to the call.
    call_id: Option<String>,
    extras: Mutex<Option<Box<Extras>>>,
    /// The iterator that its future waits for.
    inner: Mutex<Option<Py<PyAny>>>,
    /// What that gave, until the future has taken it. An error that the future leaves here is for the caller: it waits for
    /// nothing any more, and is dropped.
    passed: Mutex<Option<PyResult<Py<PyAny>>>>,
}

impl LoopCall {
    fn await_inner(&self, inner: Option<Py<PyAny>>) {
        let before = std::mem::replace(&mut *self.inner.lock(), inner);
        drop(before);
    }

    /// Awaits what `make` gives.
    async fn awaited(
        &self,
        make: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>> + Send,
    ) -> PyResult<Py<PyAny>> {
        self.await_inner(Some(Python::attach(|py| make(py).map(Bound::unbind))?));
        poll_fn(|_| self.passed.lock().take().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// An error breaks the call off.
    async fn or_break<T>(&self, result: PyResult<T>) -> T {
        match result {
            Ok(value) => value,
            Err(error) => {
                *self.passed.lock() = Some(Err(error));
                pending().await
            }
        }
    }

    /// Calls a method of the watch, if there is one. An error is an interrupt, which ends the call.
    fn report<'py>(
        &self,
        py: Python<'py>,
        method: &Bound<'py, PyString>,
        args: impl pyo3::call::PyCallArgs<'py>,
    ) -> PyResult<()> {
        let Some(watch) = &self.watch else { return Ok(()) };
        interpreter::only_interrupts(watch.bind(py).call_method1(method, args), watch.bind(py))
    }

    /// Adds call id and route, then notifies listeners.
    async fn finish(&self, plan: &CallPlan, result: Py<PyDict>) -> Py<PyDict> {
        let finished = Python::attach(|py| {
            let result = result.bind(py);
            mark_language(result, self.hub().options.lang)?;
            if let Some(route) = plan.route_name() {
                let meta = meta_of(result)?;
                meta.set_item(intern!(py, "call_id"), self.call_id.as_deref())?;
                meta.set_item(intern!(py, "route"), PyString::intern(py, route))?;
            }
            let refused = plan.is_forbidden();
            let method = if refused { intern!(py, "refused") } else { intern!(py, "finished") };
            self.report(py, method, (result,))
        });
        self.or_break(finished).await;
        result
    }

    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.hub)?;
        visit.call(&self.args)?;
        visit.call(&self.watch)?;
        visit.call(&self.llm)?;
        visit.call(&self.permissions)?;
        // What is locked is in use right now, so it is not garbage.
        if let Some(extras) = self.extras.try_lock().as_deref().and_then(Option::as_ref) {
            extras.traverse(visit)?;
        }
        self.inner.try_lock().map_or(Ok(()), |inner| visit.call(&*inner))
    }
}

impl CallServices for LoopCall {
    type Result = Py<PyDict>;
    type Arguments = Py<PyAny>;

    fn hub(&self) -> &Hub {
        self.hub.get().core()
    }

    fn next_step(&self, plan: &mut CallPlan) -> PlanStep {
        let (hub, servers) = (self.hub(), self.hub.get().servers());
        let servers = servers.as_deref().map(|servers| servers as &dyn ServerSet);
        let is_known = hub.registry.load().find(plan.request().target.name()).is_some();
        let mut next = || plan.next(hub, servers, Instant::now());
        // Near names of a name that is not known take a while when there are many names.
        if is_known { next() } else { Python::attach(|py| py.detach(next)) }
    }

    async fn routed(&self, plan: &CallPlan) {
        let Some(rule) = plan.route_name().filter(|_| self.watch.is_some()) else { return };
        let options = plan.options();
        let route = (rule, options.source.map(|source| source.name()), options.server.as_deref());
        let reported = Python::attach(|py| self.report(py, intern!(py, "routed"), route));
        self.or_break(reported).await;
    }

    async fn wait<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        let given = Arc::new(Mutex::new(None));
        let filled = given.clone();
        let fill = async move {
            *filled.lock() = Some(future.await);
            Ok::<(), HubError>(())
        };
        let ended = self.awaited(move |py| Ok(bridge::run(py, fill)?.into_any())).await;
        let nothing = || PyRuntimeError::new_err("Internal error: toolhub waited for nothing.");
        let given = ended.and_then(|_| given.lock().take().ok_or_else(nothing));
        self.or_break(given).await
    }

    async fn look_up(&self, request: LookUpRequest) -> Unreachable {
        let servers = self.hub.get().servers();
        let ask = async move {
            let end = tokio::time::Instant::now() + request.patience;
            match servers {
                Some(servers) => servers.carry_out(&request, end).await,
                None => Unreachable::new(),
            }
        };
        self.wait(ask).await
    }

    fn fit(&self, candidate: Option<&Candidate>) -> Result<Py<PyAny>> {
        Python::attach(|py| {
            let args = self.args.bind(py);
            let fit = |one| given::fit(one, args, &mut CheckPass::new(self.checks));
            candidate.map_or_else(|| Ok(args.clone()), fit).map(Bound::unbind)
        })
    }

    fn json(&self, args: &Py<PyAny>) -> Result<Value, NotJson> {
        Python::attach(|py| json::from_arguments(args.bind(py)))
    }

    async fn approve(
        &self,
        plan: &CallPlan,
        function: usize,
        request: &ApprovalRequest,
        args: &Py<PyAny>,
    ) -> FunctionAnswer {
        let meta = self.extras.lock().as_ref().map(|extras| extras.meta.clone()).unwrap_or_default();
        let answer = self.awaited(|py| self.question(py, plan, function, (request, args, meta))).await;
        let answer = Python::attach(|py| match answer {
            Ok(answer) => Ok(function_answer(answer.bind(py))),
            Err(error) => failed_question(py, error, self.approval_limit(py)),
        });
        self.or_break(answer).await
    }

    async fn run(
        &self,
        planned: Box<PlannedRun>,
        approved: Option<Vec<Result<Arc<Py<PyAny>>>>>,
    ) -> Py<PyDict> {
        let ended = self.awaited(|py| {
            // What was approved runs as it is.
            let checks = Checks { coerce: self.checks.coerce && approved.is_none(), ..self.checks };
            let (hub, args) = (self.hub.clone_ref(py), self.args.clone_ref(py));
            let extras = self.extras.lock().take();
            let execution = Execution::new(hub, planned, (args, approved), checks, extras);
            Ok(new_awaitable(py, execution)?.into_any())
        });
        let ended = ended.await.and_then(|result| {
            Python::attach(|py| Ok(result.into_bound(py).cast_into::<PyDict>()?.unbind()))
        });
        self.or_break(ended).await
    }

    async fn without_run(&self, plan: &CallPlan, ended: WithoutRun) -> Py<PyDict> {
        let WithoutRun { outcome, paused, is_replayed } = ended;
        let name = plan.request().target.name();
        let result = Python::attach(|py| {
            let result = match outcome {
                Ok(value) => succeeded(py, name, json::to_python(py, &value)?.unbind())?,
                Err(error) => refused(py, Some(name), &error.in_language(self.hub().options.lang))?,
            };
            let meta = meta_of(&result)?;
            match is_replayed {
                true => meta.set_item(intern!(py, "replayed"), true)?,
                false => {
                    let took = plan.elapsed(Instant::now()).as_secs_f64() * 1e3;
                    meta.set_item(intern!(py, "duration_ms"), took)?;
                }
            }
            if let Some(id) = paused {
                meta.set_item(intern!(py, "paused"), id)?;
            }
            Ok(result.unbind())
        });
        self.or_break(result).await
    }

    fn failure(&self, result: &Py<PyDict>) -> Option<(ErrorKind, Outcome)> {
        Python::attach(|py| failure(result.bind(py)))
    }

    fn kept(&self, result: &Py<PyDict>) -> Value {
        Python::attach(|py| kept(result.bind(py)))
    }

    async fn synthesize(&self, plan: &CallPlan, result: Py<PyDict>) -> Py<PyDict> {
        let asked = self.ask_model(plan, &result).await;
        self.or_break(asked).await;
        result
    }

    fn shared(&self) -> Option<&SharedResults<Py<PyDict>>> {
        Some(&self.hub.get().shared)
    }

    fn progress(&self) -> Option<OnProgress> {
        Python::attach(|py| call_scope::progress(py).ok().flatten())
    }

    /// On a loop that does not run, or is gone, nothing makes progress. Weak: a flight does not keep a loop alive.
    fn is_gone(&self) -> IsGone {
        let bridge = Python::attach(|py| {
            let bridge = loop_bridge::current(py).ok()?;
            PyWeakrefReference::new(&bridge).ok().map(Bound::unbind)
        });
        Arc::new(move || {
            Python::attach(|py| {
                let bridge = bridge.as_ref()?.bind(py).upgrade_as_exact::<LoopBridge>().ok().flatten();
                bridge.filter(|bridge| bridge.get().is_running(py)).map(drop)
            })
            .is_none()
        })
    }

    fn copy(&self, result: &Py<PyDict>, is_cached: bool) -> Option<Py<PyDict>> {
        Python::attach(|py| {
            let copy = copy_result(result.bind(py)).ok()?;
            if is_cached {
                meta_of(&copy).ok()?.set_item(intern!(py, "cached"), true).ok()?;
            }
            Some(copy.unbind())
        })
    }

    fn bytes(&self, result: &Py<PyDict>) -> usize {
        Python::attach(|py| size_of_result(result.bind(py)).unwrap_or(usize::MAX))
    }
}

fn meta_of<'py>(result: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    Ok(result.as_any().get_item(intern!(result.py(), "_meta"))?.cast_into()?)
}
