//! What code inside a call knows, as context variables, which go wherever the context of a tool goes, into its tasks, its threads
//! and its blocking calls: the calls around it; and of a call from a client, how to report progress, send log messages, ask the
//! caller, and see that it was cancelled.

use crate::prelude::*;
use crate::runtime::bridge::{self, BridgeFuture};
use crate::runtime::interpreter::{self, ContextVariable};
use crate::runtime::loop_bridge::{self, Mail};
use crate::runtime::pool::FunctionStage;
use crate::values::json::JsonValue;
use pyo3::ffi;
use serde_json::{Map, json};
use std::sync::Weak;
use tokio_util::sync::CancellationToken;
use toolhub::cassette::OuterCall;
use toolhub::limit::Lender;
use toolhub::notices::WaitingReports;
use toolhub::principal::Principal;
use toolhub::protocol::{METHOD_NOT_FOUND, can_answer};
use toolhub::sources::mcp::questions::{fitting_form, form_of};
use toolhub::tool::{CallContext, CallContextExtras, OnProgress, RoundQuestion};
use toolhub::wait_cancel::CancelSignal;

/// The calls around a call: the value of a context variable.
#[pyclass(frozen, skip_from_py_object, module = "toolhub._core")]
#[derive(Clone, Default)]
pub struct EnclosingCalls {
    /// The slots that it may borrow.
    pub lender: Option<Arc<Lender>>,
    /// The nearest one that is being recorded.
    pub outer: Option<OuterCall>,
    /// Who hears progress inside the nearest one beside its caller, while that caller is the same.
    heard: Option<HeardProgress>,
    /// The functions that each have a thread of a pool. A task may outlive the function that started it, so some may have
    /// ended.
    on_threads: Arc<[Weak<FunctionStage>]>,
}

impl EnclosingCalls {
    /// The same inside another call, if it has slots to borrow or is recorded.
    pub fn within(self, lender: Option<Arc<Lender>>, outer: Option<OuterCall>) -> Self {
        EnclosingCalls { lender: lender.or(self.lender), outer: outer.or(self.outer), ..self }
    }

    /// The same where not only the caller here hears progress.
    pub fn heard_by(self, py: Python<'_>, all: Option<OnProgress>) -> PyResult<Self> {
        let Some(all) = all else { return Ok(self) };
        let told = SCOPE.get::<CallScope>(py)?.and_then(|scope| scope.get().extras.progress.clone());
        Ok(EnclosingCalls { heard: Some(HeardProgress { told, all }), ..self })
    }

    /// For calls inside a function that runs on a thread.
    pub fn within_function(&self, function: &Arc<FunctionStage>) -> Self {
        let own = std::iter::once(Arc::downgrade(function));
        let on_threads = self.running().cloned().chain(own).collect();
        EnclosingCalls { on_threads, ..self.clone() }
    }

    /// The number of functions that wait on their threads for this call.
    pub fn threads(&self) -> usize {
        self.running().count()
    }

    fn running(&self) -> impl Iterator<Item = &Weak<FunctionStage>> {
        let runs =
            |function: &&Weak<FunctionStage>| function.upgrade().is_some_and(|one| !one.stage.is_over());
        self.on_threads.iter().filter(runs)
    }
}

/// Where reports go that a caller is told.
#[derive(Clone)]
struct HeardProgress {
    told: Option<OnProgress>,
    all: OnProgress,
}

/// The value for calls inside one tool that runs; `None` if it is the same as around that tool.
pub type LentPermits = Option<Py<EnclosingCalls>>;

static AROUND: ContextVariable = ContextVariable::new(c"toolhub_slots");

/// The calls around the current one.
pub fn current(py: Python<'_>) -> PyResult<EnclosingCalls> {
    let held = AROUND.get::<EnclosingCalls>(py)?;
    Ok(held.map(|held| held.get().clone()).unwrap_or_default())
}

/// Gives the context variable this value in a context that belongs to one call.
pub fn enter(context: &Bound<'_, PyAny>, held: Py<EnclosingCalls>) -> PyResult<()> {
    AROUND.enter(context, held)
}

/// Does something while the context variable has this value.
pub fn within<T>(py: Python<'_>, held: &LentPermits, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let Some(held) = held else { return work() };
    let variable = AROUND.object(py)?;
    // SAFETY: a context variable and a live value; the GIL is held. A new reference or an error.
    let token =
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyContextVar_Set(variable.as_ptr(), held.as_ptr()))? };
    let done = work();
    // SAFETY: the token is of this variable and this context, and is used once; the GIL is held.
    if unsafe { ffi::PyContextVar_Reset(variable.as_ptr(), token.as_ptr()) } < 0 {
        PyErr::fetch(py).write_unraisable(py, Some(variable));
    }
    done
}

