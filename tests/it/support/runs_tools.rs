//! Calls without a plan: the candidates of a name, from start to end.

use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use toolhub::error::HubError;
use toolhub::hub::{AskedCall, Hub, RunReport};
use toolhub::model::{Arguments, CallOptions};
use toolhub::plan::CallTarget;
use toolhub::tool::CallContextExtras;

pub trait RunsTools {
    /// Runs the candidates of a name on tokio.
    fn execute(
        &self,
        name: &str,
        args: Arguments,
        options: &CallOptions,
        cancel: &CancellationToken,
    ) -> impl Future<Output = Result<RunReport, HubError>> + Send;
}

impl RunsTools for Hub {
    async fn execute(
        &self,
        name: &str,
        args: Arguments,
        options: &CallOptions,
        cancel: &CancellationToken,
    ) -> Result<RunReport, HubError> {
        let now = tokio::time::Instant::now().into_std();
        let mut plan = self.plan_by_name(&self.registry.snapshot(), name, options, now)?;
        self.record(&mut plan, None, || AskedCall::new(CallTarget::Name(name.into()), options.clone(), None));
        Ok(self.run_planned(*plan, Arc::new(args), &CallContextExtras::default(), cancel).await)
    }
}
