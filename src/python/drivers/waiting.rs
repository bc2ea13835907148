//! A thread that waits for a Rust future without an event loop.
//!
//! It waits in poll(2) with the GIL released, so Ctrl-C is seen at once. The first Ctrl-C drops the future and waits until it
//! is gone; the second one returns at once.

use crate::runtime;
use crate::runtime::pool;
use crate::runtime::wakeup::{Wakeup, wait_for};
use crate::values::errors::tool_error;
use futures_util::future::abortable;
use parking_lot::Mutex;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use toolhub::error::{ErrorKind, HubError};
use toolhub::mailbox::Notifier;

/// How long one wait lasts; a signal or the answer ends it earlier.
const SLICE: Duration = Duration::from_secs(1);

/// What wakes the thread.
pub fn wakeup() -> PyResult<Arc<Wakeup>> {
    let made = Wakeup::new();
    made.map(Arc::new).map_err(|error| PyOSError::new_err(format!("toolhub could not wait: {error}")))
}

/// A future that a thread waits for.
struct WaitedFuture<T> {
    answer: Mutex<Option<Result<T, HubError>>>,
    is_over: AtomicBool,
    wakeup: Arc<Wakeup>,
}

/// Tells the thread that the future has ended or is gone.
struct EndOfFuture<T>(Arc<WaitedFuture<T>>);

impl<T> Drop for EndOfFuture<T> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.wakeup.notify();
    }
}

/// Runs a future on the runtime and blocks this thread until it ends. `woken` is called each time that the wakeup was notified;
/// its error ends the wait, as Ctrl-C does.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    wakeup: Arc<Wakeup>,
    future: impl Future<Output = Result<T, HubError>> + Send + 'static,
    mut woken: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let waited = Arc::new(WaitedFuture { answer: Mutex::new(None), is_over: AtomicBool::new(false), wakeup });
    let end = EndOfFuture(waited.clone());
    let (future, running) = abortable(future);
    runtime::spawn(async move {
        if let Ok(answer) = future.await {
            *end.0.answer.lock() = Some(answer);
        }
        drop(end);
    })?;
    let _aside = pool::step_aside(py);
    let mut interrupted = None;
    loop {
        let is_notified = runtime::detached(py, || wait_for(&waited.wakeup, SLICE));
        if is_notified {
            // Before the look, so that what comes after it is seen the next time.
            waited.wakeup.clear();
        }
        if waited.is_over.load(Ordering::Acquire) {
            let answer = waited.answer.lock().take();
            return match (interrupted, answer) {
                (Some(interrupt), _) => Err(interrupt),
                (None, Some(answer)) => answer.map_err(|error| tool_error(py, &error)),
                (None, None) => Err(tool_error(py, &panicked())),
            };
        }
        let seen = if is_notified && interrupted.is_none() { woken(py) } else { Ok(()) };
        if let Err(interrupt) = seen.and_then(|()| py.check_signals()) {
            if interrupted.is_some() {
                return Err(interrupt);
            }
            running.abort();
            interrupted = Some(interrupt);
        }
    }
}

fn panicked() -> HubError {
    HubError::new(ErrorKind::ToolError, "Internal error: toolhub panicked.")
}
