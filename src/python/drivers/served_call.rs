//! A Python tool that is called from a driver on tokio: the hub is served, and the caller is a client elsewhere.
//!
//! The driver sends one message to the loop of the serving program and awaits the answer; it never takes the GIL. On the
//! loop the call is a task of its own: an async function is stepped in it, a sync function runs in the pool. The task has
//! a copy of the context of the program that serves, so contextvars that were set before `serve` are seen.

use crate::classes::telemetry;
use crate::drivers::awaiting::{is_being_cancelled, is_cancelled_error};
use crate::prelude::*;
use crate::runtime;
use crate::runtime::bridge::run_function;
use crate::runtime::call_scope::{self, CallScope, EnclosingCalls};
use crate::runtime::loop_bridge::{LoopBridge, Mail};
use crate::runtime::pool::{AbandonedResources, CallTerms, FunctionCall, PoolKind};
use crate::runtime::tool_loops::ServedLoop;
use crate::values::arguments::argument_checks::{CheckPass, Checks, PreparedArguments};
use crate::values::arguments::callable::{Callable, CallableKind, meaning_of};
use crate::values::errors::invalid_arguments;
use crate::values::json::LargeJson;
use crate::values::value;
use pyo3::exceptions::PyGeneratorExit;
use serde_json::json;
use std::any::Any;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::oneshot;
use toolhub::cassette::OuterCall;
use toolhub::error::{Outcome, Result, clip};
use toolhub::execute::{Answer, not_returned, reported};
use toolhub::hub::cancelled;
use toolhub::limit::{Lender, Permits};
use toolhub::model::{Arguments, Meaning, ToolOutput};
use toolhub::model_output::content;
use toolhub::stats::AbandonedCall;
use toolhub::tool::CallContext;
use toolhub::wait_cancel::CancelSignal;
use toolhub::workers::PoolRefusal;

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
    let call = ServedCall {
        tool,
        args: Mutex::new(Some(args.clone())),
        ctx: ctx.clone(),
        permits: Mutex::default(),
        answer: Mutex::new(Some(answer)),
        link: link.clone(),
        abandoned: Mutex::default(),
        given_up: Arc::default(),
    };
    let mut guard = CallGuard { place: place.clone(), link, is_over: false };
    let on = place.clone();
    place.push(Mail::Run(Box::new(move |bridge| start(bridge, &on, call))));
    let ended = tokio::select! {
        biased;
        ended = &mut answered => ended,
        () = ctx.cancel.cancelled() => {
            guard.cancel(false);
            answered.await
        }
    };
    guard.is_over = true;
    let is_cancelled = guard.link.is_cancelled.load(Ordering::Acquire);
    // The task of a call that was cancelled in time never began.
    ended.unwrap_or_else(|_| Err(without_answer(&name, is_cancelled, place.failure())))
}

