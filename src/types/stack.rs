//! The stack of the current thread: how much of it is left, and a larger one for work that nests deeply.

use std::cell::Cell;
use std::ops::Range;
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
        let bounds = bounds().map_or((0, 0), |bounds| (bounds.start, bounds.end));
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
fn bounds() -> Option<Range<usize>> {
    // SAFETY: the attributes are written by the first call, read by the second, and released by the third.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
        let found = libc::pthread_attr_getstack(&raw const attributes, &raw mut lowest, &raw mut size) == 0;
        libc::pthread_attr_destroy(&raw mut attributes);
        found.then(|| lowest as usize..lowest as usize + size)
    }
}

#[cfg(target_os = "macos")]
fn bounds() -> Option<Range<usize>> {
    // SAFETY: both only read what the system knows about this thread.
    unsafe {
        let this = libc::pthread_self();
        let end = libc::pthread_get_stackaddr_np(this) as usize;
        Some(end - libc::pthread_get_stacksize_np(this)..end)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn bounds() -> Option<Range<usize>> {
    None
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
