//! One request on its way to its answer.

use super::caller::Caller;
use super::relay::Outlet;
use super::request_trace::RequestTrace;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use toolhub_types::tool::CancelReason;

/// One request on its way to its answer.
pub struct Exchange {
    pub caller: Arc<Caller>,
    /// Where progress and questions go.
    pub outlet: Outlet,
    /// Fires when the client has cancelled the request or is gone.
    pub cancel: CancellationToken,
    pub cancel_reason: CancelReason,
    pub trace: RequestTrace,
}
