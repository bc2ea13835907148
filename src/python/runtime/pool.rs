//! Threads for sync functions of the user: one pool for tools, one for callbacks.
//!
//! A worker's loop is a *Python* function (`toolhub/_pool.py`): CPython up to 3.13 ends daemon threads at exit by a forced
//! unwind, and through Rust frames that would abort the process. The rules of the pool are in [`toolhub::workers`]; idle
//! threads wait there without the GIL. Here are the calls, their replies, and the start of threads.

use crate::prelude::*;
use crate::runtime::call_scope::{self, EnclosingCalls};
use crate::runtime::interpreter::current_context;
use crate::runtime::loop_bridge::{LoopMessage, MailAddress, MailSender};
use crate::runtime::process;
use crate::values::value;
use pyo3::exceptions::PyRecursionError;
use std::any::Any;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use toolhub::limit::Permits;
use toolhub::stats::{AbandonedCall, CandidateStats};
use toolhub::tool::SentFlag;
use toolhub::wait_cancel::CancelSignal;
use toolhub::workers::{CallEnd, CallStage, PoolLimits, PoolRefusal, QueuedCall, WorkerPool};

/// How long a thread waits for another call. Ten seconds after the last hub was closed all have ended.
const IDLE_FOR: Duration = Duration::from_secs(5);

/// Which threads a call runs on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PoolKind {
    Tools,
    /// Callbacks have threads of their own: a question to the user does not wait until a tool has ended.
    Callbacks,
}

impl PoolKind {
    /// How many run at once, and the name of a thread.
    fn size(self) -> (usize, &'static str) {
        match self {
            PoolKind::Tools => (32, "toolhub-sync"),
            PoolKind::Callbacks => (64, "toolhub-callback"),
        }
    }
}

/// A call that was given up still holds these until it really ends.
#[derive(Default)]
pub struct AbandonedResources {
    pub permits: Permits,
    pub counted: Option<AbandonedCall>,
    /// The slots of a call that came from a driver on tokio.
    pub held: Option<Arc<dyn Any + Send + Sync>>,
}

/// A function call in a pool.
pub struct PoolCall {
    /// `context.run`, the function, its arguments
    call: Py<PyTuple>,
    kwargs: Py<PyAny>,
    reply: Reply,
    terms: CallTerms,
}

/// When a call may begin.
#[derive(Default)]
pub struct CallTerms {
    /// After this moment it must not begin.
    pub latest_start: Option<Instant>,
    /// The tool whose abandoned calls count; all callbacks count as one.
    pub tool: Option<Arc<CandidateStats>>,
    /// Marked when the function begins.
    pub sent: Option<Arc<SentFlag>>,
}

impl QueuedCall for PoolCall {
    type AbandonedResources = AbandonedResources;

    fn stage(&self) -> &CallStage<AbandonedResources> {
        &self.reply.function.stage
    }

    fn latest_start(&self) -> Option<Instant> {
        self.terms.latest_start
    }

    fn has_abandoned(&self) -> bool {
        self.terms.tool.as_ref().is_none_or(|tool| tool.abandoned() > 0)
    }

    fn may_begin(&self) -> bool {
        self.terms.sent.as_ref().is_none_or(|sent| sent.may_begin())
    }

    fn refuse(self, refusal: PoolRefusal) {
        self.reply.sender.send(LoopMessage::NotReturned(Some(refusal)));
    }
}

/// One pool of this process.
pub struct CallPool {
    kind: PoolKind,
    generation: u64,
    workers: WorkerPool<PoolCall>,
}

/// Where a function is, and who wants to know when its caller has given up.
#[derive(Default)]
pub struct FunctionStage {
    pub stage: CallStage<AbandonedResources>,
    pub given_up: CancelSignal,
}

/// Where the result goes; shared by the worker and the caller, who may give up.
#[derive(Clone)]
struct Reply {
    pool: Arc<CallPool>,
    sender: MailSender,
    function: Arc<FunctionStage>,
}

/// A call for whose result its caller waits. Dropping it alone does not end the call.
pub struct SubmittedCall {
    reply: Reply,
    _address: MailAddress,
}

static POOLS: Mutex<[Option<Arc<CallPool>>; 2]> = Mutex::new([None, None]);

thread_local! {
    /// The call that this thread runs.
    static CURRENT_CALL: RefCell<Option<Reply>> = const { RefCell::new(None) };
}

