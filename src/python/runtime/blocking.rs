//! The blocking twins: a thread hands a coroutine to the background loop and waits for its end.
//!
//! It waits in poll(2) with the GIL released, so Ctrl-C is seen at once, also inside a running event loop (Jupyter). The
//! first Ctrl-C cancels the call and waits until it has cleaned up; the second one returns at once. A wait for an answer of
//! the caller of a tool is cancelled as well when that caller has gone ([`super::giving_up`]).

use crate::drivers::awaiting::{
    Awaitable, Awaited, Step, cancelled_error, close, is_cancelled_error, new_awaitable, send, throw,
};
use crate::prelude::*;
use crate::runtime::call_scope::CallScope;
use crate::runtime::kept::current_context;
use crate::runtime::loop_bridge::{LoopAction, LoopBridge, Mail};
use crate::runtime::pool::ThreadedFunction;
use crate::runtime::waiting::{self, Wakeup};
use pyo3::exceptions::PyOSError;
use std::sync::atomic::{AtomicBool, Ordering};
use toolhub::giving_up::{EndableWait, GivenUp};
use toolhub::mailbox::Notifier;

/// What the waiting thread and the loop share.
pub struct BlockingCall {
    answer: Mutex<Option<PyResult<Py<PyAny>>>>,
    task: Mutex<Option<Py<PyAny>>>,
    /// What it waits for will not come.
    is_given_up: AtomicBool,
    wakeup: Wakeup,
}

impl BlockingCall {
    fn settle(&self, answer: PyResult<Py<PyAny>>) {
        *self.answer.lock() = Some(answer);
        // The task holds this object: a cycle that the garbage collector does not see.
        let task = self.task.lock().take();
        drop(task);
        self.wakeup.notify();
    }

    /// True once, after it was given up.
    fn takes_notice(&self) -> bool {
        self.is_given_up.swap(false, Ordering::AcqRel)
    }

    /// Cancels from the thread that waits. The loop takes what is in its own queue before anything that comes later, so
    /// nothing that is not under way yet starts; its mailbox would be read a turn too late for that.
    ///
    /// asyncio's part of this is Python code, so a second signal may be raised inside it. That error is the caller's, and
    /// the mailbox then carries the cancellation.
    fn cancel_from_here(self: &Arc<Self>, py: Python<'_>, bridge: &Bound<'_, LoopBridge>) -> PyResult<()> {
        let task = self.task.lock().as_ref().map(|task| task.clone_ref(py));
        let asked = task.map(|task| -> PyResult<()> {
            let cancel = task.bind(py).getattr(intern!(py, "cancel"))?;
            let event_loop = bridge.get().event_loop(py);
            event_loop.call_method1(intern!(py, "call_soon_threadsafe"), (cancel,)).map(drop)
        });
        if !matches!(asked, Some(Ok(()))) {
            let call = self.clone();
            let cancel: LoopAction = Box::new(move |bridge| {
                show_unraisable(call.cancel(bridge.py()), bridge.as_any());
            });
            bridge.get().mailbox.push(Mail::Run(cancel));
        }
        asked.unwrap_or(Ok(()))
    }

    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        let task = self.task.lock().take();
        task.map_or(Ok(()), |task| task.call_method0(py, intern!(py, "cancel")).map(drop))
    }
}

impl EndableWait for BlockingCall {
    /// Wakes the waiting thread, which cancels the call.
    fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Release);
        self.wakeup.notify();
    }
}

/// On the background loop: creates the task in the context of the thread that waits. A loop that refuses ends the call.
fn start(bridge: &Bound<'_, LoopBridge>, root: Py<BlockingRoot>, context: Py<PyAny>) {
    let py = bridge.py();
    let root = root.into_bound(py);
    let call = root.get().call.clone();
    match bridge.get().create_task_in(py, root.into_any(), context) {
        Ok(task) => {
            // A task that started eagerly may be over already.
            if call.answer.lock().is_none() {
                *call.task.lock() = Some(task.unbind());
            }
        }
        Err(error) => call.settle(Err(error)),
    }
}

