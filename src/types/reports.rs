//! Progress reports on their way to an event loop.

use crate::sync::Mutex;
use serde_json::Value;
use std::collections::VecDeque;

/// Reports that wait for their loop, in order.
#[derive(Default)]
pub struct WaitingReports(Mutex<VecDeque<Value>>);

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
