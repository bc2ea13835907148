//! What the operator of a gateway needs: health, metrics, an audit log, and a way to stop without breaking calls.

mod audit;
mod drain;
mod metrics;

pub use audit::{AuditLog, AuditOutcome, AuditRecord};
pub use drain::{Drain, DrainPlace, DrainReport};
pub use metrics::{Metrics, MetricsGauges, Operation};
