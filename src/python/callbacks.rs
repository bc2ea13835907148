//! Calls from Rust to functions of the user: a server wants input, a token is needed, a page has to be opened.
//!
//! Runtime threads never take the GIL. They queue a request and await its answer; worker threads whose loop is Python
//! (`_callbacks.py`) take the requests and call the functions. Log lines and events need no answer and have a queue of
//! their own ([`super::notices`]), so that a server that floods its log cannot hold up a request.

use super::json;
use super::notices::{NoticeBatch, Notices};
use super::runtime;
use pyo3::prelude::*;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use toolhub::tool::{BoxFuture, QuestionAnswer};

/// Requests beyond this are refused.
const MAX_WAITING: usize = 1000;
/// Functions that run at once; more requests wait.
const MAX_WORKERS: usize = 64;
/// How long a worker waits for its next request while another one is waiting too.
const IDLE: Duration = Duration::from_secs(10);

struct PendingCallback {
    function: &'static str,
    server: Arc<str>,
    params: Value,
    answer: oneshot::Sender<QuestionAnswer>,
}

#[derive(Default)]
struct RequestQueue {
    requests: VecDeque<PendingCallback>,
    workers: usize,
    idle: usize,
    closed: bool,
}

/// The requests of one hub. It uses the standard library's locks: `parking_lot` keeps all waiting threads in one table of
/// the process, and a fork could copy that table locked.
#[derive(Default)]
pub struct Callbacks {
    queue: Mutex<RequestQueue>,
    arrived: Condvar,
}

impl Callbacks {
    /// Calls a function of the user and awaits its answer.
    pub fn ask(
        &self,
        function: &'static str,
        server: Arc<str>,
        params: Value,
    ) -> BoxFuture<'static, QuestionAnswer> {
        let (answer, answered) = oneshot::channel();
        {
            let mut queue = self.lock();
            if !queue.closed && queue.requests.len() < MAX_WAITING {
                queue.requests.push_back(PendingCallback { function, server, params, answer });
            }
        }
        self.arrived.notify_one();
        // A request that was refused has dropped its sender.
        Box::pin(async move {
            let refused = || Err((-32603, "the hub is closed, or too many callbacks are waiting".to_owned()));
            answered.await.unwrap_or_else(|_| refused())
        })
    }

    fn lock(&self) -> MutexGuard<'_, RequestQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a request; `None` when this worker shall end.
    fn next(&self) -> Option<PendingCallback> {
        let mut queue = self.lock();
        loop {
            if queue.closed {
                return None;
            }
            if let Some(request) = queue.requests.pop_front() {
                return Some(request);
            }
            queue.idle += 1;
            let spare = queue.idle > 1;
            let timed_out = if spare {
                let waited = self.arrived.wait_timeout(queue, IDLE);
                let (woken, wait) = waited.unwrap_or_else(PoisonError::into_inner);
                queue = woken;
                wait.timed_out()
            } else {
                queue = self.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
                false
            };
            queue.idle -= 1;
            if timed_out && queue.requests.is_empty() {
                queue.workers -= 1;
                return None;
            }
        }
    }

    fn close(&self) {
        let dropped = {
            let mut queue = self.lock();
            queue.closed = true;
            std::mem::take(&mut queue.requests)
        };
        self.arrived.notify_all();
        drop(dropped);
    }
}

/// One request for a function of the user.
#[pyclass(frozen, module = "toolhub._core")]
pub struct CallbackRequest {
    #[pyo3(get)]
    function: &'static str,
    #[pyo3(get)]
    server: String,
    #[pyo3(get)]
    params: Py<PyAny>,
    answer: parking_lot::Mutex<Option<oneshot::Sender<QuestionAnswer>>>,
}

#[pymethods]
impl CallbackRequest {
    fn answer(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = json::as_json("the answer to a server", value)?;
        if let Some(answer) = self.answer.lock().take() {
            let _ = answer.send(Ok(value));
        }
        Ok(())
    }

    fn refuse(&self, reason: String) {
        if let Some(answer) = self.answer.lock().take() {
            let _ = answer.send(Err((-32603, reason)));
        }
    }
}

/// The requests and notices of one hub, for the threads that serve them.
#[pyclass(frozen, module = "toolhub._core")]
pub struct CallbackQueue {
    pub callbacks: Arc<Callbacks>,
    pub notices: Arc<Notices>,
    generation: u64,
}

#[pymethods]
impl CallbackQueue {
    #[new]
    fn new() -> Self {
        CallbackQueue {
            callbacks: Arc::default(),
            notices: Arc::default(),
            generation: runtime::generation(),
        }
    }

    /// Waits for the next request, without the GIL; None when this worker shall end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<CallbackRequest>> {
        let callbacks = self.callbacks.clone();
        let Some(request) = runtime::detached(py, move || callbacks.next()) else { return Ok(None) };
        Ok(Some(CallbackRequest {
            function: request.function,
            server: request.server.to_string(),
            params: json::to_python(py, &request.params)?.unbind(),
            answer: parking_lot::Mutex::new(Some(request.answer)),
        }))
    }

    /// True when no worker is free for the next request; the caller then starts one, and it counts from now on.
    fn needs_worker(&self) -> bool {
        let mut queue = self.callbacks.lock();
        let needed = !queue.closed && queue.idle == 0 && queue.workers < MAX_WORKERS;
        queue.workers += usize::from(needed);
        needed
    }

    /// A worker that was counted could not be started.
    fn worker_lost(&self) {
        self.callbacks.lock().workers -= 1;
    }

    /// Waits for events and log lines, without the GIL: `(events, lines, dropped)`. None when there will be no more.
    fn next_notices(&self, py: Python<'_>) -> PyResult<Option<NoticeBatch>> {
        let notices = self.notices.clone();
        runtime::detached(py, move || notices.next()).map(|taken| taken.into_batch(py)).transpose()
    }

    /// Log lines below this level of `logging` are dropped before they reach Python.
    fn set_log_level(&self, level: u32) {
        self.notices.set_level(level);
    }

    /// Ends the workers and refuses the requests that wait.
    fn close(&self) {
        // A thread that does not exist in the child of a fork may have held a lock.
        if self.generation == runtime::generation() {
            self.callbacks.close();
            self.notices.close();
        }
    }
}
