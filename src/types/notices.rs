//! Log lines and events of servers on their way to Python. They need no answer, and no caller waits for them.
//!
//! Both queues are bounded. Log lines below the level of Python's logger are dropped here, without the GIL.

use crate::sync::Arc;
use crate::sync::waiting::{Condvar, Mutex, MutexGuard, PoisonError};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

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
