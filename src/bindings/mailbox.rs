//! How other threads talk to an event loop without taking the GIL: a queue and something that wakes the loop.
//!
//! The first message into an empty queue rings the bell; the loop drains the whole queue in one callback. The bell is
//! silenced *before* the queue is taken, so a message that arrives after the swap finds an empty queue and rings again.

use parking_lot::Mutex;
use pyo3::prelude::*;
use std::sync::Arc;

pub struct Mailbox<M> {
    queue: Mutex<Vec<M>>,
    bell: Bell,
}

impl<M> Mailbox<M> {
    pub fn new() -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Mailbox { queue: Mutex::new(Vec::new()), bell: Bell::new()? }))
    }

    pub fn push(&self, mail: M) {
        let was_empty = {
            let mut queue = self.queue.lock();
            queue.push(mail);
            queue.len() == 1
        };
        if was_empty {
            self.bell.ring();
        }
    }

    pub fn drain(&self) -> Vec<M> {
        self.bell.silence();
        std::mem::take(&mut *self.queue.lock())
    }

    /// Makes the event loop call `drain` whenever the bell rings.
    pub fn attach(&self, event_loop: &Bound<'_, PyAny>, drain: &Bound<'_, PyAny>) -> PyResult<()> {
        self.bell.attach(event_loop, drain)
    }
}

pub use bell::{Bell, wait_for};

/// Linux has eventfd, other Unixes a pipe: one descriptor to watch, one to write.
#[cfg(unix)]
mod bell {
    use pyo3::prelude::*;
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
    use std::time::Duration;

    pub struct Bell {
        watched: OwnedFd,
        #[cfg(not(target_os = "linux"))]
        written: OwnedFd,
    }

    impl Bell {
        #[cfg(target_os = "linux")]
        pub fn new() -> io::Result<Self> {
            // SAFETY: a plain system call; the descriptor is checked and owned from here on.
            let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the descriptor is new and has no other owner.
            Ok(Bell { watched: unsafe { OwnedFd::from_raw_fd(fd) } })
        }

        #[cfg(not(target_os = "linux"))]
        pub fn new() -> io::Result<Self> {
            let mut fds = [0; 2];
            // SAFETY: `fds` has room for the two descriptors that the call writes.
            if unsafe { libc::pipe(fds.as_mut_ptr()) } < 0 {
                return Err(io::Error::last_os_error());
            }
            for fd in fds {
                // SAFETY: both descriptors are open; the flags are valid for pipes.
                unsafe {
                    libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK);
                    libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
                }
            }
            // SAFETY: the descriptors are new and have no other owner.
            Ok(unsafe {
                Bell { watched: OwnedFd::from_raw_fd(fds[0]), written: OwnedFd::from_raw_fd(fds[1]) }
            })
        }

        fn write_end(&self) -> RawFd {
            #[cfg(target_os = "linux")]
            return self.watched.as_raw_fd();
            #[cfg(not(target_os = "linux"))]
            return self.written.as_raw_fd();
        }

        pub fn ring(&self) {
            let one = 1u64.to_ne_bytes();
            // SAFETY: 8 valid bytes; a full pipe or counter means that the bell is ringing already.
            unsafe { libc::write(self.write_end(), one.as_ptr().cast(), one.len()) };
        }

        pub fn silence(&self) {
            let mut buffer = [0u8; 64];
            // SAFETY: the buffer is ours and its length is given; the descriptor does not block.
            while unsafe { libc::read(self.watched.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) }
                == buffer.len() as isize
            {}
        }

        pub fn attach(&self, event_loop: &Bound<'_, PyAny>, drain: &Bound<'_, PyAny>) -> PyResult<()> {
            event_loop.call_method1("add_reader", (self.watched.as_raw_fd(), drain)).map(drop)
        }
    }

    /// Waits until the bell rings, a signal arrives or the time is up; true when it rang. A signal ends poll(2) at once.
    pub fn wait_for(bell: &Bell, at_most: Duration) -> bool {
        let mut watched = libc::pollfd { fd: bell.watched.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let ms = at_most.as_millis().clamp(1, 60_000) as libc::c_int;
        // SAFETY: one valid entry.
        unsafe { libc::poll(&mut watched, 1, ms) > 0 }
    }
}

/// Windows' default loop watches no descriptors: a notifier thread rings through `call_soon_threadsafe`. This path is
/// not exercised by our CI, which runs on Linux.
#[cfg(not(unix))]
mod bell {
    use parking_lot::{Condvar, Mutex};
    use pyo3::prelude::*;
    use std::io;
    use std::sync::Arc;
    use std::time::Duration;

    #[derive(Default)]
    struct Shared {
        ringing: Mutex<(bool, bool)>,
        rung: Condvar,
    }

    pub struct Bell(Arc<Shared>);

    impl Bell {
        pub fn new() -> io::Result<Self> {
            Ok(Bell(Arc::default()))
        }

        pub fn ring(&self) {
            self.0.ringing.lock().0 = true;
            self.0.rung.notify_all();
        }

        pub fn silence(&self) {
            self.0.ringing.lock().0 = false;
        }

        pub fn attach(&self, event_loop: &Bound<'_, PyAny>, drain: &Bound<'_, PyAny>) -> PyResult<()> {
            let (shared, call) = (self.0.clone(), event_loop.getattr("call_soon_threadsafe")?.unbind());
            let drain = drain.clone().unbind();
            crate::bindings::runtime::start_thread("toolhub-bell", move || {
                loop {
                    {
                        let mut state = shared.ringing.lock();
                        while !state.0 && !state.1 {
                            shared.rung.wait(&mut state);
                        }
                        if state.1 {
                            return;
                        }
                        state.0 = false;
                    }
                    // A closed loop refuses the callback, and has nothing left to wake.
                    if Python::attach(|py| call.call1(py, (&drain,)).is_err()) {
                        return;
                    }
                }
            })?;
            Ok(())
        }
    }

    impl Drop for Bell {
        fn drop(&mut self) {
            self.0.ringing.lock().1 = true;
            self.0.rung.notify_all();
        }
    }

    /// Short slices, so that Ctrl-C is seen soon.
    pub fn wait_for(bell: &Bell, at_most: Duration) -> bool {
        let mut state = bell.0.ringing.lock();
        if !state.0 {
            bell.0.rung.wait_for(&mut state, at_most.min(Duration::from_millis(50)));
        }
        state.0
    }
}
