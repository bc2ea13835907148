//! Threads for sync Python functions.
//!
//! A worker's loop is a *Python* function (`toolhub/_pool.py`): CPython up to 3.13 ends daemon threads at exit by a forced
//! unwind, and through Rust frames that would abort the process. Rust keeps the queue (the GIL is released while idle) and
//! posts the answers. When the caller of a running function gives up, the function is abandoned: its thread no longer counts
//! as a worker and may be replaced. A worker that waits in `hub.call` does not count meanwhile, so tools may call tools.

use super::addressee::Message;
use super::imported::Imported;
use super::loop_bridge::{LoopMailbox, Mail};
use super::once::intern;
use super::{runtime, value};
use parking_lot::Mutex;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{self, Arc, Condvar, MutexGuard, PoisonError};

/// How many functions run at once.
const WORKERS: usize = 32;
/// The limit of all threads. Those beyond `WORKERS` run abandoned functions or wait for other tools; at the limit new work
/// is queued.
const THREADS: usize = WORKERS + 256;

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallStage {
    Queued,
    Running,
    Over,
    /// Running, but its caller has given up.
    Abandoned,
}

/// A function call in the pool.
struct PoolCall {
    /// `context.run`, the function, its arguments
    call: Py<PyTuple>,
    kwargs: Py<PyAny>,
    reply: Reply,
}

/// Where the result goes; shared by the worker and the caller, who may give up.
#[derive(Clone)]
pub struct Reply {
    pool: Arc<Pool>,
    mailbox: Arc<LoopMailbox>,
    key: u64,
    /// Changed only while the pool's state is locked, so that the counts there agree with it.
    stage: Arc<Mutex<CallStage>>,
}

#[derive(Default)]
struct PoolState {
    queue: VecDeque<PoolCall>,
    /// All threads, whatever they do.
    threads: usize,
    idle: usize,
    abandoned: usize,
    /// Threads that wait for another tool in a blocking call.
    aside: usize,
    stopped: bool,
}

impl PoolState {
    /// Threads that take work.
    fn workers(&self) -> usize {
        self.threads.saturating_sub(self.abandoned + self.aside)
    }

    /// Whether queued work needs another thread; if so, counts it.
    fn needs_worker(&mut self) -> bool {
        // A worker that was woken counts as idle, and its job as queued, until it really takes the job.
        let short = self.queue.len() > self.idle && self.workers() < WORKERS && self.threads < THREADS;
        self.threads += usize::from(short);
        short
    }
}

/// Idle workers wait without the GIL, also while another thread forks. `parking_lot` keeps all waiting threads in one table
/// of the process, and one of them may hold its lock at that moment; the standard library has no such table.
#[derive(Default)]
pub struct Pool {
    state: sync::Mutex<PoolState>,
    work: Condvar,
}

/// Locked only with the GIL held, so it is free whenever the process forks.
static POOL: Mutex<Option<Arc<Pool>>> = Mutex::new(None);

thread_local! {
    /// The pool that this thread works for.
    static CURRENT_POOL: RefCell<Option<Arc<Pool>>> = const { RefCell::new(None) };
}

fn pool() -> Arc<Pool> {
    POOL.lock().get_or_insert_default().clone()
}

