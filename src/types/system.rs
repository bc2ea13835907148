//! L0, what this room asks of the operating system: how much is left of a stack, and the end of the process, for tests.

use std::cell::Cell;
use std::panic::resume_unwind;

/// What deeply nested work must leave for the code that it calls.
pub const RESERVE: usize = 160 * 1024;

thread_local! {
    /// The addresses of this thread's stack; `None` before they are asked for, empty where the system does not say.
    static BOUNDS: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
}

/// The number of bytes left. Where the system does not say, or on a foreign stack, there is room.
pub fn remaining() -> usize {
    let marker = 0u8;
    let here = std::ptr::from_ref(&marker) as usize;
    let (lowest, end) = BOUNDS.get().unwrap_or_else(|| {
        let bounds = bounds();
        BOUNDS.set(Some(bounds));
        bounds
    });
    if (lowest..end).contains(&here) { here - lowest } else { usize::MAX }
}

/// Runs work that may need this many bytes, on a thread of its own if this one has less. `None` if none can be started.
pub fn with_room<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    if remaining() >= bytes {
        return Some(work());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("toolhub-stack".into()).stack_size(bytes);
        let thread = thread.spawn_scoped(scope, work).ok()?;
        Some(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

#[cfg(target_os = "linux")]
fn bounds() -> (usize, usize) {
    // SAFETY: the attributes are written by the first call, read by the second, and released by the third.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return (0, 0);
        }
        let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
        let found = libc::pthread_attr_getstack(&raw const attributes, &raw mut lowest, &raw mut size) == 0;
        libc::pthread_attr_destroy(&raw mut attributes);
        if found { (lowest as usize, lowest as usize + size) } else { (0, 0) }
    }
}

#[cfg(target_os = "macos")]
fn bounds() -> (usize, usize) {
    // SAFETY: both only read what the system knows about this thread.
    unsafe {
        let this = libc::pthread_self();
        let end = libc::pthread_get_stackaddr_np(this) as usize;
        (end - libc::pthread_get_stacksize_np(this), end)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn bounds() -> (usize, usize) {
    (0, 0)
}

/// A place at which a test may kill the process, as if by `kill -9`. It exists in debug builds only: `TOOLHUB_KILL_AT=7` kills the
/// process at the seventh place that it comes by, whatever its name is.
#[inline(always)]
pub fn kill_point() {
    #[cfg(all(debug_assertions, unix))]
    {
        use std::sync::OnceLock;
        use std::sync::atomic::{AtomicU64, Ordering};

        static AT: OnceLock<Option<u64>> = OnceLock::new();
        static PASSED: AtomicU64 = AtomicU64::new(0);
        let wanted = || std::env::var("TOOLHUB_KILL_AT").ok().and_then(|at| at.parse().ok());
        if AT.get_or_init(wanted).is_some_and(|at| PASSED.fetch_add(1, Ordering::Relaxed) + 1 == at) {
            // SAFETY: a plain system call; the process ends here.
            unsafe { libc::raise(libc::SIGKILL) };
        }
    }
}

#[cfg(test)]
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod tests {
    use super::*;

    #[test]
    fn a_small_stack_is_known_and_a_larger_one_is_given() {
        let small = std::thread::Builder::new().stack_size(256 * 1024).spawn(|| {
            let here = remaining();
            (here, with_room(4 << 20, remaining))
        });
        let (here, larger) = small.unwrap().join().unwrap();
        assert!(here < 512 * 1024, "{here}");
        assert!(larger.unwrap() > 3 << 20);
        assert!(remaining() > 256 * 1024);
    }
}
