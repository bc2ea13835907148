//! Futures of the core that a call waits for: begun on its own thread, continued on the runtime of the process.

use crate::runtime::{self, Lease};
use pyo3::PyResult;
use std::future::Future;
use std::sync::Arc;
use tokio::task::AbortHandle;
use toolhub::inline_task::{InlineTask, MovableFuture, TaskRuntime};

pub type CoreJob = InlineTask<Lease>;

impl TaskRuntime for Lease {
    type Running = AbortHandle;

    fn run(&self, future: MovableFuture) -> AbortHandle {
        self.spawn(future).abort_handle()
    }

    fn abort(running: AbortHandle) {
        running.abort();
    }

    fn inside<T>(&self, step: impl FnOnce() -> T) -> T {
        let _inside = self.enter();
        step()
    }
}

/// Begins a future here. It must not block, as everywhere on a runtime.
pub fn start(future: impl Future<Output = ()> + Send + 'static) -> PyResult<Arc<CoreJob>> {
    Ok(CoreJob::start(runtime::handle()?, Box::pin(future)))
}

/// Leaves a future to the runtime from the beginning: one whose first step is long.
pub fn start_elsewhere(future: impl Future<Output = ()> + Send + 'static) -> PyResult<Arc<CoreJob>> {
    Ok(CoreJob::start_elsewhere(runtime::handle()?, Box::pin(future)))
}
