//! Busy polling: for a moment after a request came or was answered, the runtime looks for the next event instead of sleeping.
//!
//! A core that sleeps for the few microseconds until a local server answers, or the client sends its next request, wakes up
//! with cold caches; on virtual machines that doubled the time that the gateway adds to a call. Where nothing comes, the
//! moment is over and the thread sleeps: an idle gateway does not wake up. Other tasks are not delayed, because polling only
//! fills the time in which there are none. On a machine with one core nothing is polled: the server needs it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::yield_now;

/// A fast server on the same machine answers within this time.
const MOMENT: Duration = Duration::from_micros(100);

pub struct BusyPoll {
    since: Instant,
    /// When the moment is over, in nanoseconds since `since`.
    until: AtomicU64,
    is_polling: AtomicBool,
    begin: Notify,
    has_cores: bool,
}

impl Default for BusyPoll {
    fn default() -> Self {
        BusyPoll {
            since: Instant::now(),
            until: AtomicU64::new(0),
            is_polling: AtomicBool::new(false),
            begin: Notify::new(),
            has_cores: std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1),
        }
    }
}

impl BusyPoll {
    /// Something is likely to come soon.
    pub fn extend(&self) {
        if !self.has_cores {
            return;
        }
        self.until.store(self.nanoseconds(Instant::now() + MOMENT), Ordering::Relaxed);
        if !self.is_polling.load(Ordering::Relaxed) {
            self.begin.notify_one();
        }
    }

    /// Polls when it is asked to; never ends.
    pub async fn run(&self) {
        loop {
            self.begin.notified().await;
            self.is_polling.store(true, Ordering::Relaxed);
            while self.nanoseconds(Instant::now()) < self.until.load(Ordering::Relaxed) {
                // The runtime asks the system for events before it comes back.
                yield_now().await;
            }
            self.is_polling.store(false, Ordering::Relaxed);
        }
    }

    fn nanoseconds(&self, time: Instant) -> u64 {
        // Enough for 500 years.
        time.duration_since(self.since).as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[tokio::test]
    async fn polling_lets_others_run_and_ends() {
        let poll = Arc::new(BusyPoll { has_cores: true, ..BusyPoll::default() });
        let running = tokio::spawn({
            let poll = poll.clone();
            async move { poll.run().await }
        });
        for _ in 0..3 {
            poll.extend();
            tokio::spawn(async {}).await.unwrap();
            while poll.is_polling.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        assert!(!running.is_finished());
        running.abort();
    }
}
