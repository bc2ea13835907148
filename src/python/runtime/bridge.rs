//! Rust futures and streams as Python awaitables and async iterators; and plain functions of the user on threads of ours.
//!
//! ```text
//! run(future) ─► BridgeFuture ─(await)─► Job: polled here first, then on tokio
//!                     ▲                          │ settles
//!                     └── LoopBridge ◄── mailbox ◄┘
//! ```
//!
//! Nothing starts before the first step. Cancelling the await drops the future and waits until it is gone, so what it
//! held (a connection, a process) is released when `CancelledError` arrives; a second cancellation returns at once.
//! An awaitable that is closed or collected drops its future too.
//!
//! For functions asyncio's own executor is not used: `asyncio.run` and the interpreter's exit wait for its threads, so a
//! function that hangs would hold up both. A caller that is cancelled leaves the function behind.

use crate::drivers::awaiting::{Awaitable, Awaited, Step, new_awaitable};
use crate::drivers::served_call::ServedCall;
use crate::prelude::*;
use crate::runtime::call_scope;
use crate::runtime::loop_bridge::{self, LoopBridge, LoopMessage, MailAddress};
use crate::runtime::pool::{self, CallTerms, FunctionCall, PoolKind, SubmittedCall};
use crate::runtime::{Lease, process};
use futures_util::stream::{BoxStream, StreamExt, once};
use futures_util::{FutureExt, Stream};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyGeneratorExit, PyStopAsyncIteration};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::task::{Context, Poll, Waker};
use tokio::sync::oneshot::{self, Receiver, error::TryRecvError};
use tokio::task::AbortHandle;
use toolhub::error::Result;
use toolhub::inline_task::{InlineTask, MovableFuture, TaskRuntime};
use toolhub::tool::BoxFuture;
use toolhub::workers::PoolRefusal;

/// What can become a Python object on the loop's thread.
pub trait BridgeValue: for<'py> IntoPyObject<'py> + Send + 'static {}

impl<T: for<'py> IntoPyObject<'py> + Send + 'static> BridgeValue for T {}

/// The result of a future. It becomes a Python object only on the loop's thread, because runtime threads never take the GIL.
type FutureOutcome = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// A Rust future as a Python awaitable. A failure raises `ToolError`.
pub fn run<T: BridgeValue>(
    py: Python<'_>,
    future: impl Future<Output = Result<T>> + Send + 'static,
) -> PyResult<Bound<'_, BridgeFuture>> {
    new_awaitable(py, BridgeFuture::new(async move { outcome_of(future.await) }))
}

/// A Rust stream as a Python async iterator. It is polled only while an item is awaited, so a slow reader slows the source.
/// The first error ends it.
pub fn stream<T: BridgeValue>(source: impl Stream<Item = Result<T>> + Send + 'static) -> BridgeStream {
    // From the first item on the runtime has to stay, while the reader takes its time.
    let source = once(async move {
        let lease = process::handle().ok();
        source.map(move |item| {
            let _lease = &lease;
            item.map(|value| outcome_of(Ok(value)))
        })
    });
    let source: StreamSource = Arc::new(tokio::sync::Mutex::new(Some(source.flatten().boxed())));
    BridgeStream { source: Mutex::new(Some(source)), generation: process::generation() }
}

/// Hands a function to a pool.
pub fn run_function<'py>(
    py: Python<'py>,
    kind: PoolKind,
    call: FunctionCall<'py>,
    served: Option<Py<ServedCall>>,
) -> PyResult<Bound<'py, BridgeFuture>> {
    let made = new_awaitable(py, BridgeFuture::at(FutureStage::Done))?;
    let bridge = loop_bridge::current(py)?;
    let submitted = pool::submit(py, kind, call, bridge.get().address_of(&made, 0))?;
    let source = OutcomeSource::Function { call: submitted, served, ended: None };
    let running = RunningFuture { source, bridge: bridge.unbind(), waiter: None, thrown: None };
    *made.get().stage.lock() = FutureStage::Running(running);
    Ok(made)
}

