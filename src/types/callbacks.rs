//! Calls from Rust to functions of the user: a server wants input, a token is needed, a page has to be opened.
//!
//! Runtime threads never take the GIL. They queue a request and await its answer; worker threads whose loop is Python
//! (`_callbacks.py`) take the requests and call the functions. Log lines and events need no answer and have a queue of
//! their own ([`crate::notices`]), so that a server that floods its log cannot hold up a request.

use crate::sync::Arc;
use crate::sync::waiting::{Condvar, Mutex, MutexGuard, PoisonError};
use crate::tool::{BoxFuture, QuestionAnswer};
use serde_json::Value;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::oneshot;

/// Requests beyond this are refused.
const MAX_WAITING: usize = 1000;
/// Functions that run at once; more requests wait.
const MAX_WORKERS: usize = 64;
/// How long a worker waits for its next request while another one is waiting too.
const IDLE: Duration = Duration::from_secs(10);

/// A request that waits for its function.
pub struct PendingCallback {
    pub function: &'static str,
    pub server: Arc<str>,
    pub params: Value,
    pub answer: oneshot::Sender<QuestionAnswer>,
}

#[derive(Default)]
struct RequestQueue {
    requests: VecDeque<PendingCallback>,
    workers: usize,
    idle: usize,
    closed: bool,
}

/// The requests of one hub.
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
    pub fn next(&self) -> Option<PendingCallback> {
        let mut queue = self.lock();
        loop {
            if queue.closed {
                return None;
            }
            if let Some(request) = queue.requests.pop_front() {
                return Some(request);
            }
            queue.idle += 1;
            let waited = self.arrived.wait_timeout(queue, IDLE);
            let (woken, wait) = waited.unwrap_or_else(PoisonError::into_inner);
            queue = woken;
            queue.idle -= 1;
            if wait.timed_out() && queue.idle > 0 && queue.requests.is_empty() {
                queue.workers -= 1;
                return None;
            }
        }
    }

    /// True when no worker is free for the next request; the caller then starts one, and it counts from now on.
    pub fn needs_worker(&self) -> bool {
        let mut queue = self.lock();
        let needed = !queue.closed && queue.idle == 0 && queue.workers < MAX_WORKERS;
        queue.workers += usize::from(needed);
        needed
    }

    /// A worker that was counted could not be started.
    pub fn worker_lost(&self) {
        self.lock().workers -= 1;
    }

    /// Ends the workers and refuses the requests that wait.
    pub fn close(&self) {
        let dropped = {
            let mut queue = self.lock();
            queue.closed = true;
            std::mem::take(&mut queue.requests)
        };
        self.arrived.notify_all();
        drop(dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(callbacks: &Callbacks) -> BoxFuture<'static, QuestionAnswer> {
        callbacks.ask("token", "a".into(), Value::Null)
    }

    #[tokio::test]
    async fn a_request_gets_the_answer_of_its_function() {
        let callbacks = Callbacks::default();
        let asked = ask(&callbacks);
        let request = callbacks.next().unwrap();
        assert_eq!((request.function, &*request.server), ("token", "a"));
        request.answer.send(Ok(Value::Bool(true))).unwrap();
        assert_eq!(asked.await, Ok(Value::Bool(true)));
    }

    #[tokio::test]
    async fn a_request_too_many_is_refused() {
        let callbacks = Callbacks::default();
        let waiting: Vec<_> = (0..MAX_WAITING).map(|_| ask(&callbacks)).collect();
        assert!(ask(&callbacks).await.is_err());
        assert_eq!(waiting.len(), MAX_WAITING);
    }

    #[tokio::test]
    async fn the_end_refuses_what_waits_and_ends_the_workers() {
        let callbacks = Callbacks::default();
        let asked = ask(&callbacks);
        callbacks.close();
        assert!(asked.await.is_err() && ask(&callbacks).await.is_err());
        assert!(callbacks.next().is_none() && !callbacks.needs_worker());
    }

    #[test]
    fn there_are_never_too_many_workers() {
        let callbacks = Callbacks::default();
        let started = (0..2 * MAX_WORKERS).filter(|_| callbacks.needs_worker()).count();
        assert_eq!(started, MAX_WORKERS);
        callbacks.worker_lost();
        assert!(callbacks.needs_worker() && !callbacks.needs_worker());
    }
}
