//! L1, the contract of a tool. It knows no registry, no runtime, no transport.

use crate::error::HubError;
use crate::model::{Arguments, ToolOutput, ToolSpec};
use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a call carries besides its arguments.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// When the caller stops waiting.
    pub deadline: Instant,
    /// Fires when the caller has gone or another candidate has won.
    pub cancel: CancellationToken,
}

/// Something an agent may call. `Any`, so that a driver can recognise the tools of its own world.
pub trait Tool: Any + Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Refuses arguments that do not fit, before anything starts.
    fn check(&self, args: &Arguments) -> Result<(), HubError>;

    /// Ends soon after `ctx.cancel` fires. Dropping the future alone must not be relied on.
    fn call<'a>(
        &'a self,
        args: &'a Arguments,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, HubError>>;
}
