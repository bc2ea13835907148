//! What the operator of a gateway needs: health, metrics, an audit log, and a way to stop without breaking calls.

mod audit;
mod audit_line;
mod audit_writer;
mod drain;
mod metrics;
mod refusals;

pub use audit::AuditLog;
pub use audit_line::{AuditEvent, AuditOutcome, AuditRecord, timestamp};
pub use drain::{Drain, DrainPlace, DrainReport};
pub use metrics::{Metrics, MetricsGauges, Operation};