/// Runs a function without arguments on a thread of ours; await what comes back.
#[pyfunction]
pub fn in_thread(py: Python<'_>, function: Py<PyAny>) -> PyResult<Bound<'_, BridgeFuture>> {
    let call = FunctionCall {
        function: function.into_bound(py),
        value: None,
        kwargs: PyDict::new(py).into_any().unbind(),
        around: call_scope::current(py)?,
        terms: CallTerms::default(),
    };
    run_function(py, PoolKind::Callbacks, call, None)
}

fn outcome_of<T: BridgeValue>(result: Result<T>) -> FutureOutcome {
    match result {
        Ok(value) => Box::new(move |py| value.into_py_any(py)),
        Err(error) => Box::new(move |py| Err(tool_error(py, &error))),
    }
}

/// A Rust future, or a function on a thread, that Python awaits once. Made by [`run`] and [`run_function`].
#[pyclass(frozen, extends = Awaitable, module = "toolhub._core")]
pub struct BridgeFuture {
    stage: Mutex<FutureStage>,
    generation: u64,
}

enum FutureStage {
    New(BoxFuture<'static, ()>, Receiver<FutureOutcome>),
    Running(RunningFuture),
    Done,
}

/// What makes the outcome.
enum OutcomeSource {
    /// The outcome is announced at this address.
    Job { job: Arc<CoreJob>, outcome: Receiver<FutureOutcome>, _address: MailAddress },
    /// A function on a thread; the call of a served tool whose function it is; and what it gave.
    Function { call: SubmittedCall, served: Option<Py<ServedCall>>, ended: Option<PyResult<Py<PyAny>>> },
}

struct RunningFuture {
    source: OutcomeSource,
    bridge: Py<LoopBridge>,
    /// The future on which the caller is suspended.
    waiter: Option<Py<PyAny>>,
    /// What was thrown in; raised as soon as the Rust future is gone.
    thrown: Option<PyErr>,
}

impl BridgeFuture {
    fn new(future: impl Future<Output = FutureOutcome> + Send + 'static) -> Self {
        let (settled, outcome) = oneshot::channel();
        let future = Box::pin(async move {
            let ended = AssertUnwindSafe(future).catch_unwind().await;
            let panicked = HubError::new(ErrorKind::ToolError, "Internal error: toolhub panicked.");
            drop(settled.send(ended.unwrap_or_else(|_| outcome_of::<()>(Err(panicked)))));
        });
        BridgeFuture::at(FutureStage::New(future, outcome))
    }

    fn at(stage: FutureStage) -> Self {
        BridgeFuture { stage: Mutex::new(stage), generation: process::generation() }
    }

    fn start(
        slf: &Bound<'_, Self>,
        future: BoxFuture<'static, ()>,
        mut outcome: Receiver<FutureOutcome>,
    ) -> PyResult<Step> {
        let (py, this) = (slf.py(), slf.get());
        process::check_generation(this.generation)?;
        let bridge = loop_bridge::current(py)?;
        let job = start_job(future, true)?;
        let address = bridge.get().address_of(slf, 0);
        let waker = Waker::from(Arc::new(address.sender.clone()));
        if let Poll::Ready(outcome) = outcome.poll_unpin(&mut Context::from_waker(&waker)) {
            return finished(py, outcome.ok());
        }
        let source = OutcomeSource::Job { job, outcome, _address: address };
        let running = RunningFuture { source, bridge: bridge.unbind(), waiter: None, thrown: None };
        *this.stage.lock() = FutureStage::Running(running);
        this.suspend(py)
    }

    fn running<T>(&self, ask: impl FnOnce(&mut RunningFuture) -> T) -> Option<T> {
        if let FutureStage::Running(running) = &mut *self.stage.lock() { Some(ask(running)) } else { None }
    }

    /// Suspends the caller on a future of its loop.
    fn suspend(&self, py: Python<'_>) -> PyResult<Step> {
        let bridge = self.running(|running| running.bridge.clone_ref(py)).ok_or_else(reused)?;
        let waiter = bridge.get().create_waiter(py)?.unbind();
        let before = self.running(|running| running.waiter.replace(waiter.clone_ref(py)));
        drop(before);
        Ok(Step::Yield(waiter))
    }

    /// Ends when the Rust future is over, and waits for it otherwise.
    fn resume(&self, py: Python<'_>) -> PyResult<Step> {
        let outcome = self.running(|running| match &mut running.source {
            OutcomeSource::Job { outcome, .. } => match outcome.try_recv() {
                Err(TryRecvError::Empty) => None,
                settled => Some(settled.ok()),
            },
            OutcomeSource::Function { ended, .. } => {
                ended.take().map(|ended| Some(Box::new(|_: Python<'_>| ended) as FutureOutcome))
            }
        });
        let Some(outcome) = outcome.flatten() else { return self.suspend(py) };
        match self.leave().and_then(|running| running.thrown) {
            Some(thrown) => Err(thrown),
            None => finished(py, outcome),
        }
    }

    /// Waits no more.
    fn leave(&self) -> Option<RunningFuture> {
        let stage = std::mem::replace(&mut *self.stage.lock(), FutureStage::Done);
        if let FutureStage::Running(running) = stage { Some(running) } else { None }
    }

    /// Gives everything up. A function goes on alone.
    fn give_up(&self, py: Python<'_>) {
        match self.leave().map(|running| running.source) {
            Some(OutcomeSource::Job { job, .. }) => job.abort(),
            Some(OutcomeSource::Function { call, served, .. }) => {
                let leftover = served.map(|served| served.get().leftover());
                call.abandon(py, leftover.unwrap_or_default());
            }
            None => {}
        }
    }
}

/// The function was not called; without a refusal its thread was lost.
fn not_returned(
    py: Python<'_>,
    served: Option<&Py<ServedCall>>,
    refusal: Option<PoolRefusal>,
) -> PyResult<Py<PyAny>> {
    let text = match (served, refusal) {
        (Some(served), refusal) => {
            served.get().not_returned(refusal);
            return Ok(py.None());
        }
        (None, Some(_)) => "too many callbacks that were given up still run; the function was not called",
        (None, None) => "the thread of this function ended before the function did",
    };
    Err(PyRuntimeError::new_err(text))
}

fn finished(py: Python<'_>, outcome: Option<FutureOutcome>) -> PyResult<Step> {
    match outcome {
        Some(outcome) => outcome(py).map(Step::Return),
        None => Err(PyRuntimeError::new_err("toolhub has stopped because the interpreter is exiting")),
    }
}

fn reused() -> PyErr {
    PyRuntimeError::new_err("cannot reuse an awaitable of toolhub that was awaited already")
}

impl Awaited for BridgeFuture {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step> {
        let this = slf.get();
        let mut stage = this.stage.lock();
        if matches!(*stage, FutureStage::Running(_)) {
            drop(stage);
            return this.resume(slf.py());
        }
        let new = std::mem::replace(&mut *stage, FutureStage::Done);
        drop(stage);
        match new {
            FutureStage::New(future, outcome) => Self::start(slf, future, outcome),
            FutureStage::Running(_) | FutureStage::Done => Err(reused()),
        }
    }

    fn throw(slf: &Bound<'_, Self>, error: PyErr) -> PyResult<Step> {
        let (py, this) = (slf.py(), slf.get());
        let closing = error.is_instance_of::<PyGeneratorExit>(py);
        let job = match &mut *this.stage.lock() {
            FutureStage::Running(RunningFuture {
                source: OutcomeSource::Job { job, .. }, thrown, ..
            }) if thrown.is_none() && !closing => {
                *thrown = Some(error.clone_ref(py));
                Some(job.clone())
            }
            _ => None,
        };
        match job {
            Some(job) => {
                job.abort();
                this.resume(py)
            }
            None => {
                this.give_up(py);
                Err(error)
            }
        }
    }

    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.get().give_up(slf.py());
        Ok(())
    }

    fn receive(slf: &Bound<'_, Self>, _slot: usize, message: LoopMessage) {
        let waiter = slf.get().running(|running| {
            if let OutcomeSource::Function { served, ended, .. } = &mut running.source {
                *ended = match message {
                    LoopMessage::Returned(given) => Some(given),
                    LoopMessage::NotReturned(refusal) => {
                        Some(not_returned(slf.py(), served.as_ref(), refusal))
                    }
                    _ => None,
                };
            }
            running.waiter.take()
        });
        loop_bridge::wake_waiting(waiter.flatten(), slf.as_any());
    }
}

#[pymethods]
impl BridgeFuture {
    /// Blocks this thread, without the GIL, in place of being awaited. What comes of it does not matter.
    fn wait(&self, py: Python<'_>) {
        let stage = std::mem::replace(&mut *self.stage.lock(), FutureStage::Done);
        if let (FutureStage::New(future, _), Ok(lease)) = (stage, process::handle()) {
            py.detach(|| lease.block_on(future));
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // A locked stage is in use right now, so it is not garbage.
        match self.stage.try_lock().as_deref() {
            Some(FutureStage::Running(running)) => {
                visit.call(&running.bridge)?;
                if let OutcomeSource::Function { served, .. } = &running.source {
                    visit.call(served)?;
                }
                visit.call(&running.waiter)
            }
            _ => Ok(()),
        }
    }
}

impl Drop for BridgeFuture {
    fn drop(&mut self) {
        match std::mem::replace(self.stage.get_mut(), FutureStage::Done) {
            FutureStage::Running(RunningFuture { source: OutcomeSource::Job { job, .. }, .. }) => job.abort(),
            FutureStage::New(future, _) => process::release(self.generation, future),
            FutureStage::Running(_) | FutureStage::Done => {}
        }
    }
}

/// The Rust side of an async iterator. It is gone after the last item.
type StreamSource = Arc<tokio::sync::Mutex<Option<BoxStream<'static, Result<FutureOutcome>>>>>;

async fn next_of(source: Option<StreamSource>) -> FutureOutcome {
    let Some(source) = source else { return end_of_stream() };
    let mut stream = source.lock().await;
    let item = async { stream.as_mut()?.next().await }.await;
    if !matches!(item, Some(Ok(_))) {
        *stream = None;
    }
    match item {
        Some(Ok(item)) => item,
        Some(Err(error)) => outcome_of::<()>(Err(error)),
        None => end_of_stream(),
    }
}

fn end_of_stream() -> FutureOutcome {
    Box::new(|_| Err(PyStopAsyncIteration::new_err(())))
}

/// A Rust stream that Python iterates. Made by [`stream`].
#[pyclass(frozen, module = "toolhub._core")]
pub struct BridgeStream {
    source: Mutex<Option<StreamSource>>,
    generation: u64,
}

#[pymethods]
impl BridgeStream {
    fn __aiter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __anext__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, BridgeFuture>> {
        let source = self.source.lock().clone();
        new_awaitable(py, BridgeFuture::new(next_of(source)))
    }

    /// Drops the source. An item that is being awaited still arrives.
    fn close(&self) {
        process::release(self.generation, self.source.lock().take());
    }
}

impl Drop for BridgeStream {
    fn drop(&mut self) {
        self.close();
    }
}

pub type CoreJob = InlineTask<Lease>;

impl TaskRuntime for Lease {
    type Running = AbortHandle;

    fn run(&self, future: MovableFuture) -> AbortHandle {
        self.spawn(future).abort_handle()
    }

    fn abort(running: AbortHandle) {
        running.abort();
    }

    fn inside<T>(&self, step: impl FnOnce() -> T) -> T {
        let _inside = self.enter();
        step()
    }
}

/// Begins a future here, or leaves it to the runtime from the beginning if its first step is long. It must not block, as
/// everywhere on a runtime.
pub fn start_job(
    future: impl Future<Output = ()> + Send + 'static,
    is_light: bool,
) -> PyResult<Arc<CoreJob>> {
    let start = if is_light { CoreJob::start } else { CoreJob::start_elsewhere };
    Ok(start(process::handle()?, Box::pin(future)))
}
