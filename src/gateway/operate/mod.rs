//! What the operator of a gateway needs: health, metrics, an audit log, and a way to stop without breaking calls.

mod audit;
mod audit_writer;
mod drain;
mod held_bytes;
mod limits;
mod metrics;

pub use audit::{AuditEvent, AuditLog, AuditRecord, BEGUN, OK};
pub use drain::{Drain, DrainPermit};
pub use held_bytes::{HeldBytes, HeldMessage, HeldTotal, NoRoom, SMALL};
pub use limits::{
    Admission, AdmissionPermit, ConnectionPermit, GatewayLimits, PermitKind, SHORT_PAUSE, TooMany,
};
pub use metrics::{Metrics, MetricsRow, OperationLabels};

use crate::GatewayOptions;
use crate::inspector::LiveTimeline;
use std::sync::Arc;
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
