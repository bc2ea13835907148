//! A Python tool that is called from a driver on tokio: the hub is served, and the caller is a client elsewhere.
//!
//! The driver sends one message to the loop of the serving program and awaits the answer; it never takes the GIL. On the
//! loop the call is a task of its own: an async function is stepped in it, a sync function runs in the pool. The task has
//! a copy of the context of the program that serves, so contextvars that were set before `serve` are seen.

use crate::classes::telemetry;
use crate::drivers::awaiting::{
    Awaitable, Awaited, Step, cancellations, close, is_cancelled_error, is_coroutine, iterator_of,
    new_awaitable, send, throw_value,
};
use crate::runtime::call_context::{self, CallsAround};
use crate::runtime::call_scope::CallScope;
use crate::runtime::fork_safe_once::intern;
use crate::runtime::loop_bridge::{self, LoopBridge, Mail};
use crate::runtime::mail_handler::{Addressee, Message};
use crate::runtime::pool::{self, FunctionCall, Leftover, NotQueued, PoolKind, Reply};
use crate::runtime::tool_loops::ServedLoop;
use crate::values::arguments::argument_checks::{CheckPass, Checks, PreparedArguments};
use crate::values::arguments::callable::{Callable, CallableKind};
use crate::values::errors::{invalid_arguments, show_unraisable};
use crate::values::json;
use crate::values::json_to_python::LargeJson;
use crate::values::offered_value;
use crate::values::value;
use parking_lot::Mutex;
use pyo3::exceptions::{PyBaseException, PyRuntimeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;
use tokio::sync::oneshot;
use toolhub::error::{ErrorKind, HubError, Outcome, clip};
use toolhub::execute::{Answer, refused_by_pool, reported, worker_lost};
use toolhub::giving_up::GivenUp;
use toolhub::limit::{Lender, Permits};
use toolhub::message;
use toolhub::model::{Arguments, Meaning, ToolOutput};
use toolhub::shape::content;
use toolhub::stats::AbandonedCall;
use toolhub::tape::OuterCall;
use toolhub::tool::CallContext;

/// The slots of the limits that a call has passed.
type CallSlots = Option<Arc<dyn Any + Send + Sync>>;

/// What the driver and the loop share about one call.
#[derive(Default)]
struct CallLink {
    is_cancelled: AtomicBool,
    /// Set and taken on the loop. It holds the task: asyncio itself holds tasks only weakly.
    running: Mutex<Option<(Py<PyAny>, Py<ServedCall>)>>,
}

/// Calls a tool on the loop of the program that serves. Never takes the GIL.
pub async fn call(
    place: Arc<ServedLoop>,
    tool: Arc<Callable>,
    args: &Arguments,
    ctx: &CallContext,
) -> Answer {
    let (answer, mut answered) = oneshot::channel();
    let link = Arc::new(CallLink::default());
    let name = tool.spec.name.clone();
    let order = CallOrder { tool, args: args.clone(), ctx: ctx.clone(), answer, link: link.clone() };
    let mut guard = CallGuard { place: place.clone(), link, is_over: false };
    let on = place.clone();
    place.push(Mail::Run(Box::new(move |bridge| start(bridge, &on, order))));
    let ended = tokio::select! {
        biased;
        ended = &mut answered => ended,
        () = ctx.cancel.cancelled() => {
            guard.cancel();
            answered.await
        }
    };
    guard.is_over = true;
    ended.unwrap_or_else(|_| Err(without_answer(&name, place.failure())))
}

/// The error of a call that was dropped on its way.
fn without_answer(tool: &str, no_loop: Option<String>) -> HubError {
    let tool = clip(tool);
    match no_loop {
        Some(reason) => {
            let text =
                format!("Tool '{tool}' was not started: no event loop could be opened ({}).", clip(&reason));
            HubError::new(ErrorKind::Overloaded, text).with_outcome(Outcome::NotSent)
        }
        None => {
            HubError::new(ErrorKind::Closed, message!("Tool '{}' was ended because serving has ended.", tool))
        }
    }
}

/// Cancels the call when the driver does not wait any more.
struct CallGuard {
    place: Arc<ServedLoop>,
    link: Arc<CallLink>,
    is_over: bool,
}

impl CallGuard {
    fn cancel(&self) {
        if self.link.is_cancelled.swap(true, Ordering::AcqRel) {
            return;
        }
        let link = self.link.clone();
        self.place.push(Mail::Run(Box::new(move |bridge| {
            let py = bridge.py();
            let task = link.running.lock().as_ref().map(|(task, _)| task.clone_ref(py));
            let cancelled = task.map(|task| task.call_method0(py, intern!(py, "cancel")));
            show_unraisable(cancelled.transpose(), bridge.as_any());
        })));
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.cancel();
        let link = self.link.clone();
        // It outlived its grace, and counts as abandoned until it ends.
        self.place.push(Mail::Run(Box::new(move |bridge| {
            let py = bridge.py();
            let call = link.running.lock().as_ref().map(|(_, call)| call.clone_ref(py));
            if let Some(call) = call {
                let counted = call.get().tool.stats.get().map(|stats| stats.count_abandoned());
                *call.get().abandoned.lock() = counted;
            }
        })));
    }
}

/// A call on its way to the loop.
struct CallOrder {
    tool: Arc<Callable>,
    args: Arguments,
    ctx: CallContext,
    answer: oneshot::Sender<Answer>,
    link: Arc<CallLink>,
}

/// On the loop: makes the task.
fn start(bridge: &Bound<'_, LoopBridge>, place: &ServedLoop, order: CallOrder) {
    let py = bridge.py();
    let CallOrder { tool, args, ctx, answer, link } = order;
    if link.is_cancelled.load(Ordering::Acquire) {
        let _ = answer.send(Err(not_started(&tool)));
        return;
    }
    let permits = ctx.permits.as_ref().and_then(Weak::upgrade);
    let lender = lender_of(&permits);
    let given_up = Arc::new(GivenUp::default());
    let scope = CallScope::new(&ctx, given_up.clone());
    let called = tool.clone();
    let made = (|| {
        let context = place.context(py)?;
        let outer = ctx.on_tape.as_ref().and_then(|outer| outer.downcast_ref::<OuterCall>()).cloned();
        let around = CallsAround::default().lending(lender).recorded_in(outer);
        call_context::enter(&context, call_context::hold(py, around)?)?;
        scope.enter(&context)?;
        telemetry::enter_span(&context, &ctx.extras.meta)?;
        let call = ServedCall {
            tool,
            args: Mutex::new(Some(args)),
            ctx,
            permits: Mutex::new(permits),
            answer: Mutex::new(Some(answer)),
            link: link.clone(),
            state: Mutex::new(ServedState::New),
            abandoned: Mutex::default(),
            given_up,
        };
        let call = new_awaitable(py, call)?;
        let task = bridge.get().create_task_in(py, call.clone().into_any(), context.unbind());
        PyResult::Ok((call, task))
    })();
    match made {
        Ok((call, Ok(task))) => {
            // A task that started eagerly may be over already.
            if call.get().answer.lock().is_some() {
                *link.running.lock() = Some((task.unbind(), call.unbind()));
            }
        }
        Ok((call, Err(error))) => call.get().finish(Err(called.raised(py, &error))),
        // The driver learns of it, because the sender of the answer is dropped.
        Err(error) => error.write_unraisable(py, Some(bridge.as_any())),
    }
}

/// What calls inside the tool may borrow: the slots of this one.
fn lender_of(slots: &CallSlots) -> Option<Arc<Lender>> {
    let permits = slots.as_ref()?.downcast_ref::<Mutex<Permits>>()?;
    Some(permits.lock().lender(None))
}

fn not_started(tool: &Callable) -> HubError {
    cancelled(tool).with_outcome(Outcome::NotSent)
}

fn cancelled(tool: &Callable) -> HubError {
    let text = format!("Tool '{}' was cancelled.", clip(&tool.spec.name));
    HubError::new(ErrorKind::Cancelled, text)
}

/// What the task of a call runs.
#[pyclass(frozen, extends = Awaitable, module = "toolhub._core")]
pub struct ServedCall {
    tool: Arc<Callable>,
    args: Mutex<Option<Arguments>>,
    ctx: CallContext,
    /// Until the function has really ended.
    permits: Mutex<CallSlots>,
    answer: Mutex<Option<oneshot::Sender<Answer>>>,
    link: Arc<CallLink>,
    state: Mutex<ServedState>,
    abandoned: Mutex<Option<AbandonedCall>>,
    /// Ends what still waits for an answer of the client, on threads of the tool.
    given_up: Arc<GivenUp>,
}

enum ServedState {
    New,
    /// A sync function in the pool.
    Thread {
        reply: Box<Reply>,
        key: u64,
        bridge: Py<LoopBridge>,
        waiter: Option<Py<PyAny>>,
    },
    /// The function has ended in its thread.
    Ended(PyResult<Py<PyAny>>),
    /// The function was not called, or its thread was lost.
    Failed(HubError),
    Coroutine(Py<PyAny>),
    /// A step is being made, or all are.
    Busy,
}

impl ServedCall {
    fn take_state(&self) -> ServedState {
        std::mem::replace(&mut *self.state.lock(), ServedState::Busy)
    }

    fn finish(&self, answer: Answer) {
        let (sender, running) = (self.answer.lock().take(), self.link.running.lock().take());
        if let Some(sender) = sender {
            // A driver that has gone does not want it.
            let _ = sender.send(answer);
        }
        let (abandoned, permits) = (self.abandoned.lock().take(), self.permits.lock().take());
        drop((running, abandoned, permits));
        self.given_up.end();
    }

    fn over(&self, py: Python<'_>, answer: Answer) -> PyResult<Step> {
        self.finish(answer);
        Ok(Step::Return(py.None()))
    }

    fn raised(&self, py: Python<'_>, error: &PyErr) -> PyResult<Step> {
        self.over(py, Err(self.tool.raised(py, error)))
    }

    fn begin(slf: &Bound<'_, Self>) -> PyResult<Step> {
        let (py, this) = (slf.py(), slf.get());
        let Some(args) = this.args.lock().take() else { return this.over(py, Err(cancelled(&this.tool))) };
        let prepared = this.prepare(py, &args);
        drop(LargeJson::from(args.into_value()));
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(refusal) => return this.over(py, Err(refusal)),
        };
        if !this.tool.is_async {
            return Self::submit(slf, prepared);
        }
        if !this.ctx.sent.may_begin() {
            return this.over(py, Err(not_started(&this.tool)));
        }
        match this.tool.invoke(py, &prepared) {
            Ok(value) => Self::run_value(slf, &value),
            Err(error) => this.raised(py, &error),
        }
    }

    fn prepare(&self, py: Python<'_>, args: &Arguments) -> Result<PreparedArguments, HubError> {
        let given = json::to_python(py, args.as_value())
            .map_err(|error| invalid_arguments(&self.tool.spec.name, error.to_string()))?;
        let checks = Checks { validate: true, coerce: true, none_is_input: false };
        self.tool.arguments.prepare(&given, &mut CheckPass::new(checks))
    }

    fn submit(slf: &Bound<'_, Self>, prepared: PreparedArguments) -> PyResult<Step> {
        let (py, this) = (slf.py(), slf.get());
        let (value, kwargs) = match prepared.for_thread(py) {
            Ok(given) => given,
            Err(error) => return this.raised(py, &error),
        };
        let now = Instant::now();
        let call = FunctionCall {
            function: this.tool.call.bind(py).clone(),
            value,
            kwargs,
            around: call_context::current(py)?,
            latest_start: Some(this.ctx.deadline - this.ctx.deadline.saturating_duration_since(now) / 10),
            tool: this.tool.stats.get().cloned(),
            sent: Some(this.ctx.sent.clone()),
        };
        let bridge = loop_bridge::current(py)?;
        let key = bridge.get().expect_mail(slf.clone().unbind(), 0);
        match pool::submit(py, PoolKind::Tools, call, (bridge.get().mailbox().clone(), key)) {
            Ok(reply) => Self::wait(slf, Box::new(reply), key, bridge.unbind()),
            Err(not_queued) => {
                drop(bridge.get().forget_mail(key));
                match not_queued {
                    NotQueued::Failed(error) => this.raised(py, &error),
                    NotQueued::Refused(refusal) => {
                        this.over(py, Err(refused_by_pool(&this.tool.spec.name, refusal)))
                    }
                }
            }
        }
    }

    /// Suspends the task until the function has ended.
    fn wait(slf: &Bound<'_, Self>, reply: Box<Reply>, key: u64, bridge: Py<LoopBridge>) -> PyResult<Step> {
        let py = slf.py();
        let waiter = bridge.get().create_waiter(py)?.unbind();
        let waits = Some(waiter.clone_ref(py));
        *slf.get().state.lock() = ServedState::Thread { reply, key, bridge, waiter: waits };
        Ok(Step::Yield(waiter))
    }

    /// What the callable gave: a coroutine is run, anything else is the result.
    fn run_value(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<Step> {
        let (py, this) = (slf.py(), slf.get());
        match iterator_of(value) {
            Ok(Some(coroutine)) => {
                let stepped = send(&coroutine);
                this.stepped(py, coroutine.unbind(), stepped)
            }
            Ok(None) => this.over(py, this.output(value)),
            Err(error) => this.raised(py, &error),
        }
    }

    fn stepped(&self, py: Python<'_>, coroutine: Py<PyAny>, stepped: PyResult<Step>) -> PyResult<Step> {
        match stepped {
            Ok(Step::Yield(value)) => {
                *self.state.lock() = ServedState::Coroutine(coroutine);
                Ok(Step::Yield(value))
            }
            Ok(Step::Return(value)) => self.over(py, self.output(value.bind(py))),
            Err(error) if is_cancelled_error(py, &error) && self.is_being_cancelled(py) => {
                self.finish(Err(cancelled(&self.tool)));
                Err(error)
            }
            Err(error) => self.raised(py, &error),
        }
    }

    /// Whether a cancellation comes from outside the tool.
    fn is_being_cancelled(&self, py: Python<'_>) -> bool {
        let task = self.link.running.lock().as_ref().map(|(task, _)| task.clone_ref(py));
        let is_asked = |task: Py<PyAny>| cancellations(task.bind(py)).is_ok_and(|count| count > 0);
        self.link.is_cancelled.load(Ordering::Acquire) || task.is_some_and(is_asked)
    }

    /// The value as the core knows it.
    fn output(&self, value: &Bound<'_, PyAny>) -> Answer {
        let (py, name) = (value.py(), &self.tool.spec.name);
        let failed = |error: PyErr| self.tool.raised(py, &error);
        if self.tool.kind != CallableKind::Tool {
            return offered_value::read(value).map(ToolOutput::new).map_err(failed);
        }
        let value = match value::meaning_of(value, || self.tool.nothing_means) {
            Meaning::Failure(failure) => return Err(reported(name, &failure)),
            Meaning::Value => as_json(value).map_err(failed)?,
            Meaning::OwnResult => {
                let own = value::read_own(value).and_then(|own| value::own_result(&own));
                json!({"success": true, "result": own.and_then(|own| as_json(&own)).map_err(failed)?})
            }
        };
        let content = content::blocks(&value).map(|blocks| Value::Array(blocks.to_vec()));
        Ok(ToolOutput { content, ..ToolOutput::new(value) })
    }

    /// The caller does not wait any more. A function in the pool goes on alone.
    fn abandon(&self, py: Python<'_>, state: ServedState) -> bool {
        match state {
            ServedState::Thread { reply, key, bridge, waiter } => {
                drop((bridge.get().forget_mail(key), waiter));
                let counted = self.tool.stats.get().map(|stats| stats.count_abandoned());
                let held = self.permits.lock().take();
                let permits = Permits::default();
                reply.abandon(py, Leftover { permits, counted, held })
            }
            ServedState::New => true,
            _ => false,
        }
    }
}

/// A value as JSON, or as text if it has no JSON form.
fn as_json(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    json::from_python(value).or_else(|_| value::readable(value).map(Value::String))
}

impl Addressee for ServedCall {
    fn receive(slf: &Bound<'_, Self>, _slot: usize, message: Message) {
        let this = slf.get();
        let name = &this.tool.spec.name;
        let next = match message {
            Message::Returned(ended) => ServedState::Ended(ended),
            Message::Refused(refusal) => ServedState::Failed(refused_by_pool(name, refusal)),
            _ => ServedState::Failed(worker_lost(name)),
        };
        let before = std::mem::replace(&mut *this.state.lock(), next);
        if let ServedState::Thread { waiter, .. } = before {
            loop_bridge::wake_waiting(waiter, slf.as_any());
        }
    }
}

impl Awaited for ServedCall {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step> {
        let (py, this) = (slf.py(), slf.get());
        match this.take_state() {
            ServedState::New => Self::begin(slf),
            ServedState::Coroutine(coroutine) => {
                let stepped = send(coroutine.bind(py));
                this.stepped(py, coroutine, stepped)
            }
            ServedState::Thread { reply, key, bridge, .. } => Self::wait(slf, reply, key, bridge),
            ServedState::Ended(Ok(value)) if is_coroutine(value.bind(py)) => {
                Self::run_value(slf, value.bind(py))
            }
            ServedState::Ended(Ok(value)) => this.over(py, this.output(value.bind(py))),
            ServedState::Ended(Err(error)) => this.raised(py, &error),
            ServedState::Failed(error) => this.over(py, Err(error)),
            ServedState::Busy => Err(PyRuntimeError::new_err("cannot reuse an awaited call")),
        }
    }

    fn throw(slf: &Bound<'_, Self>, error: Bound<'_, PyBaseException>) -> PyResult<Step> {
        let (py, this) = (slf.py(), slf.get());
        match this.take_state() {
            ServedState::Coroutine(coroutine) => {
                let stepped = throw_value(coroutine.bind(py), error);
                this.stepped(py, coroutine, stepped)
            }
            state => {
                let never_began = this.abandon(py, state);
                let ended = if never_began { not_started(&this.tool) } else { cancelled(&this.tool) };
                this.finish(Err(ended));
                Err(PyErr::from_value(error.into_any()))
            }
        }
    }

    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        let closed = match this.take_state() {
            ServedState::Coroutine(coroutine) => close(coroutine.bind(py)),
            state => {
                this.abandon(py, state);
                Ok(())
            }
        };
        this.finish(Err(cancelled(&this.tool)));
        closed
    }
}

#[pymethods]
impl ServedCall {
    /// asyncio shows these in a task's repr and stack.
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let call = self.tool.call.bind(py);
        call.getattr(name).map(Bound::unbind)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // A locked state is in use right now, so it is not garbage.
        let Some(state) = self.state.try_lock() else { return Ok(()) };
        match &*state {
            ServedState::Thread { bridge, waiter, .. } => {
                visit.call(bridge)?;
                visit.call(waiter)
            }
            ServedState::Ended(Ok(value)) | ServedState::Coroutine(value) => visit.call(value),
            _ => Ok(()),
        }
    }
}
