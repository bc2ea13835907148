//! One tokio runtime a process: made at first use, forgotten after a fork, shut down before the interpreter goes.
//!
//! And the door that is closed at exit. CPython up to 3.13 ends daemon threads by unwinding their stack as soon as they ask
//! for the GIL of an interpreter that is going; through Rust frames that crashes. So at exit a daemon thread whose event
//! loop steps into our code is kept there, without the GIL, and those that are inside are given time to come out.

use parking_lot::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::cell::Cell;
use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle, Runtime};

/// Few workers: they only move bytes and timers, and never wait for the interpreter. A worker that finds work wakes another
/// to look for more, which costs a small call more than its work if both share two cores with Python and the servers.
const MAX_WORKERS: usize = 2;

fn workers() -> usize {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (cores / 2).clamp(1, MAX_WORKERS)
}

static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

/// What other parts do at the ends of a process; they know the runtime, the runtime does not know them.
pub struct Hooks {
    /// Called at interpreter exit, without the GIL, with the time each may take.
    pub at_exit: &'static [fn(Duration)],
    /// Called in the child of a fork.
    pub after_fork: &'static [fn()],
}

static HOOKS: OnceLock<Hooks> = OnceLock::new();

/// Called once, when the module is imported.
pub fn install_hooks(hooks: Hooks) {
    HOOKS.get_or_init(|| hooks);
}

/// Counts the forks this process is away from the one that imported us. What belongs to another generation is not used.
static GENERATION: AtomicU64 = AtomicU64::new(0);

pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Refuses what was made before a fork: its locks may stay held for good, and its threads do not exist here.
pub fn check_generation(made: u64) -> PyResult<()> {
    if made == generation() {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(
        "this hub was made before a fork and cannot be used in the child process; make a new ToolHub there",
    ))
}

/// The runtime's handle; starts the runtime if there is none.
pub fn handle() -> PyResult<Handle> {
    let mut runtime = RUNTIME.lock();
    if let Some(runtime) = &*runtime {
        return Ok(runtime.handle().clone());
    }
    let made =
        Builder::new_multi_thread().worker_threads(workers()).thread_name("toolhub-io").enable_all().build();
    let made = made
        .map_err(|error| PyRuntimeError::new_err(format!("toolhub could not start its runtime: {error}")))?;
    Ok(runtime.insert(made).handle().clone())
}

/// Runs a future on the runtime.
pub fn spawn(future: impl Future<Output = ()> + Send + 'static) -> PyResult<()> {
    handle()?.spawn(future);
    Ok(())
}

/// Drops something that may hold connections: inside the runtime's context, where it can still send a last word. In the
/// child of a fork it is forgotten instead, because its locks and descriptors belong to the parent.
pub fn release<T>(made: u64, value: T) {
    if made != generation() {
        std::mem::forget(value);
        return;
    }
    let handle = RUNTIME.lock().as_ref().map(|runtime| runtime.handle().clone());
    let _inside = handle.as_ref().map(Handle::enter);
    drop(value);
}

/// Closes the door to other threads and ends the worker threads, while the interpreter is still whole.
#[pyfunction]
pub fn shutdown_runtime(py: Python<'_>, seconds: f64) {
    let patience = Duration::from_secs_f64(seconds);
    // Servers and stores end while the runtime can still serve them, and get three times as long as the rest.
    if let Some(hooks) = HOOKS.get() {
        py.detach(|| hooks.at_exit.iter().for_each(|close| close(patience * 3)));
    }
    LEAVING.get_or_init(|| thread::current().id());
    let runtime = RUNTIME.lock().take();
    py.detach(move || {
        let end = Instant::now() + patience;
        while INSIDE.load(Ordering::Acquire) > 0 && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        runtime.map(|runtime| runtime.shutdown_timeout(patience))
    });
}

/// Steps of event loops that are inside our code.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// The thread that ends the interpreter; set when it does.
static LEAVING: OnceLock<ThreadId> = OnceLock::new();

thread_local! {
    /// How many of the steps that are inside are this thread's: a tool may call a tool.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// One step of an event loop inside our code.
pub struct Inside;

/// Every way from an event loop into our code begins here. At exit it ends here too.
pub fn enter(py: Python<'_>) -> Inside {
    INSIDE.fetch_add(1, Ordering::AcqRel);
    DEPTH.set(DEPTH.get() + 1);
    if is_left_behind() {
        INSIDE.fetch_sub(DEPTH.get(), Ordering::AcqRel);
        py.detach(|| park());
    }
    Inside
}

/// Runs `work` without the GIL. At exit the thread does not come back: it stays here, as in [`enter`].
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let result = py.detach(|| {
        let result = work();
        INSIDE.fetch_add(1, Ordering::AcqRel);
        if is_left_behind() {
            INSIDE.fetch_sub(1, Ordering::AcqRel);
            park();
        }
        result
    });
    INSIDE.fetch_sub(1, Ordering::AcqRel);
    result
}

/// True when another thread is ending the interpreter.
fn is_left_behind() -> bool {
    LEAVING.get().is_some_and(|thread| *thread != thread::current().id())
}

/// Stops this thread for good; the end of the process ends it.
pub fn park() -> ! {
    loop {
        thread::park();
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        INSIDE.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The child of a fork has none of the parent's threads. Dropping the runtime would join them: forget it instead.
#[pyfunction]
pub fn after_fork_in_child() {
    // SAFETY: the child has one thread, this one. If the lock was held at the fork, its holder does not exist here.
    unsafe {
        if RUNTIME.is_locked() {
            RUNTIME.force_unlock();
        }
    }
    std::mem::forget(RUNTIME.lock().take());
    GENERATION.fetch_add(1, Ordering::Relaxed);
    INSIDE.store(DEPTH.get(), Ordering::Release);
    if let Some(hooks) = HOOKS.get() {
        hooks.after_fork.iter().for_each(|forget| forget());
    }
}

/// A thread of ours that is not a worker of the runtime; only Windows needs one, for the bell of a mailbox.
#[cfg(not(unix))]
pub fn start_thread(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(body).map(drop)
}