/// The error of a call that was dropped on its way.
fn without_answer(tool: &str, is_cancelled: bool, no_loop: Option<String>) -> HubError {
    let name = clip(tool);
    match no_loop {
        _ if is_cancelled => cancelled(tool),
        Some(reason) => {
            let text =
                format!("Tool '{name}' was not started: no event loop could be opened ({}).", clip(&reason));
            HubError::new(ErrorKind::Overloaded, text).with_outcome(Outcome::NotSent)
        }
        None => {
            HubError::new(ErrorKind::Closed, message!("Tool '{}' was ended because serving has ended.", name))
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
    /// One that outlived its grace counts as abandoned until it ends.
    fn cancel(&self, is_abandoned: bool) {
        let was_cancelled = self.link.is_cancelled.swap(true, Ordering::AcqRel);
        let link = self.link.clone();
        self.place.push(Mail::Run(Box::new(move |bridge| {
            let py = bridge.py();
            let both = |(task, call): &(Py<PyAny>, Py<ServedCall>)| (task.clone_ref(py), call.clone_ref(py));
            let running = link.running.lock().as_ref().map(both);
            let Some((task, call)) = running else { return };
            if !was_cancelled {
                show_unraisable(task.call_method0(py, intern!(py, "cancel")), bridge.as_any());
            }
            if is_abandoned {
                let counted = call.get().tool.stats.get().map(|stats| stats.count_abandoned());
                *call.get().abandoned.lock() = counted;
            }
        })));
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        if !self.is_over {
            self.cancel(true);
        }
    }
}

/// On the loop: makes the task.
fn start(bridge: &Bound<'_, LoopBridge>, place: &ServedLoop, call: ServedCall) {
    static RUN: Imported = Imported::new("toolhub._served_call", "run");
    let py = bridge.py();
    if call.link.is_cancelled.load(Ordering::Acquire) {
        return call.finish(Err(cancelled(&call.tool.spec.name)));
    }
    let made = (|| {
        let context = place.context(py)?;
        let permits = call.ctx.permits.as_ref().and_then(Weak::upgrade);
        let outer =
            call.ctx.on_cassette.as_ref().and_then(|outer| outer.downcast_ref::<OuterCall>()).cloned();
        let around = EnclosingCalls::default().within(lender_of(&permits), outer);
        *call.permits.lock() = permits;
        call_scope::enter(&context, Py::new(py, around)?)?;
        CallScope::new(&call.ctx, call.given_up.clone()).enter(&context)?;
        telemetry::enter_span(&context, &call.ctx.extras.meta)?;
        let call = Bound::new(py, call)?;
        let task = bridge.get().create_task_in(py, RUN.get(py)?.call1((&call,))?, context.unbind())?;
        // A task that started eagerly may be over already.
        if call.get().answer.lock().is_some() {
            *call.get().link.running.lock() = Some((task.unbind(), call.clone().unbind()));
        }
        PyResult::Ok(())
    })();
    // The driver learns of an error, because the sender of the answer is dropped.
    show_unraisable(made, bridge.as_any());
}

/// What calls inside the tool may borrow: the slots of this one.
fn lender_of(slots: &CallSlots) -> Option<Arc<Lender>> {
    let permits = slots.as_ref()?.downcast_ref::<Mutex<Permits>>()?;
    Some(permits.lock().lender(None))
}

/// What the task of a call has to do with it: the task is a coroutine in `toolhub._served_call`.
#[pyclass(frozen, module = "toolhub._core")]
pub struct ServedCall {
    tool: Arc<Callable>,
    args: Mutex<Option<Arguments>>,
    ctx: CallContext,
    /// Until the function has really ended.
    permits: Mutex<CallSlots>,
    answer: Mutex<Option<oneshot::Sender<Answer>>>,
    link: Arc<CallLink>,
    abandoned: Mutex<Option<AbandonedCall>>,
    /// Ends what still waits for an answer of the client, on threads of the tool.
    given_up: Arc<CancelSignal>,
}

#[pymethods]
impl ServedCall {
    /// What the callable gives, or the call of a plain function on a thread. None if the call is over.
    fn begin<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, this) = (slf.py(), slf.get());
        let _inside = runtime::enter(py);
        let Some(args) = this.args.lock().take() else { return Ok(None) };
        let prepared = this.prepare(py, &args);
        drop(LargeJson(args.into_value()));
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(refusal) => {
                this.finish(Err(refusal));
                return Ok(None);
            }
        };
        if this.tool.is_async {
            if this.ctx.sent.may_begin() {
                return this.tool.invoke(py, &prepared).map(Some);
            }
            this.finish(Err(cancelled(&this.tool.spec.name)));
            return Ok(None);
        }
        let (value, kwargs) = prepared.for_thread(py)?;
        let left = this.ctx.deadline.saturating_duration_since(Instant::now());
        let terms = CallTerms {
            latest_start: Some(this.ctx.deadline - left / 10),
            tool: this.tool.stats.get().cloned(),
            sent: Some(this.ctx.sent.clone()),
        };
        let (function, around) = (this.tool.call.bind(py).clone(), call_scope::current(py)?);
        let call = FunctionCall { function, value, kwargs, around, terms };
        let call = run_function(py, PoolKind::Tools, call, Some(slf.clone().unbind()))?;
        Ok(Some(call.into_any()))
    }

    fn returned(&self, value: &Bound<'_, PyAny>) {
        let _inside = runtime::enter(value.py());
        self.finish(self.output(value));
    }

    /// True if the error is not the tool's, but ends the task.
    fn raised(&self, error: Bound<'_, PyBaseException>) -> bool {
        let py = error.py();
        let _inside = runtime::enter(py);
        let error = PyErr::from_value(error.into_any());
        let is_closed = error.is_instance_of::<PyGeneratorExit>(py);
        let is_ended = is_closed || is_cancelled_error(py, &error) && self.is_being_cancelled(py);
        self.finish(Err(if is_ended {
            cancelled(&self.tool.spec.name)
        } else {
            self.tool.raised(py, &error)
        }));
        is_ended
    }
}

impl ServedCall {
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

    /// The function was not called; without a refusal its thread was lost.
    pub fn not_returned(&self, refusal: Option<PoolRefusal>) {
        self.finish(Err(not_returned(&self.tool.spec.name, refusal)));
    }

    /// What the function keeps that goes on alone, because the caller does not wait any more.
    pub fn leftover(&self) -> AbandonedResources {
        let counted = self.tool.stats.get().map(|stats| stats.count_abandoned());
        AbandonedResources { permits: Permits::default(), counted, held: self.permits.lock().take() }
    }

    fn prepare(&self, py: Python<'_>, args: &Arguments) -> Result<PreparedArguments> {
        let given = json::to_python(py, args.as_value())
            .map_err(|error| invalid_arguments(&self.tool.spec.name, error.to_string()))?;
        let checks = Checks { validate: true, coerce: true, none_is_input: false };
        self.tool.prepare(&given, &mut CheckPass::new(checks))
    }

    /// Whether a cancellation comes from outside the tool.
    fn is_being_cancelled(&self, py: Python<'_>) -> bool {
        let task = self.link.running.lock().as_ref().map(|(task, _)| task.clone_ref(py));
        let is_asked = task.is_some_and(|task| is_being_cancelled(task.bind(py)));
        self.link.is_cancelled.load(Ordering::Acquire) || is_asked
    }

    /// The value as the core knows it.
    fn output(&self, value: &Bound<'_, PyAny>) -> Answer {
        let (py, name) = (value.py(), &self.tool.spec.name);
        let failed = |error: PyErr| self.tool.raised(py, &error);
        if self.tool.kind != CallableKind::Tool {
            static OFFERED: Imported = Imported::new("toolhub._to_plain", "offered");
            let plain = OFFERED.get(py).and_then(|offered| offered.call1((value,)));
            return plain.map(|plain| ToolOutput::new(json::with_texts(&plain))).map_err(failed);
        }
        let value = match meaning_of(value, || self.tool.nothing_means) {
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
}

/// A value as JSON, or as text if it has no JSON form.
fn as_json(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    json::from_python(value).or_else(|_| value::readable(value).map(Value::String))
}