/// The call that the current code is a part of.
#[pyclass(frozen, skip_from_py_object, module = "toolhub._core")]
#[derive(Clone, Default)]
pub struct CallScope {
    extras: CallContextExtras,
    cancel: CancellationToken,
    /// Whether the call has ended.
    pub given_up: Arc<CancelSignal>,
    /// Of a call that a program made itself.
    reports: Option<Arc<LoopReports>>,
}

impl CallScope {
    /// `given_up` ends when the call does.
    pub fn new(ctx: &CallContext, given_up: Arc<CancelSignal>) -> Self {
        CallScope { extras: ctx.extras.clone(), cancel: ctx.cancel.clone(), given_up, reports: None }
    }

    /// Makes this the call of everything that runs in `context`.
    pub fn enter(self, context: &Bound<'_, PyAny>) -> PyResult<()> {
        SCOPE.enter(context, Py::new(context.py(), self)?)
    }
}

static SCOPE: ContextVariable = ContextVariable::new(c"toolhub_call");

/// The call that this code is a part of; None outside of one that came through the gateway or wants progress.
#[pyfunction]
pub fn current_call_scope(py: Python<'_>) -> PyResult<Option<Bound<'_, CallScope>>> {
    let scope = SCOPE.get::<CallScope>(py)?;
    let around = AROUND.get::<EnclosingCalls>(py)?;
    let Some(heard) = around.as_ref().and_then(|around| around.get().heard.as_ref()) else {
        return Ok(scope);
    };
    let told = scope.as_ref().and_then(|scope| scope.get().extras.progress.as_ref());
    let place = |told: &OnProgress| Arc::as_ptr(told).cast::<()>();
    if told.map(place) != heard.told.as_ref().map(place) {
        return Ok(scope);
    }
    let mut scope = scope.as_ref().map(|scope| scope.get().clone()).unwrap_or_default();
    scope.extras.progress = Some(heard.all.clone());
    Bound::new(py, scope).map(Some)
}

/// The caller of the served call that this code is a part of.
pub fn principal(py: Python<'_>) -> PyResult<Option<Arc<Principal>>> {
    Ok(SCOPE.get::<CallScope>(py)?.and_then(|scope| scope.get().extras.principal.clone()))
}

/// Where progress of the call goes that this code is a part of.
pub fn progress(py: Python<'_>) -> PyResult<Option<OnProgress>> {
    Ok(current_call_scope(py)?.and_then(|scope| scope.get().extras.progress.clone()))
}

/// From here on, reports of Python tools in this context go to `progress`, on the running loop. Returns what
/// `leave_call_scope` takes.
#[pyfunction]
pub fn enter_call_scope<'py>(progress: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = progress.py();
    let mailbox = loop_bridge::current(py)?.get().mailbox.clone();
    let reports =
        Arc::new(LoopReports { function: progress.clone().unbind(), waiting: WaitingReports::default() });
    let (kept, report): (_, OnProgress) = (reports.clone(), {
        Arc::new(move |update: &Value| {
            if reports.waiting.add(update) {
                let reports = reports.clone();
                mailbox.push(Mail::Run(Box::new(move |bridge| reports.deliver(bridge.py()))));
            }
        })
    });
    // The calls inside a served call are made for its caller.
    let extras = CallContextExtras {
        progress: Some(report),
        principal: principal(py)?,
        ..CallContextExtras::default()
    };
    let scope = CallScope { extras, reports: Some(kept), ..CallScope::default() };
    SCOPE.object(py)?.call_method1(intern!(py, "set"), (Bound::new(py, scope)?,))
}

/// Ends what `enter_call_scope` began, in the same context. Reports that wait are delivered before it returns.
#[pyfunction]
pub fn leave_call_scope(token: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = token.py();
    let scope = current_call_scope(py)?;
    // A coroutine that the garbage collector closes ends in another context, which the scope does not belong to.
    let _ = SCOPE.object(py)?.call_method1(intern!(py, "reset"), (token,));
    if let Some(reports) = scope.as_ref().and_then(|scope| scope.get().reports.as_ref()) {
        reports.deliver(py);
    }
    Ok(())
}

/// Reports on their way to a function of Python, which is called on its loop.
struct LoopReports {
    function: Py<PyAny>,
    waiting: WaitingReports,
}

