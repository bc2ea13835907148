//! Forks. SQLite remembers for the whole process which locks it holds; a child that inherits that memory believes to hold
//! locks which it does not. So nobody is inside SQLite while a process forks, and no file is open: whoever works with one
//! passes the gate, and whoever forks closes it, closes all files, and opens it again in both processes. Files are opened
//! again when they are next needed.

use super::shared::Shared;
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

static GATE: RwLock<()> = RwLock::new(());
/// All that may have a file open; used only behind the gate.
static ALL: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());
/// In a child: the gate was not closed in time.
static UNCLEAN: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread has closed the gate, for the fork that it is about to make.
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

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

/// Before a process forks. It must be followed by one of the two below, in the same thread. False when somebody is writing:
/// then [`before_writers_end`] waits for them.
pub fn before() -> bool {
    GATE.try_write().map(close).is_some()
}

pub fn before_writers_end() {
    GATE.try_write_for(PATIENCE).into_iter().for_each(close);
}

fn close(gate: RwLockWriteGuard<'static, ()>) {
    ALL.lock().iter().filter_map(Weak::upgrade).for_each(|shared| shared.let_go());
    std::mem::forget(gate);
    HOLDS.set(true);
}

pub fn after_in_parent() {
    if HOLDS.replace(false) {
        // SAFETY: `before` has forgotten its guard.
        unsafe { GATE.force_unlock_write() };
    }
}

/// The parent's stores are the parent's; their threads do not exist here.
pub fn after_in_child() {
    if HOLDS.get() {
        std::mem::forget(std::mem::take(&mut *ALL.lock()));
        after_in_parent();
    } else {
        UNCLEAN.store(true, Ordering::Release);
    }
}
