//! What wakes an event loop, or a thread that waits, from any other thread and without the GIL; and the threads that wait: for a
//! Rust future without an event loop ([`wait`]), or for a coroutine that runs on the background loop ([`run_blocking`]).
//!
//! They wait in poll(2) with the GIL released, so Ctrl-C is seen at once, also inside a running event loop (Jupyter). The first
//! Ctrl-C drops the future or cancels the coroutine, and waits until it has cleaned up; the second one returns at once. A wait
//! for an answer of the caller of a tool is cancelled as well when that caller has gone ([`toolhub::wait_cancel`]).

use crate::drivers::awaiting::{
    Awaitable, Awaited, Step, cancelled_error, close, is_cancelled_error, new_awaitable, send, throw,
};
use crate::prelude::*;
use crate::runtime;
use crate::runtime::call_scope::CallScope;
use crate::runtime::interpreter::current_context;
use crate::runtime::loop_bridge::{LoopAction, LoopBridge, Mail};
use crate::runtime::pool::{self, ThreadedFunction};
use futures_util::FutureExt;
use futures_util::future::abortable;
use pyo3::exceptions::PyOSError;
use std::future::Future;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::FromRawFd;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::task::{Context, Poll, Wake, Waker};
use tokio::sync::oneshot;
use toolhub::error::Result;
use toolhub::mailbox::Notifier;
use toolhub::wait_cancel::{CancelSignal, CancellableWait};

/// Linux has eventfd, other Unixes a pair of sockets: one descriptor to watch, one to write.
pub struct Wakeup {
    watched: OwnedFd,
    #[cfg(not(target_os = "linux"))]
    written: OwnedFd,
}

impl Wakeup {
    #[cfg(target_os = "linux")]
    pub fn new() -> io::Result<Self> {
        // SAFETY: a plain system call; the descriptor is checked and owned from here on.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and has no other owner.
        Ok(Wakeup { watched: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn new() -> io::Result<Self> {
        let (watched, written) = std::os::unix::net::UnixStream::pair()?;
        watched.set_nonblocking(true)?;
        written.set_nonblocking(true)?;
        Ok(Wakeup { watched: watched.into(), written: written.into() })
    }

    fn write_end(&self) -> RawFd {
        #[cfg(target_os = "linux")]
        return self.watched.as_raw_fd();
        #[cfg(not(target_os = "linux"))]
        return self.written.as_raw_fd();
    }

    pub fn attach(&self, event_loop: &Bound<'_, PyAny>, drain: &Bound<'_, PyAny>) -> PyResult<()> {
        event_loop.call_method1("add_reader", (self.watched.as_raw_fd(), drain)).map(drop)
    }
}

impl Notifier for Wakeup {
    fn notify(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: 8 valid bytes; a full socket or counter means that the wakeup is pending already.
        unsafe { libc::write(self.write_end(), one.as_ptr().cast(), one.len()) };
    }

    fn clear(&self) {
        let mut buffer = [0u8; 64];
        // SAFETY: the buffer is ours and its length is given; the descriptor does not block.
        while unsafe { libc::read(self.watched.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) }
            == buffer.len() as isize
        {}
    }
}

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        self.notify();
    }
}

/// Waits until the wakeup is notified, a signal arrives or the time is up; true when it was notified. A signal ends
/// poll(2) at once.
pub fn wait_for(wakeup: &Wakeup, at_most: Duration) -> bool {
    let mut watched = libc::pollfd { fd: wakeup.watched.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let ms = at_most.as_millis().clamp(1, 60_000) as libc::c_int;
    // SAFETY: one valid entry.
    unsafe { libc::poll(&mut watched, 1, ms) > 0 }
}

/// How long one wait lasts; a signal or the answer ends it earlier.
const SLICE: Duration = Duration::from_secs(1);

/// What wakes the thread.
pub fn wakeup() -> PyResult<Arc<Wakeup>> {
    let made = Wakeup::new().map(Arc::new);
    made.map_err(|error| PyOSError::new_err(format!("toolhub could not wait: {error}")))
}

/// Runs a future on the runtime and blocks this thread until it ends. `woken` is called each time that the wakeup was notified;
/// its error ends the wait, as Ctrl-C does.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    wakeup: Arc<Wakeup>,
    future: impl Future<Output = Result<T>> + Send + 'static,
    woken: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let (answered, mut answer) = oneshot::channel();
    let (future, running) = abortable(future);
    runtime::spawn(async move {
        if let Ok(answer) = future.await {
            drop(answered.send(answer));
        }
    })?;
    let waker = Waker::from(wakeup.clone());
    let answer = || match answer.poll_unpin(&mut Context::from_waker(&waker)) {
        Poll::Pending => None,
        Poll::Ready(Err(_)) => Some(Err(tool_error(py, &panicked()))),
        Poll::Ready(Ok(answer)) => Some(answer.map_err(|error| tool_error(py, &error))),
    };
    let cancel = |_: Python<'_>| {
        running.abort();
        Ok(())
    };
    wait_until(py, &wakeup, answer, woken, cancel)
}

