//! What the operator of a gateway needs: health, metrics, an audit log, and a way to stop without breaking calls.

mod audit;
mod audit_writer;
mod held_bytes;
mod limits;
mod metrics;

pub use audit::{AuditEvent, AuditLog, AuditRecord, BEGUN, OK};
pub use held_bytes::{HeldBytes, HeldMessage, HeldTotal, NoRoom, SMALL};
pub use limits::{
    Admission, AdmissionPermit, ConnectionPermit, GatewayLimits, PermitKind, SHORT_PAUSE, TooMany, seconds,
};
pub use metrics::{Metrics, MetricsRow, OperationLabels};

use crate::GatewayOptions;
use crate::inspector::LiveTimeline;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What runs, how much may run, and how it ends.
pub struct Operation {
    pub admission: Admission,
    pub drain: Drain,
    /// The calls of tools that are running, also those that wait for an answer of their client between two requests.
    pub calls: Drain,
    pub metrics: Metrics,
    /// The last calls, for the inspector.
    pub live: Arc<LiveTimeline>,
    /// Fires when requests that are still running have to end.
    pub cancel_running: CancellationToken,
    /// Fires when requests that ignore this are answered without their tools.
    pub abandon: CancellationToken,
    /// Fires when the gateway is about to stop: long-lived streams end, and no connection is accepted.
    pub closing: CancellationToken,
}

impl Operation {
    pub fn new(options: &GatewayOptions) -> Self {
        Operation {
            admission: Admission::new(options.limits, options.give_back),
            drain: Drain::default(),
            calls: Drain::default(),
            metrics: Metrics::default(),
            live: Arc::default(),
            cancel_running: CancellationToken::new(),
            abandon: CancellationToken::new(),
            closing: CancellationToken::new(),
        }
    }
}

// Stopping without breaking calls: running requests end, new ones are refused.

/// Whether new requests are taken, and how many are running.
#[derive(Clone, Default)]
pub struct Drain {
    /// From then on new requests are refused.
    pub begun: CancellationToken,
    running: watch::Sender<usize>,
}

impl Drain {
    /// A place for a request; `None` while draining.
    pub fn enter(&self) -> Option<DrainPermit> {
        let permit = (!self.is_draining()).then(|| self.enter_beside());
        // Looked at again once it counts, so that no request slips in after the last look of `wait`.
        permit.filter(|_| !self.is_draining())
    }

    /// A further place for what belongs to a request that is running, also while draining.
    pub fn enter_beside(&self) -> DrainPermit {
        self.running.send_modify(|running| *running += 1);
        DrainPermit(self.running.clone())
    }

    pub fn is_draining(&self) -> bool {
        self.begun.is_cancelled()
    }

    pub fn running(&self) -> usize {
        *self.running.borrow()
    }

    /// Refuses new requests and waits until the running ones have ended, for at most `grace`.
    pub async fn wait(&self, grace: Duration) {
        self.begun.cancel();
        self.idle(grace).await;
    }

    /// Waits until nothing is running, for at most `limit`.
    pub async fn idle(&self, limit: Duration) {
        let mut running = self.running.subscribe();
        let _ = tokio::time::timeout(limit, running.wait_for(|running| *running == 0)).await;
    }
}

/// A running request; dropping it ends it.
pub struct DrainPermit(watch::Sender<usize>);

impl Drop for DrainPermit {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

#[cfg(test)]
mod drain_tests {
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
        waiting.await.unwrap();
        assert_eq!(drain.running(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_grace_ends_the_wait() {
        let drain = Drain::default();
        let _request = drain.enter().unwrap();
        drain.wait(Duration::from_secs(5)).await;
        assert_eq!(drain.running(), 1);
    }

    #[tokio::test]
    async fn nothing_running_is_drained_at_once() {
        let grace = Duration::from_secs(60);
        tokio::time::timeout(grace / 2, Drain::default().wait(grace)).await.unwrap();
    }
}
