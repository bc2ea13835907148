//! A future that is begun on the thread of its caller and goes on on a runtime.
//!
//! Most calls write a request at first and then wait for its answer. Begun in place they wake no thread of the runtime,
//! which costs more than the rest of the call; the first thing that wakes the future moves it there.
//!
//! ```text
//! start ─► Begun ─(first poll)─► Over
//!            │ └─► Waiting ─(woken)─► Moved ─► Over
//!            └─(woken meanwhile)─► Moved
//! ```
//!
//! `make loom` runs this file in every order of its steps, so it uses nothing but [`crate::sync`] and a trait for the runtime.

use crate::sync::Mutex;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
// A waker is made from the standard library's pointer.
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// A future that can move to another thread.
pub type MovableFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where a future goes on after its first step.
pub trait TaskRuntime: Send + Sync + 'static {
    /// A future that runs there; dropping this changes nothing.
    type Running: Send;

    fn run(&self, future: MovableFuture) -> Self::Running;
    fn abort(running: Self::Running);
    /// Runs a step of a future here, as if it were there.
    fn inside<T>(&self, step: impl FnOnce() -> T) -> T;
}

pub struct InlineTask<R: TaskRuntime> {
    runtime: R,
    stage: Mutex<InlineStage<R::Running>>,
}

enum InlineStage<T> {
    /// Polled for the first time, by its caller.
    Begun {
        woken: bool,
    },
    Waiting(MovableFuture),
    Moved(T),
    Over,
}

impl<R: TaskRuntime> InlineTask<R> {
    /// Begins a future here. It must not block, as everywhere on a runtime.
    pub fn start(runtime: R, mut future: MovableFuture) -> Arc<Self> {
        let task = Arc::new(InlineTask { runtime, stage: Mutex::new(InlineStage::Begun { woken: false }) });
        let waker = Waker::from(task.clone());
        let polled = task.runtime.inside(|| {
            catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut Context::from_waker(&waker))))
        });
        let mut stage = task.stage.lock();
        match (polled, &*stage) {
            (Ok(Poll::Pending), InlineStage::Begun { woken: true }) => {
                *stage = InlineStage::Moved(task.runtime.run(future));
            }
            (Ok(Poll::Pending), _) => *stage = InlineStage::Waiting(future),
            // A panic has been reported; what the future held is dropped here, as a task's would be.
            (Ok(Poll::Ready(())) | Err(_), _) => *stage = InlineStage::Over,
        }
        drop(stage);
        task
    }

    /// Leaves a future to the runtime from the beginning: one whose first step is long.
    pub fn start_elsewhere(runtime: R, future: MovableFuture) -> Arc<Self> {
        let stage = Mutex::new(InlineStage::Moved(runtime.run(future)));
        Arc::new(InlineTask { runtime, stage })
    }

    /// Drops the future, wherever it is.
    pub fn abort(&self) {
        let stage = std::mem::replace(&mut *self.stage.lock(), InlineStage::Over);
        // What is dropped may have something to say to a server.
        self.runtime.inside(|| match stage {
            InlineStage::Moved(running) => R::abort(running),
            InlineStage::Waiting(future) => drop(future),
            InlineStage::Begun { .. } | InlineStage::Over => {}
        });
    }
}

impl<R: TaskRuntime> Wake for InlineTask<R> {
    fn wake(self: Arc<Self>) {
        let mut stage = self.stage.lock();
        match std::mem::replace(&mut *stage, InlineStage::Over) {
            InlineStage::Begun { .. } => *stage = InlineStage::Begun { woken: true },
            InlineStage::Waiting(future) => *stage = InlineStage::Moved(self.runtime.run(future)),
            moved_or_over => *stage = moved_or_over,
        }
    }
}
