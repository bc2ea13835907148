//! L0, numbered places at which a test kills the process, as if by `kill -9`. They exist in debug builds only.
//!
//! `TOOLHUB_KILL_AT=7` kills the process at the seventh place that it comes by, whatever its name is.

/// A place at which a test may kill the process.
#[inline(always)]
pub fn kill_point() {
    #[cfg(all(debug_assertions, unix))]
    counted();
}

#[cfg(all(debug_assertions, unix))]
fn counted() {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static AT: OnceLock<Option<u64>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let wanted = AT.get_or_init(|| std::env::var("TOOLHUB_KILL_AT").ok().and_then(|at| at.parse().ok()));
    if let Some(at) = wanted
        && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == *at
    {
        // SAFETY: a plain system call; the process ends here.
        unsafe { libc::raise(libc::SIGKILL) };
    }
}
