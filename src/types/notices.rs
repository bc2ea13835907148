//! L0, what crosses threads on its way to Python: log lines and events of servers, progress reports, and calls to functions of the
//! user.
//!
//! Log lines and events need no answer, and no caller waits for them. Their queues are bounded; log lines below the level of
//! Python's logger are dropped here, without the GIL.
//!
//! A server wants input, a token is needed, a page has to be opened: runtime threads never take the GIL. They queue a request and
//! await its answer; worker threads whose loop is Python (`_callbacks.py`) take the requests and call the functions. They have a
//! queue of their own, so that a server that floods its log cannot hold up a request.

use crate::sync::Arc;
use crate::sync::waiting::{Condvar, Mutex, MutexGuard, PoisonError};
use crate::tool::{BoxFuture, QuestionAnswer};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Where the log lines of servers go.
pub trait LogSink: Send + Sync {
    /// Whether a line of this level is written. Asked before a line is cleaned, which costs more than all the rest.
    fn wants(&self, level: &str) -> bool;
    /// Writes a line of a server.
    fn write(&self, server: &str, level: &str, text: &str);
}

/// Beyond this the oldest lines are dropped, and counted.
const MAX_LINES: usize = 1000;
/// Events are few and matter more; beyond this the oldest are dropped.
const MAX_EVENTS: usize = 10_000;
/// The level of a Python logger may change at any time, so one line in this time is let through whatever its level.
const RECHECK: Duration = Duration::from_secs(1);

/// A line of a server.
pub struct LogLine {
    pub server: Arc<str>,
    /// As Python's `logging` counts.
    pub level: u32,
    pub text: String,
}

#[derive(Default)]
struct NoticeQueue {
    events: VecDeque<(Arc<str>, Value)>,
    lines: VecDeque<LogLine>,
    dropped: usize,
    /// The store has notices, which it keeps itself.
    store: bool,
    level: u32,
    /// When the level was last read from Python.
    checked: Option<Instant>,
    closed: bool,
}

impl NoticeQueue {
    fn wants(&self, level: u32) -> bool {
        level >= self.level || self.checked.is_none_or(|at| at.elapsed() >= RECHECK)
    }
}

/// The notices of one hub.
#[derive(Default)]
pub struct Notices {
    queue: Mutex<NoticeQueue>,
    arrived: Condvar,
}

impl LogSink for Notices {
    fn wants(&self, level: &str) -> bool {
        let queue = self.lock();
        !queue.closed && queue.wants(python_level(level))
    }

    fn write(&self, server: &str, level: &str, text: &str) {
        let level = python_level(level);
        let mut queue = self.lock();
        if queue.closed || !queue.wants(level) {
            return;
        }
        if level < queue.level {
            // The next one has to wait again, also while Python is busy.
            queue.checked = Some(Instant::now());
        }
        if queue.lines.len() == MAX_LINES {
            queue.lines.pop_front();
            queue.dropped += 1;
        }
        queue.lines.push_back(LogLine { server: server.into(), level, text: text.to_owned() });
        drop(queue);
        self.arrived.notify_one();
    }
}

impl Notices {
    pub fn event(&self, server: &str, what: &str, details: &Value) {
        let mut queue = self.lock();
        if queue.closed {
            return;
        }
        if queue.events.len() == MAX_EVENTS {
            queue.events.pop_front();
        }
        queue.events.push_back((server.into(), json!({"type": what, "details": details})));
        drop(queue);
        self.arrived.notify_one();
    }

    pub fn store_has_notices(&self) {
        self.lock().store = true;
        self.arrived.notify_one();
    }

    pub fn set_level(&self, level: u32) {
        let mut queue = self.lock();
        queue.level = level;
        queue.checked = Some(Instant::now());
    }

    /// Waits for notices and takes all of them; `None` when there will be no more.
    pub fn next(&self) -> Option<TakenNotices> {
        let mut queue = self.lock();
        loop {
            if !queue.events.is_empty() || !queue.lines.is_empty() || queue.store {
                queue.store = false;
                return Some(TakenNotices {
                    events: std::mem::take(&mut queue.events),
                    lines: std::mem::take(&mut queue.lines),
                    dropped: std::mem::take(&mut queue.dropped),
                });
            }
            if queue.closed {
                return None;
            }
            queue = self.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What waits is still handed out.
    pub fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, NoticeQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All notices that have waited.
pub struct TakenNotices {
    /// Each with the server that it is about.
    pub events: VecDeque<(Arc<str>, Value)>,
    pub lines: VecDeque<LogLine>,
    /// How many lines were dropped.
    pub dropped: usize,
}

/// The protocol has the levels of syslog; Python's `logging` has fewer.
fn python_level(level: &str) -> u32 {
    match level {
        "debug" => 10,
        "warning" => 30,
        "error" => 40,
        "critical" | "alert" | "emergency" => 50,
        // "info", "notice", and what the protocol does not know.
        _ => 20,
    }
}

/// Reports that wait for their loop, in order.
#[derive(Default)]
pub struct WaitingReports(crate::sync::Mutex<VecDeque<Value>>);

impl WaitingReports {
    /// A server that floods its caller must not fill the memory: the oldest ones make room.
    const MOST: usize = 10_000;

    /// True if the loop does not know yet that reports wait.
    pub fn add(&self, update: &Value) -> bool {
        let mut waiting = self.0.lock();
        if waiting.len() >= Self::MOST {
            waiting.pop_front();
        }
        waiting.push_back(update.clone());
        waiting.len() == 1
    }

    pub fn take(&self) -> VecDeque<Value> {
        std::mem::take(&mut *self.0.lock())
    }
}

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

    fn levels(notices: &Notices) -> Vec<u32> {
        notices.next().map(|taken| taken.lines.iter().map(|line| line.level).collect()).unwrap_or_default()
    }

    #[test]
    fn lines_below_the_level_are_dropped() {
        let notices = Notices::default();
        notices.set_level(30);
        for level in ["debug", "info", "notice", "odd", "warning", "error", "emergency"] {
            notices.write("a", level, "text");
        }
        assert_eq!(levels(&notices), [30, 40, 50]);
    }

    #[test]
    fn a_flood_keeps_the_latest_lines_and_all_events() {
        let notices = Notices::default();
        notices.event("b", "connected", &Value::Null);
        for number in 0..5 * MAX_LINES {
            notices.write("a", "error", &number.to_string());
        }
        let taken = notices.next().unwrap();
        assert_eq!((taken.events.len(), taken.lines.len(), taken.dropped), (1, MAX_LINES, 4 * MAX_LINES));
        assert_eq!(taken.lines.back().unwrap().text, (5 * MAX_LINES - 1).to_string());
    }

    #[test]
    fn what_waits_is_handed_out_after_the_end() {
        let notices = Notices::default();
        notices.write("a", "error", "last");
        notices.close();
        notices.write("a", "error", "too late");
        assert_eq!(levels(&notices), [40]);
        assert!(notices.next().is_none());
    }
}

#[cfg(test)]
mod callbacks_tests {
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