/// Hands a call to the pool. It runs in a copy of the caller's context.
pub fn submit(
    py: Python<'_>,
    call: &Py<PyAny>,
    positional: Option<Bound<'_, PyAny>>,
    kwargs: Py<PyAny>,
    mailbox: Arc<LoopMailbox>,
    key: u64,
) -> PyResult<Reply> {
    // SAFETY: the GIL is held; the call gives a new reference or an error.
    let context = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyContext_CopyCurrent())? };
    let run = context.getattr(intern!(py, "run"))?;
    let call = match positional {
        Some(value) => PyTuple::new(py, [run, call.bind(py).clone(), value])?,
        None => PyTuple::new(py, [run, call.bind(py).clone()])?,
    };
    let pool = pool();
    let stage = Arc::new(Mutex::new(CallStage::Queued));
    let reply = Reply { pool: pool.clone(), mailbox, key, stage };
    pool.state().queue.push_back(PoolCall { call: call.unbind(), kwargs, reply: reply.clone() });
    pool.work.notify_one();
    match pool.start_worker_if_needed(py) {
        // Another worker will take it.
        Err(_) if pool.state().workers() > 0 => Ok(reply),
        Err(error) => {
            reply.abandon(py);
            Err(error)
        }
        Ok(()) => Ok(reply),
    }
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, PoolState> {
        // Each change of the counts is complete, so they are right even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_worker_if_needed(&self, py: Python<'_>) -> PyResult<()> {
        if !self.state().needs_worker() {
            return Ok(());
        }
        static START: Imported = Imported::new("toolhub._pool", "start_worker");
        let started = START.get(py).and_then(|start| start.call0());
        started.map(drop).inspect_err(|_| self.state().threads -= 1)
    }

    /// A worker is occupied. If no other can be started, queued work waits for the remaining ones.
    fn replace_worker(&self, py: Python<'_>) {
        drop(self.start_worker_if_needed(py));
    }

    /// Waits for work, without the GIL; `None` when this thread should end.
    fn take(&self) -> Option<PoolCall> {
        let mut state = self.state();
        loop {
            // A worker that returned from an abandoned function may be one too many.
            if state.stopped || state.workers() > WORKERS {
                state.threads -= 1;
                return None;
            }
            if let Some(job) = state.queue.pop_front() {
                return Some(job);
            }
            state.idle += 1;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

impl Reply {
    /// The worker takes the call; false if the caller has given up.
    fn begin(&self) -> bool {
        let _state = self.pool.state();
        let mut stage = self.stage.lock();
        let wanted = *stage == CallStage::Queued;
        if wanted {
            *stage = CallStage::Running;
        }
        wanted
    }

    /// False if the caller has given up.
    fn post(&self, result: PyResult<Py<PyAny>>) -> bool {
        let before = {
            let mut state = self.pool.state();
            let before = std::mem::replace(&mut *self.stage.lock(), CallStage::Over);
            // The worker has returned from an abandoned function.
            state.abandoned -= usize::from(before == CallStage::Abandoned);
            before
        };
        let wanted = before != CallStage::Abandoned;
        if wanted {
            self.mailbox.push(Mail::Deliver(self.key, Message::Returned(result)));
        }
        wanted
    }

    /// The caller gives up. A queued call is skipped; the thread of a running function may be replaced.
    pub fn abandon(&self, py: Python<'_>) {
        {
            let mut state = self.pool.state();
            let mut stage = self.stage.lock();
            match *stage {
                CallStage::Queued => *stage = CallStage::Over,
                CallStage::Running => {
                    *stage = CallStage::Abandoned;
                    state.abandoned += 1;
                }
                CallStage::Over | CallStage::Abandoned => {}
            }
        }
        self.pool.replace_worker(py);
    }
}

/// While this lives, the thread does not count as a worker.
pub struct SteppedAside(Option<Arc<Pool>>);

/// To be called before a thread waits for another tool. If it is a worker, it may be replaced meanwhile.
pub fn step_aside(py: Python<'_>) -> SteppedAside {
    let current = CURRENT_POOL.with_borrow(Clone::clone);
    if let Some(pool) = &current {
        pool.state().aside += 1;
        pool.replace_worker(py);
    }
    SteppedAside(current)
}

impl Drop for SteppedAside {
    fn drop(&mut self) {
        if let Some(pool) = &self.0 {
            pool.state().aside -= 1;
        }
    }
}

/// How a worker reports the end of one call.
#[pyclass(frozen, module = "toolhub._core")]
pub struct JobEnd {
    reply: Reply,
}

#[pymethods]
impl JobEnd {
    fn returned(&self, value: Bound<'_, PyAny>) {
        if !self.reply.post(Ok(value.clone().unbind())) {
            value::discard(&value);
        }
    }

    fn raised(&self, error: Bound<'_, PyAny>) {
        self.reply.post(Err(PyErr::from_value(error)));
    }
}

/// The next call for a worker, or `None` when it should end.
#[pyfunction]
pub fn next_job(py: Python<'_>) -> Option<(Py<PyTuple>, Py<PyAny>, JobEnd)> {
    let pool = CURRENT_POOL.with_borrow_mut(|current| current.get_or_insert_with(pool).clone());
    loop {
        let job = runtime::detached(py, || pool.take())?;
        if job.reply.begin() {
            return Some((job.call, job.kwargs, JobEnd { reply: job.reply }));
        }
    }
}

/// Tells all workers to end after what they are doing. Work that comes later finds a new pool.
#[pyfunction]
pub fn stop_workers() {
    let pool = POOL.lock().take();
    if let Some(pool) = pool {
        let unwanted = {
            let mut state = pool.state();
            state.stopped = true;
            std::mem::take(&mut state.queue)
        };
        pool.work.notify_all();
        drop(unwanted);
    }
}

/// (workers, idle, abandoned), for tests and diagnosis.
#[pyfunction]
pub fn pool_state() -> (usize, usize, usize) {
    let pool = pool();
    let state = pool.state();
    // A worker that was woken and has not taken its job yet is not idle any more.
    (state.workers(), state.idle.saturating_sub(state.queue.len()), state.abandoned)
}

/// The child of a fork has no workers, and one of them may have held the pool's lock: leak the pool and make a new one.
pub fn forget_workers() {
    std::mem::forget(POOL.lock().take());
    CURRENT_POOL.with_borrow_mut(|current| std::mem::forget(current.take()));
}
