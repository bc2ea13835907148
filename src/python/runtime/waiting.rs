//! What wakes an event loop, or a thread that waits, from any other thread and without the GIL; and the thread that waits for a
//! Rust future without an event loop.
//!
//! It waits in poll(2) with the GIL released, so Ctrl-C is seen at once. The first Ctrl-C drops the future and waits until it
//! is gone; the second one returns at once.

use crate::prelude::*;
use crate::runtime::{self, pool};
use futures_util::future::abortable;
use pyo3::exceptions::PyOSError;
use std::future::Future;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::FromRawFd;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::mpsc::{self, TryRecvError};
use toolhub::mailbox::Notifier;

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
    let made = Wakeup::new();
    made.map(Arc::new).map_err(|error| PyOSError::new_err(format!("toolhub could not wait: {error}")))
}

/// Wakes the thread when the future has ended or is gone.
struct WakeAtEnd(Arc<Wakeup>);

impl Drop for WakeAtEnd {
    fn drop(&mut self) {
        self.0.notify();
    }
}

/// Runs a future on the runtime and blocks this thread until it ends. `woken` is called each time that the wakeup was notified;
/// its error ends the wait, as Ctrl-C does.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    wakeup: Arc<Wakeup>,
    future: impl Future<Output = Result<T, HubError>> + Send + 'static,
    woken: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let (answered, answer) = mpsc::channel();
    let end = WakeAtEnd(wakeup.clone());
    let (future, running) = abortable(future);
    runtime::spawn(async move {
        if let Ok(answer) = future.await {
            let _ = answered.send(answer);
        }
        drop(answered);
        drop(end);
    })?;
    let answer = || match answer.try_recv() {
        Err(TryRecvError::Empty) => None,
        Err(TryRecvError::Disconnected) => Some(Err(tool_error(py, &panicked()))),
        Ok(answer) => Some(answer.map_err(|error| tool_error(py, &error))),
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
