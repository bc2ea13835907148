//! One tokio runtime a process: made at first use, forgotten after a fork, shut down before the interpreter goes.

use parking_lot::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

/// Few workers: they only move bytes and timers, and never wait for the interpreter.
const WORKERS: usize = 2;

static RUNTIME: Mutex<Option<Arc<Runtime>>> = Mutex::new(None);

/// Counts the forks this process is away from the one that imported us. What belongs to another generation is not used.
static GENERATION: AtomicU64 = AtomicU64::new(0);

pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Runs a future on the runtime.
pub fn spawn<F>(future: F) -> PyResult<AbortHandle>
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut runtime = RUNTIME.lock();
    if runtime.is_none() {
        let made = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("toolhub-io")
            .enable_all()
            .build()
            .map_err(|error| PyRuntimeError::new_err(format!("toolhub could not start its runtime: {error}")))?;
        *runtime = Some(Arc::new(made));
    }
    match runtime.as_ref() {
        Some(runtime) => Ok(runtime.spawn(future).abort_handle()),
        None => Err(PyRuntimeError::new_err("toolhub's runtime is shut down")),
    }
}

/// Ends the worker threads while the interpreter is still whole.
#[pyfunction]
pub fn shutdown_runtime(py: Python<'_>, seconds: f64) {
    let runtime = RUNTIME.lock().take().and_then(Arc::into_inner);
    if let Some(runtime) = runtime {
        py.detach(move || runtime.shutdown_timeout(Duration::from_secs_f64(seconds)));
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
    super::port::forget_ports();
    super::pool::forget_workers();
}
