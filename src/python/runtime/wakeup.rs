//! What wakes an event loop, or a thread that waits, from any other thread and without the GIL.

use pyo3::prelude::*;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::FromRawFd;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;
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
