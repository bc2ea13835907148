//! The event loops on which the Python tools of a served hub run.

use super::loop_bridge::{LoopBridge, LoopMailbox};
use super::once::intern;
use parking_lot::Mutex;
use pyo3::ffi;
use pyo3::prelude::*;
use std::sync::Arc;

/// The loop of one program that serves, and the context in which it began to.
pub struct ServedLoop {
    mailbox: Arc<LoopMailbox>,
    context: Py<PyAny>,
}

impl ServedLoop {
    /// The loop behind `bridge`, with a copy of the current context.
    pub fn new(bridge: &Bound<'_, LoopBridge>) -> PyResult<Arc<Self>> {
        let py = bridge.py();
        // SAFETY: the GIL is held; the call gives a new reference or an error.
        let context = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyContext_CopyCurrent())?.unbind() };
        Ok(Arc::new(ServedLoop { mailbox: bridge.get().mailbox().clone(), context }))
    }

    pub fn mailbox(&self) -> &Arc<LoopMailbox> {
        &self.mailbox
    }

    /// A context for one call.
    pub fn context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.context.bind(py).call_method0(intern!(py, "copy"))
    }
}

tokio::task_local! {
    /// The loop of the program that waits for what runs here.
    static CALLERS_LOOP: Arc<ServedLoop>;
}

/// Runs a future for a program that waits for it on this loop: what it calls in Python runs there.
pub async fn for_caller<T>(place: Arc<ServedLoop>, future: impl Future<Output = T>) -> T {
    CALLERS_LOOP.scope(place, future).await
}

/// The loops of one hub: it may be served several times at once.
#[derive(Default)]
pub struct ServedLoops(Mutex<Vec<Arc<ServedLoop>>>);

impl ServedLoops {
    /// Calls from the core run on this loop, until the guard is dropped.
    pub fn open(self: &Arc<Self>, place: Arc<ServedLoop>) -> ServedLoopGuard {
        self.0.lock().push(place.clone());
        ServedLoopGuard { loops: self.clone(), place }
    }

    /// The loop for the next call: that of the program that waits for it, or else of the one that began to serve last.
    pub fn current(&self) -> Option<Arc<ServedLoop>> {
        CALLERS_LOOP.try_with(Arc::clone).ok().or_else(|| self.0.lock().last().cloned())
    }
}

/// As long as it lives, its loop takes calls.
pub struct ServedLoopGuard {
    loops: Arc<ServedLoops>,
    place: Arc<ServedLoop>,
}

impl Drop for ServedLoopGuard {
    fn drop(&mut self) {
        let mut loops = self.loops.0.lock();
        let at = loops.iter().position(|place| Arc::ptr_eq(place, &self.place));
        let removed = at.map(|at| loops.remove(at));
        drop(loops);
        drop(removed);
    }
}
