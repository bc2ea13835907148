//! The switch between two ways across the bridge.
//!
//! The fast way leans on details of CPython that are not documented: the slot `am_send` filled after a class was made,
//! `_asyncio_future_blocking`, `_current_tasks`, `_must_cancel`, `_task_factory`, and `asyncio.tasks.Task` called directly.
//! `tests/python/bridge/test_internals.py` names the one that changes. The safe way, chosen by `TOOLHUB_SAFE_BRIDGE=1`,
//! uses documented interfaces only; it is slower.

use std::sync::atomic::{AtomicBool, Ordering};

static SAFE: AtomicBool = AtomicBool::new(false);

/// True when only documented interfaces may be used.
pub fn is_safe() -> bool {
    SAFE.load(Ordering::Relaxed)
}

pub fn set_safe(safe: bool) {
    SAFE.store(safe, Ordering::Relaxed);
}

/// What the environment asks for.
pub fn safe_is_wanted() -> bool {
    std::env::var_os("TOOLHUB_SAFE_BRIDGE").is_some_and(|value| value == "1")
}