impl LoopReports {
    fn deliver(&self, py: Python<'_>) {
        let function = self.function.bind(py);
        for update in self.waiting.take() {
            let told = json::to_python(py, &update).and_then(|update| interpreter::call(function, [&update]));
            show_unraisable(told, function);
        }
    }
}

#[pymethods]
impl CallScope {
    /// The scope of code that is not part of a call: there is no caller to ask.
    #[staticmethod]
    fn nowhere() -> CallScope {
        CallScope::default()
    }

    /// Sends a progress report to the caller, if it wants any.
    #[pyo3(signature = (progress, total=None, message=None))]
    fn report(
        &self,
        py: Python<'_>,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
    ) -> PyResult<()> {
        let Some(report) = &self.extras.progress else { return Ok(()) };
        if !progress.is_finite() || total.is_some_and(|total| !total.is_finite()) {
            return Err(PyValueError::new_err("progress and total must be finite numbers"));
        }
        let mut update = Map::from_iter([("progress".to_owned(), number(progress))]);
        update.extend(total.map(|total| ("total".to_owned(), number(total))));
        update.extend(message.map(|message| ("message".to_owned(), json!(message))));
        let update = Value::Object(update);
        py.detach(|| report(&update));
        Ok(())
    }

    /// Sends a log message to the caller, if it wants messages of this level.
    fn log(&self, py: Python<'_>, level: &str, data: &Bound<'_, PyAny>, logger: &str) -> PyResult<()> {
        let Some(log) = &self.extras.log else { return Ok(()) };
        let data = json::as_json("the message", data)?;
        let message = json!({"level": level, "logger": logger, "data": data});
        py.detach(|| (log.write)(&message));
        Ok(())
    }

    /// The caller that has shown credentials to a served hub, as the members of `toolhub.Principal`.
    #[getter]
    fn principal<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let principal = self.extras.principal.as_ref().filter(|principal| !principal.is_anonymous());
        principal.map(|principal| json::to_python(py, &principal.shown())).transpose()
    }

    /// Whether the caller answers questions.
    #[getter]
    fn can_ask(&self) -> bool {
        self.extras.ask.is_some()
    }

    /// Whether the caller has cancelled the call, or waits no more.
    #[getter]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Whether the caller can be asked this.
    fn supports(&self, method: &str, params: &Bound<'_, PyAny>) -> PyResult<bool> {
        let params = question(params)?;
        Ok(self.extras.ask.as_ref().is_some_and(|ask| can_answer(&ask.capabilities, method, &params)))
    }

    /// Awaits the caller's answers to these questions, in the same order. Each has a key, a method and parameters.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        questions: Vec<(String, String, Bound<'py, PyAny>)>,
    ) -> PyResult<Bound<'py, BridgeFuture>> {
        let questions = questions
            .into_iter()
            .map(|(key, method, params)| Ok(RoundQuestion { key, method, params: question(&params)? }))
            .collect::<PyResult<Vec<_>>>()?;
        let ask = self.extras.ask.clone();
        bridge::run(py, async move {
            let ask = ask.ok_or_else(unable)?;
            let lacks = |one: &&RoundQuestion| !can_answer(&ask.capabilities, &one.method, &one.params);
            let lacking = questions.iter().find(lacks).map(|one| one.method.clone());
            let forms: Vec<_> = questions.iter().map(form_of).collect();
            let mut answers = Vec::with_capacity(questions.len());
            for (answer, form) in ask.ask_round(questions, None).await.into_iter().zip(forms) {
                let answer = answer.map_err(|(code, message)| match (code, &lacking) {
                    // The client has not declared what the question needs.
                    (METHOD_NOT_FOUND, Some(method)) => {
                        let text = message!("The client of this call does not support '{}'.", method);
                        HubError::new(ErrorKind::NotAllowed, text)
                    }
                    (METHOD_NOT_FOUND, None) => unable(),
                    _ => HubError::new(ErrorKind::ToolError, message),
                })?;
                answers.push(match form {
                    Some(form) => fitting_form(answer, Some(form)).await.map_err(|why| {
                        let text = message!("The answer of the client does not fit the form: {}.", why);
                        HubError::new(ErrorKind::ToolError, text)
                    })?,
                    None => answer,
                });
            }
            Ok(JsonValue(Value::Array(answers)))
        })
    }
}

fn question(params: &Bound<'_, PyAny>) -> PyResult<Value> {
    json::as_json("the question", params)
}

fn unable() -> HubError {
    HubError::new(ErrorKind::NotAllowed, "The caller of this tool cannot be asked.")
}

/// Whole numbers are written without a fraction, as most clients expect.
fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT { json!(value as i64) } else { json!(value) }
}
