//! Forks. SQLite remembers for the whole process which locks it holds; a child that inherits that memory believes to hold
//! locks which it does not. So nobody is inside SQLite while a process forks, and no file is open: whoever works with one
//! passes the gate, and whoever forks closes it, closes all files, and opens it again in both processes. Files are opened
//! again when they are next needed.

use super::shared::Shared;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

static GATE: RwLock<()> = RwLock::new(());
/// All that may have a file open; used only behind the gate.
static ALL: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());
/// Whether the gate was closed for the fork that is going on.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// In a child: the gate was not closed in time.
static UNCLEAN: AtomicBool = AtomicBool::new(false);

/// A fork does not wait longer for those who are writing.
const PATIENCE: Duration = Duration::from_secs(2);

pub fn pass() -> RwLockReadGuard<'static, ()> {
    GATE.read()
}

pub fn is_clean() -> bool {
    !UNCLEAN.load(Ordering::Acquire)
}

pub fn enter(shared: &Arc<Shared>) {
    let mut all = ALL.lock();
    all.retain(|one| one.strong_count() > 0);
    all.push(Arc::downgrade(shared));
}

pub fn everybody() -> Vec<Arc<Shared>> {
    let _gate = pass();
    ALL.lock().iter().filter_map(Weak::upgrade).collect()
}

/// Before a process forks. It must be followed by one of the two below, in the same thread.
pub fn before() {
    let Some(gate) = GATE.try_write_for(PATIENCE) else { return };
    ALL.lock().iter().filter_map(Weak::upgrade).for_each(|shared| shared.let_go());
    std::mem::forget(gate);
    CLOSED.store(true, Ordering::Release);
}

pub fn after_in_parent() {
    if CLOSED.swap(false, Ordering::AcqRel) {
        // SAFETY: `before` has forgotten its guard.
        unsafe { GATE.force_unlock_write() };
    }
}

/// The parent's stores are the parent's; their threads do not exist here.
pub fn after_in_child() {
    if CLOSED.load(Ordering::Acquire) {
        std::mem::forget(std::mem::take(&mut *ALL.lock()));
        after_in_parent();
    } else {
        UNCLEAN.store(true, Ordering::Release);
    }
}
