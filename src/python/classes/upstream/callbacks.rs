//! What the threads in `_callbacks.py` see of the requests and notices of servers.

use crate::prelude::*;
use crate::runtime::process;
use crate::values::json::JsonValue;
use tokio::sync::oneshot;
use toolhub::notices::{Callbacks, Notices};
use toolhub::tool::QuestionAnswer;

/// Events as `(server, event)`, lines as `(server, level, text)`, and how many lines were dropped.
type NoticeBatch = (Vec<(String, JsonValue)>, Vec<(String, u32, String)>, usize);

/// One request for a function of the user.
#[pyclass(frozen, module = "toolhub._core")]
pub struct CallbackRequest {
    #[pyo3(get)]
    function: &'static str,
    #[pyo3(get)]
    server: String,
    #[pyo3(get)]
    params: Py<PyAny>,
    answer: Mutex<Option<oneshot::Sender<QuestionAnswer>>>,
}

#[pymethods]
impl CallbackRequest {
    fn answer(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.end(Ok(json::as_json("the answer to a server", value)?));
        Ok(())
    }

    fn refuse(&self, reason: String) {
        self.end(Err((-32603, reason)));
    }
}

impl CallbackRequest {
    fn end(&self, answer: QuestionAnswer) {
        // Nobody waits any more for an answer that comes too late, or twice.
        let _ = self.answer.lock().take().map(|waiting| waiting.send(answer));
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
            generation: process::generation(),
        }
    }

    /// Waits for the next request, without the GIL; None when this worker shall end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<CallbackRequest>> {
        let callbacks = self.callbacks.clone();
        let Some(request) = process::detached(py, move || callbacks.next()) else { return Ok(None) };
        Ok(Some(CallbackRequest {
            function: request.function,
            server: request.server.to_string(),
            params: json::to_python(py, &request.params)?.unbind(),
            answer: Mutex::new(Some(request.answer)),
        }))
    }

    /// True when no worker is free for the next request; the caller then starts one, and it counts from now on.
    fn needs_worker(&self) -> bool {
        self.callbacks.needs_worker()
    }

    /// A worker that was counted could not be started.
    fn worker_lost(&self) {
        self.callbacks.worker_lost();
    }

    /// Waits for events and log lines, without the GIL: `(events, lines, dropped)`. None when there will be no more.
    fn next_notices(&self, py: Python<'_>) -> PyResult<Option<NoticeBatch>> {
        let notices = self.notices.clone();
        let Some(taken) = process::detached(py, move || notices.next()) else { return Ok(None) };
        let events = taken.events.into_iter().map(|(server, event)| (server.to_string(), JsonValue(event)));
        let lines = taken.lines.into_iter().map(|line| (line.server.to_string(), line.level, line.text));
        Ok(Some((events.collect(), lines.collect(), taken.dropped)))
    }

    /// Log lines below this level of `logging` are dropped before they reach Python.
    fn set_log_level(&self, level: u32) {
        self.notices.set_level(level);
    }

    /// Ends the workers and refuses the requests that wait.
    fn close(&self) {
        // A thread that does not exist in the child of a fork may have held a lock.
        if self.generation == process::generation() {
            self.callbacks.close();
            self.notices.close();
        }
    }
}
