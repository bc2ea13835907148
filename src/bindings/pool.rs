//! Threads for sync Python functions.
//!
//! A worker's loop is a *Python* function (`toolhub/_pool.py`): CPython up to 3.13 ends daemon threads at exit by a forced
//! unwind, and through Rust frames that would abort the process. Rust keeps the queue (the GIL is released while idle) and
//! posts the answers. A function whose caller has gone is abandoned: its thread is written off and may be replaced.

use super::mailbox::{Mail, Mailbox, Message};
use crossbeam_channel::{Receiver, Sender, unbounded};
use parking_lot::Mutex;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// How many functions run at once.
const WORKERS: usize = 32;
/// How many threads may be lost to functions that never return before new work has to wait.
const WRITTEN_OFF: usize = 256;

const QUEUED: u8 = 0;
const RUNNING: u8 = 1;
const OVER: u8 = 2;
const ABANDONED: u8 = 3;

/// A function call on its way through the pool.
struct Job {
    /// `context.run`, the function, its arguments
    call: Py<PyTuple>,
    kwargs: Py<PyAny>,
    reply: Reply,
}

/// The way back: shared by the worker and by the one who may give up on it.
#[derive(Clone)]
pub struct Reply {
    mailbox: Arc<Mailbox>,
    key: u64,
    state: Arc<AtomicU8>,
}

#[derive(Default)]
struct Workers {
    /// Threads that take work.
    alive: usize,
    idle: usize,
    written_off: usize,
}

static WORKERS_STATE: Mutex<Workers> = Mutex::new(Workers { alive: 0, idle: 0, written_off: 0 });
static QUEUE: Mutex<Option<(Sender<Option<Job>>, Receiver<Option<Job>>)>> = Mutex::new(None);

fn queue() -> (Sender<Option<Job>>, Receiver<Option<Job>>) {
    QUEUE.lock().get_or_insert_with(unbounded).clone()
}

/// Hands a call to the pool. It runs in a copy of the caller's context.
pub fn submit(
    py: Python<'_>,
    call: &Py<PyAny>,
    positional: Option<Bound<'_, PyAny>>,
    kwargs: Py<PyAny>,
    mailbox: Arc<Mailbox>,
    key: u64,
) -> PyResult<Reply> {
    // SAFETY: the GIL is held; the call gives a new reference or an error.
    let context = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyContext_CopyCurrent())? };
    let run = context.getattr(pyo3::intern!(py, "run"))?;
    let call = match positional {
        Some(value) => PyTuple::new(py, [run, call.bind(py).clone(), value])?,
        None => PyTuple::new(py, [run, call.bind(py).clone()])?,
    };
    let reply = Reply { mailbox, key, state: Arc::new(AtomicU8::new(QUEUED)) };
    let (sender, receiver) = queue();
    // The receiver is in our hands, so the channel is open.
    let _ = sender.send(Some(Job { call: call.unbind(), kwargs, reply: reply.clone() }));
    let hire = {
        let mut workers = WORKERS_STATE.lock();
        let short = workers.idle < receiver.len() && workers.alive < WORKERS && workers.written_off < WRITTEN_OFF;
        workers.alive += usize::from(short);
        short
    };
    if hire {
        static START: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        if let Err(error) = START.import(py, "toolhub._pool", "start_worker").and_then(|start| start.call0()) {
            WORKERS_STATE.lock().alive -= 1;
            return Err(error);
        }
    }
    Ok(reply)
}

impl Reply {
    fn post(&self, result: PyResult<Py<PyAny>>) {
        match self.state.swap(OVER, Ordering::AcqRel) {
            // Nobody waits any more; the worker is back from a function that was thought lost.
            ABANDONED => {
                let mut workers = WORKERS_STATE.lock();
                workers.written_off = workers.written_off.saturating_sub(1);
                workers.alive += 1;
            }
            _ => self.mailbox.push(Mail::ToAttempt(self.key, Message::Returned(result))),
        }
    }

    /// The caller has gone. Queued work is skipped; a running function loses its thread.
    pub fn abandon(&self) {
        let running = self.state.compare_exchange(RUNNING, ABANDONED, Ordering::AcqRel, Ordering::Acquire);
        if running.is_ok() {
            let mut workers = WORKERS_STATE.lock();
            workers.alive = workers.alive.saturating_sub(1);
            workers.written_off += 1;
            return;
        }
        let _ = self.state.compare_exchange(QUEUED, OVER, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// How a worker reports the end of one call.
#[pyclass(frozen, module = "toolhub._core")]
pub struct JobEnd {
    reply: Reply,
}

#[pymethods]
impl JobEnd {
    fn returned(&self, value: Py<PyAny>) {
        self.reply.post(Ok(value));
    }

    fn raised(&self, error: Bound<'_, PyAny>) {
        self.reply.post(Err(PyErr::from_value(error)));
    }
}

/// The next call for a worker, or `None` when it shall end.
#[pyfunction]
pub fn next_job(py: Python<'_>) -> Option<(Py<PyTuple>, Py<PyAny>, JobEnd)> {
    let (_, receiver) = queue();
    loop {
        {
            let mut workers = WORKERS_STATE.lock();
            // One that came back from a function thought lost may be one too many.
            if workers.alive > WORKERS {
                workers.alive -= 1;
                return None;
            }
            workers.idle += 1;
        }
        let job = py.detach(|| receiver.recv());
        {
            let mut workers = WORKERS_STATE.lock();
            workers.idle = workers.idle.saturating_sub(1);
            if !matches!(job, Ok(Some(_))) {
                workers.alive = workers.alive.saturating_sub(1);
            }
        }
        let Ok(Some(job)) = job else { return None };
        let begun = job.reply.state.compare_exchange(QUEUED, RUNNING, Ordering::AcqRel, Ordering::Acquire);
        if begun.is_ok() {
            return Some((job.call, job.kwargs, JobEnd { reply: job.reply }));
        }
    }
}

/// Tells all workers to end after what they are doing.
#[pyfunction]
pub fn stop_workers() {
    let (sender, _) = queue();
    let count = { let workers = WORKERS_STATE.lock(); workers.alive + workers.written_off };
    for _ in 0..count {
        let _ = sender.send(None);
    }
}

/// (workers, idle, written off), for tests and diagnosis.
#[pyfunction]
pub fn pool_state() -> (usize, usize, usize) {
    let workers = WORKERS_STATE.lock();
    (workers.alive, workers.idle, workers.written_off)
}

/// The child of a fork has no workers. The old queue may have been locked by one of them: leave it and start afresh.
pub fn forget_workers() {
    // SAFETY: the child has one thread, this one; a lock held at the fork has no living holder here.
    unsafe {
        if QUEUE.is_locked() {
            QUEUE.force_unlock();
        }
        if WORKERS_STATE.is_locked() {
            WORKERS_STATE.force_unlock();
        }
    }
    std::mem::forget(QUEUE.lock().take());
    *WORKERS_STATE.lock() = Workers::default();
}