fn pool(kind: PoolKind) -> Arc<CallPool> {
    let make = || {
        let (generation, running) = (process::generation(), kind.size().0);
        let limits = PoolLimits { running, abandoned: 256, threads: 1024, nested: 512, idle_for: IDLE_FOR };
        Arc::new(CallPool { kind, generation, workers: WorkerPool::new(limits) })
    };
    POOLS.lock()[kind as usize].get_or_insert_with(make).clone()
}

/// A function to be called with a value or with keywords.
pub struct FunctionCall<'py> {
    pub function: Bound<'py, PyAny>,
    pub value: Option<Bound<'py, PyAny>>,
    pub kwargs: Py<PyAny>,
    /// The calls around it. The function runs in a copy of the current context, in which it is one of them.
    pub around: EnclosingCalls,
    pub terms: CallTerms,
}

/// Hands a call to a pool. A refusal comes as a message.
pub fn submit(
    py: Python<'_>,
    kind: PoolKind,
    FunctionCall { function, value, kwargs, around, terms }: FunctionCall<'_>,
    address: MailAddress,
) -> PyResult<SubmittedCall> {
    let reply = Reply { pool: pool(kind), sender: address.sender.clone(), function: Arc::default() };
    let call = || {
        let held = Py::new(py, around.within_function(&reply.function))?;
        let run = call_scope::within(py, &Some(held), || current_context(py))?.getattr(intern!(py, "run"))?;
        match value {
            Some(value) => PyTuple::new(py, [run, function, value]),
            None => PyTuple::new(py, [run, function]),
        }
    };
    let call = call()?.unbind();
    let queued = PoolCall { call, kwargs, reply: reply.clone(), terms };
    let submitted = SubmittedCall { reply, _address: address };
    let pool = &submitted.reply.pool;
    match pool.workers.add(queued, around.threads()) {
        Err(PoolRefusal::Nested(around)) => {
            return Err(PyRecursionError::new_err(format!(
                "calls of the hub are nested too deeply: {around} sync functions wait for one another"
            )));
        }
        Err(refusal) => {
            submitted.reply.sender.send(LoopMessage::NotReturned(Some(refusal)));
            return Ok(submitted);
        }
        Ok(()) => {}
    }
    match pool.start_worker_if_needed(py) {
        // Another worker may take it.
        Err(error) if pool.workers.counts().0 == 0 => {
            submitted.abandon(py, AbandonedResources::default());
            Err(error)
        }
        _ => Ok(submitted),
    }
}

impl CallPool {
    /// A function may fork. In the child its thread goes on, but the pool is the parent's and may be locked for good.
    fn is_ours(&self) -> bool {
        self.generation == process::generation()
    }

    fn start_worker_if_needed(self: &Arc<Self>, py: Python<'_>) -> PyResult<()> {
        if !self.workers.needs_thread() {
            return Ok(());
        }
        static START: Imported = Imported::new("toolhub._pool", "start_worker");
        let worker = Py::new(py, Worker { pool: self.clone(), is_counted: AtomicBool::new(true) })?;
        let started = START.get(py).and_then(|start| start.call1((&worker, self.kind.size().1)));
        started.map(drop).inspect_err(|_| {
            worker.get().leave();
        })
    }

    /// A worker is occupied. If no other can be started, queued calls wait for the remaining ones.
    fn replace_worker(self: &Arc<Self>, py: Python<'_>) {
        drop(self.start_worker_if_needed(py));
    }
}

impl Reply {
    /// The function has ended. False if its caller has given up.
    fn post(&self, message: LoopMessage) -> bool {
        let is_wanted = matches!(self.pool.workers.end(&self.function.stage), CallEnd::Wanted);
        if is_wanted {
            self.sender.send(message);
        }
        is_wanted
    }
}

impl SubmittedCall {
    /// The caller gives up. The thread of a running function may be replaced, and the function keeps `leftover` until it
    /// ends.
    pub fn abandon(self, py: Python<'_>, leftover: AbandonedResources) {
        let Reply { pool, function, .. } = &self.reply;
        let abandonment = pool.workers.abandon(&function.stage, leftover);
        pool.replace_worker(py);
        function.given_up.end();
        drop(abandonment);
    }
}

/// A sync function that runs on a thread of a pool.
#[pyclass(frozen, module = "toolhub._core")]
pub struct ThreadedFunction(pub Arc<FunctionStage>);

