//! A future that is begun on the thread of its caller and goes on on the runtime.
//!
//! Most calls write a request at first and then wait for its answer. Begun in place they wake no thread of the runtime,
//! which costs more than the rest of the call; the first thing that wakes the future moves it there.
//!
//! ```text
//! start ─► Begun ─(first poll)─► Over
//!            │ └─► Waiting ─(woken)─► Moved ─► Over
//!            └─(woken meanwhile)─► Moved
//! ```

use super::runtime;
use crate::tool::BoxFuture;
use parking_lot::Mutex;
use pyo3::PyResult;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

pub struct InlineTask {
    runtime: Handle,
    stage: Mutex<InlineStage>,
}

enum InlineStage {
    /// Polled for the first time, by its caller.
    Begun {
        woken: bool,
    },
    Waiting(BoxFuture<'static, ()>),
    Moved(AbortHandle),
    Over,
}

impl InlineTask {
    /// Begins a future here. It must not block, as everywhere on a runtime.
    pub fn start(future: impl Future<Output = ()> + Send + 'static) -> PyResult<Arc<Self>> {
        let job = Self::new(InlineStage::Begun { woken: false })?;
        let mut future: BoxFuture<'static, ()> = Box::pin(future);
        let waker = Waker::from(job.clone());
        let polled = {
            let _inside = job.runtime.enter();
            catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut Context::from_waker(&waker))))
        };
        let mut stage = job.stage.lock();
        match (polled, &*stage) {
            (Ok(Poll::Pending), InlineStage::Begun { woken: true }) => {
                *stage = InlineStage::Moved(job.runtime.spawn(future).abort_handle());
            }
            (Ok(Poll::Pending), _) => *stage = InlineStage::Waiting(future),
            // A panic has been reported; what the future held is dropped here, as a task's would be.
            (Ok(Poll::Ready(())) | Err(_), _) => *stage = InlineStage::Over,
        }
        drop(stage);
        Ok(job)
    }

    /// Leaves a future to the runtime from the beginning: one whose first step is long.
    pub fn start_elsewhere(future: impl Future<Output = ()> + Send + 'static) -> PyResult<Arc<Self>> {
        let job = Self::new(InlineStage::Over)?;
        *job.stage.lock() = InlineStage::Moved(job.runtime.spawn(future).abort_handle());
        Ok(job)
    }

    fn new(stage: InlineStage) -> PyResult<Arc<Self>> {
        Ok(Arc::new(InlineTask { runtime: runtime::handle()?, stage: Mutex::new(stage) }))
    }

    /// Drops the future, wherever it is.
    pub fn abort(&self) {
        let stage = std::mem::replace(&mut *self.stage.lock(), InlineStage::Over);
        // What is dropped may have something to say to a server.
        let _inside = self.runtime.enter();
        match stage {
            InlineStage::Moved(task) => task.abort(),
            InlineStage::Waiting(future) => drop(future),
            InlineStage::Begun { .. } | InlineStage::Over => {}
        }
    }
}

impl Wake for InlineTask {
    fn wake(self: Arc<Self>) {
        let mut stage = self.stage.lock();
        match std::mem::replace(&mut *stage, InlineStage::Over) {
            InlineStage::Begun { .. } => *stage = InlineStage::Begun { woken: true },
            InlineStage::Waiting(future) => {
                *stage = InlineStage::Moved(self.runtime.spawn(future).abort_handle())
            }
            moved_or_over => *stage = moved_or_over,
        }
    }
}