/// The outermost awaitable of a blocking call: drives the coroutine, then rings the waiting thread.
#[pyclass(frozen, extends = Awaitable, module = "toolhub._core")]
pub struct BlockingRoot {
    coroutine: Py<PyAny>,
    call: Arc<BlockingCall>,
}

impl BlockingRoot {
    fn pass_on(&self, py: Python<'_>, stepped: PyResult<Step>) -> PyResult<Step> {
        match stepped {
            Ok(Step::Yield(value)) => Ok(Step::Yield(value)),
            Ok(Step::Return(value)) => {
                self.call.settle(Ok(value));
                Ok(Step::Return(py.None()))
            }
            Err(error) => {
                let cancelled = is_cancelled_error(py, &error);
                self.call.settle(Err(error.clone_ref(py)));
                // The error is the waiting thread's; only a cancellation is also the task's own end.
                if cancelled { Err(error) } else { Ok(Step::Return(py.None())) }
            }
        }
    }
}

impl Awaited for BlockingRoot {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step> {
        let py = slf.py();
        let stepped = send(slf.get().coroutine.bind(py));
        slf.get().pass_on(py, stepped)
    }

    fn throw(slf: &Bound<'_, Self>, error: PyErr) -> PyResult<Step> {
        let (py, this) = (slf.py(), slf.get());
        this.pass_on(py, throw(this.coroutine.bind(py), error))
    }

    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        close(slf.get().coroutine.bind(slf.py()))
    }
}

#[pymethods]
impl BlockingRoot {
    /// asyncio shows these in a task's repr and stack.
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        self.coroutine.getattr(py, name)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.coroutine)
    }
}

/// Runs a coroutine on the loop behind `bridge` and blocks this thread until it ends. If it waits for the caller of a tool, it
/// is cancelled when the call of `scope` has ended, or when the caller of `function` has given up.
#[pyfunction]
#[pyo3(signature = (bridge, coroutine, scope=None, function=None))]
pub fn run_blocking(
    py: Python<'_>,
    bridge: &Bound<'_, LoopBridge>,
    coroutine: Bound<'_, PyAny>,
    scope: Option<&Bound<'_, CallScope>>,
    function: Option<&Bound<'_, ThreadedFunction>>,
) -> PyResult<Py<PyAny>> {
    let wakeup =
        Wakeup::new().map_err(|error| PyOSError::new_err(format!("toolhub could not wait: {error}")))?;
    let (answer, task) = (Mutex::new(None), Mutex::new(None));
    let call = Arc::new(BlockingCall { answer, task, is_given_up: AtomicBool::new(false), wakeup });
    let ends: [Option<&GivenUp>; 2] =
        [scope.map(|scope| &*scope.get().given_up), function.map(|function| &function.get().0.given_up)];
    // A caller that has cancelled the call waits for nothing, although its tool may still be running.
    let is_cancelled = scope.is_some_and(|scope| scope.get().is_cancelled());
    if is_cancelled || !ends.into_iter().flatten().all(|end| end.add(&call)) {
        close(&coroutine)?;
        return Err(cancelled_error(py)?);
    }
    let root = BlockingRoot { coroutine: coroutine.unbind(), call: call.clone() };
    let root = new_awaitable(py, root)?.unbind();
    let context = current_context(py)?.unbind();
    let mailbox = bridge.get().mailbox.clone();
    mailbox.push(Mail::Run(Box::new(move |bridge| start(bridge, root, context))));
    let woken = |py: Python<'_>| match call.takes_notice() {
        true => call.cancel_from_here(py, bridge),
        false => Ok(()),
    };
    waiting::wait_until(
        py,
        &call.wakeup,
        || call.answer.lock().take(),
        woken,
        |py| call.cancel_from_here(py, bridge),
    )
}