#[pymethods]
impl ThreadedFunction {
    /// Whether its caller has given up.
    #[getter]
    fn is_abandoned(&self) -> bool {
        self.0.stage.is_abandoned()
    }
}

/// The function that this thread runs; None on threads of others.
#[pyfunction]
pub fn current_function() -> Option<ThreadedFunction> {
    let current = CURRENT_CALL.with_borrow(Clone::clone);
    current.filter(|call| call.pool.is_ours()).map(|call| ThreadedFunction(call.function))
}

/// While this lives, the thread does not count as a worker.
pub struct SteppedAside(Option<Reply>);

/// To be called before a thread waits for another tool. If it is a worker, it may be replaced meanwhile.
pub fn step_aside(py: Python<'_>) -> SteppedAside {
    let current = CURRENT_CALL.with_borrow(Clone::clone);
    let current = current.filter(|call| call.pool.workers.step_aside(&call.function.stage));
    if let Some(call) = &current {
        call.pool.replace_worker(py);
    }
    SteppedAside(current)
}

impl Drop for SteppedAside {
    fn drop(&mut self) {
        if let Some(call) = self.0.as_ref().filter(|call| call.pool.is_ours()) {
            call.pool.workers.step_back(&call.function.stage);
        }
    }
}

/// One thread of a pool. Its loop takes calls and reports how each ended.
#[pyclass(frozen, module = "toolhub._core")]
pub struct Worker {
    pool: Arc<CallPool>,
    is_counted: AtomicBool,
}

#[pymethods]
impl Worker {
    /// The next call: `context.run` and its arguments, and keywords. None when the thread should end.
    fn next(&self, py: Python<'_>) -> Option<(Py<PyTuple>, Py<PyAny>)> {
        if !self.pool.is_ours() {
            return None;
        }
        let PoolCall { call, kwargs, reply, .. } = loop {
            let Some(call) = process::detached(py, || self.pool.workers.take()) else {
                self.is_counted.store(false, Ordering::Relaxed);
                return None;
            };
            // Waiting for the GIL may have taken long.
            if self.pool.workers.begin(&call) {
                break call;
            }
        };
        CURRENT_CALL.set(Some(reply));
        Some((call, kwargs))
    }

    fn returned(&self, value: Bound<'_, PyAny>) {
        let reply = take_call();
        if reply.is_some_and(|reply| !reply.post(LoopMessage::Returned(Ok(value.clone().unbind())))) {
            value::discard(&value);
        }
    }

    fn raised(&self, py: Python<'_>, error: Bound<'_, PyBaseException>) {
        let error = PyErr::from_value(error.into_any());
        // The first frame is that of the worker.
        if let Some(traceback) = error.traceback(py) {
            let next = traceback.getattr(intern!(py, "tb_next")).ok();
            error.set_traceback(py, next.and_then(|next| next.cast_into().ok()));
        }
        if let Some(reply) = take_call() {
            reply.post(LoopMessage::Returned(Err(error)));
        }
    }

    /// The thread ends, whatever the reason: a call that it still runs is lost, and another thread may take its place.
    fn ended(&self, py: Python<'_>) {
        if let Some(reply) = take_call() {
            reply.post(LoopMessage::NotReturned(None));
        }
        if self.leave() {
            self.pool.replace_worker(py);
        }
    }
}

impl Worker {
    /// True if the thread was counted until now.
    fn leave(&self) -> bool {
        let was_counted = self.is_counted.swap(false, Ordering::Relaxed) && self.pool.is_ours();
        if was_counted {
            self.pool.workers.thread_ended();
        }
        was_counted
    }
}

/// The call that this thread ran until now.
fn take_call() -> Option<Reply> {
    CURRENT_CALL.take().filter(|call| call.pool.is_ours())
}

/// Ends all workers after what they are doing. Calls that come later find new pools.
#[pyfunction]
pub fn stop_workers() {
    let pools = std::mem::take(&mut *POOLS.lock());
    for pool in pools.into_iter().flatten() {
        drop(pool.workers.stop());
    }
}

/// (workers, idle, abandoned) of the pool for tools, for tests and diagnosis.
#[pyfunction]
pub fn pool_state() -> (usize, usize, usize) {
    pool(PoolKind::Tools).workers.counts()
}

/// The child of a fork has no workers, and one of them may have held a lock: leak the pools and make new ones.
pub fn forget_workers() {
    std::mem::forget(process::take_after_fork(&POOLS));
    CURRENT_CALL.with_borrow_mut(|current| std::mem::forget(current.take()));
}