/// Blocks this thread until there is an answer, which comes with a notification. `woken` is called each time that the wakeup
/// was notified; its error cancels, as the first Ctrl-C does. The second one returns at once.
pub fn wait_until<T>(
    py: Python<'_>,
    wakeup: &Wakeup,
    mut answer: impl FnMut() -> Option<PyResult<T>>,
    mut woken: impl FnMut(Python<'_>) -> PyResult<()>,
    mut cancel: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let _aside = pool::step_aside(py);
    let mut interrupted = None;
    // The first look says whom to wake.
    if let Some(answer) = answer() {
        return answer;
    }
    loop {
        let is_notified = runtime::detached(py, || wait_for(wakeup, SLICE));
        if is_notified {
            // Before the look, so that what comes after it is seen the next time.
            wakeup.clear();
        }
        if let Some(answer) = answer() {
            return interrupted.map_or(answer, Err);
        }
        let seen = if is_notified && interrupted.is_none() { woken(py) } else { Ok(()) };
        if let Err(interrupt) = seen.and_then(|()| py.check_signals()) {
            if interrupted.is_some() {
                return Err(interrupt);
            }
            cancel(py)?;
            interrupted = Some(interrupt);
        }
    }
}

fn panicked() -> HubError {
    HubError::new(ErrorKind::ToolError, "Internal error: toolhub panicked.")
}

/// What the waiting thread and the loop share.
pub struct BlockingCall {
    answer: Mutex<Option<PyResult<Py<PyAny>>>>,
    task: Mutex<Option<Py<PyAny>>>,
    wakeup: Arc<Wakeup>,
}

impl BlockingCall {
    fn settle(&self, answer: PyResult<Py<PyAny>>) {
        *self.answer.lock() = Some(answer);
        // The task holds this object: a cycle that the garbage collector does not see.
        let task = self.task.lock().take();
        drop(task);
        self.wakeup.notify();
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
                let (py, task) = (bridge.py(), call.task.lock().take());
                let asked = task.map(|task| task.call_method0(py, intern!(py, "cancel")));
                show_unraisable(asked.transpose(), bridge.as_any());
            });
            bridge.get().mailbox.push(Mail::Run(cancel));
        }
        asked.unwrap_or(Ok(()))
    }
}

impl CancellableWait for BlockingCall {
    /// Wakes the waiting thread, which cancels the call, because there is no answer yet.
    fn give_up(&self) {
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
    let call = Arc::new(BlockingCall { answer: Mutex::default(), task: Mutex::default(), wakeup: wakeup()? });
    let ends: [Option<&CancelSignal>; 2] =
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
    let cancel = |py: Python<'_>| call.cancel_from_here(py, bridge);
    wait_until(py, &call.wakeup, || call.answer.lock().take(), cancel, cancel)
}
