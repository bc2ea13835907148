//! Stopping without breaking calls: running requests end, new ones are refused.

use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use toolhub_types::sync::{Arc, Mutex};

#[derive(Default)]
struct DrainState {
    begun: CancellationToken,
    running: Mutex<usize>,
    idle: Notify,
}

/// Whether new requests are taken, and how many are running.
#[derive(Clone, Default)]
pub struct Drain(Arc<DrainState>);

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainReport {
    /// The requests that were running when the grace was over.
    pub left: usize,
}

impl Drain {
    /// A place for a request; `None` while draining.
    pub fn enter(&self) -> Option<DrainPermit> {
        let mut running = self.0.running.lock();
        // Read under the lock, so that no request slips in after the last look of `wait`.
        if self.is_draining() {
            return None;
        }
        *running += 1;
        Some(DrainPermit(self.0.clone()))
    }

    /// A further place for what belongs to a request that is running, also while draining.
    pub fn enter_beside(&self) -> DrainPermit {
        *self.0.running.lock() += 1;
        DrainPermit(self.0.clone())
    }

    pub fn is_draining(&self) -> bool {
        self.0.begun.is_cancelled()
    }

    pub fn running(&self) -> usize {
        *self.0.running.lock()
    }

    /// Refuses new requests from now on.
    pub fn begin(&self) {
        let running = self.0.running.lock();
        self.0.begun.cancel();
        drop(running);
    }

    /// Returns when draining has begun.
    pub async fn begun(&self) {
        self.0.begun.cancelled().await;
    }

    /// Refuses new requests and waits until the running ones have ended, for at most `grace`.
    pub async fn wait(&self, grace: Duration) -> DrainReport {
        self.begin();
        self.idle(grace).await
    }

    /// Waits until nothing is running, for at most `limit`.
    pub async fn idle(&self, limit: Duration) -> DrainReport {
        let ended = async {
            loop {
                let idle = self.0.idle.notified();
                let mut idle = std::pin::pin!(idle);
                // From before the look, so that the last end is not missed.
                idle.as_mut().enable();
                if self.running() == 0 {
                    return;
                }
                idle.await;
            }
        };
        let _ = tokio::time::timeout(limit, ended).await;
        DrainReport { left: self.running() }
    }
}

/// A running request; dropping it ends it.
pub struct DrainPermit(Arc<DrainState>);

impl Drop for DrainPermit {
    fn drop(&mut self) {
        let mut running = self.0.running.lock();
        *running = running.saturating_sub(1);
        if *running == 0 {
            self.0.idle.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn running_requests_end_and_new_ones_are_refused() {
        let drain = Drain::default();
        let request = drain.enter().unwrap();
        let waiting = tokio::spawn({
            let drain = drain.clone();
            async move { drain.wait(Duration::from_secs(10)).await }
        });
        while !drain.is_draining() {
            tokio::task::yield_now().await;
        }
        assert!(drain.enter().is_none());
        assert!(!waiting.is_finished());
        drop(request);
        assert_eq!(waiting.await.unwrap(), DrainReport { left: 0 });
    }

    #[tokio::test(start_paused = true)]
    async fn the_grace_ends_the_wait() {
        let drain = Drain::default();
        let _request = drain.enter().unwrap();
        assert_eq!(drain.wait(Duration::from_secs(5)).await, DrainReport { left: 1 });
    }

    #[tokio::test]
    async fn nothing_running_is_drained_at_once() {
        assert_eq!(Drain::default().wait(Duration::from_secs(60)).await, DrainReport { left: 0 });
    }
}
