//! Questions from Rust to Python: a server wants input, a token is needed, a page has to be opened.
//!
//! Threads of the runtime never take the GIL. They put a question here; a thread whose loop is Python (`_asking.py`) takes
//! it, calls what the user has given, and puts the answer back.

use super::json;
use crate::sources::mcp::host::Answer;
use crate::tool::BoxFuture;
use pyo3::prelude::*;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use tokio::sync::oneshot;

struct Question {
    /// Which of the user's functions is meant.
    what: &'static str,
    server: Arc<str>,
    params: Value,
    answer: oneshot::Sender<Answer>,
}

#[derive(Default)]
struct Waiting {
    questions: VecDeque<Question>,
    closed: bool,
}

/// How many questions may wait for a user who does not answer.
const MAX_WAITING: usize = 1000;

/// The questions of one hub. Waits in the standard library's way: idle readers must not matter to a fork.
#[derive(Default)]
pub struct Questions {
    waiting: Mutex<Waiting>,
    asked: Condvar,
}

impl Questions {
    /// Asks and waits for the answer.
    pub fn ask(
        self: &Arc<Self>,
        what: &'static str,
        server: Arc<str>,
        params: Value,
    ) -> BoxFuture<'static, Answer> {
        let (answer, answered) = oneshot::channel();
        let refused = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let refused = waiting.closed || waiting.questions.len() >= MAX_WAITING;
            if !refused {
                waiting.questions.push_back(Question { what, server, params, answer });
            }
            refused
        };
        self.asked.notify_one();
        let nobody = || Err((-32603, "nobody is there to answer".to_owned()));
        Box::pin(async move {
            match refused {
                true => nobody(),
                false => answered.await.unwrap_or_else(|_| nobody()),
            }
        })
    }

    fn next(&self) -> Option<Question> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if waiting.closed {
                return None;
            }
            if let Some(question) = waiting.questions.pop_front() {
                return Some(question);
            }
            waiting = self.asked.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// One question, for a function of the user.
#[pyclass(frozen, module = "toolhub._core")]
pub struct AskedQuestion {
    #[pyo3(get)]
    what: &'static str,
    #[pyo3(get)]
    server: String,
    #[pyo3(get)]
    params: Py<PyAny>,
    answer: parking_lot::Mutex<Option<oneshot::Sender<Answer>>>,
}

#[pymethods]
impl AskedQuestion {
    fn answer(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = json::from_python(value).map_err(|reason| {
            pyo3::exceptions::PyValueError::new_err(format!("the answer to a server must be JSON: {reason}"))
        })?;
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

/// The Python side's handle on the questions of a hub.
#[pyclass(frozen, module = "toolhub._core")]
pub struct QuestionDesk(pub Arc<Questions>);

#[pymethods]
impl QuestionDesk {
    #[new]
    fn new() -> Self {
        QuestionDesk(Arc::default())
    }

    /// Waits for the next question, without the GIL; None when there will be no more.
    fn next(&self, py: Python<'_>) -> PyResult<Option<AskedQuestion>> {
        let questions = self.0.clone();
        let Some(question) = py.detach(move || questions.next()) else { return Ok(None) };
        Ok(Some(AskedQuestion {
            what: question.what,
            server: question.server.to_string(),
            params: json::to_python(py, &question.params)?.unbind(),
            answer: parking_lot::Mutex::new(Some(question.answer)),
        }))
    }

    fn close(&self) {
        let dropped = {
            let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.closed = true;
            std::mem::take(&mut waiting.questions)
        };
        self.0.asked.notify_all();
        drop(dropped);
    }
}
