//! Forks. SQLite tracks its locks in process memory, and a child would inherit that memory and believe it holds locks
//! that it does not. So no thread is inside SQLite while the process forks, and no file is open: every use of a file
//! passes the gate, and a fork closes the gate, closes all files, and opens the gate again in both processes. Files are
//! reopened when they are next needed.

use crate::writer::StoreWriter;
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

static GATE: RwLock<()> = RwLock::new(());
/// All writers that may have a file open; used only behind the gate.
static WRITERS: Mutex<Vec<Weak<StoreWriter>>> = Mutex::new(Vec::new());
/// Set in a child if the gate could not be closed in time.
static UNCLEAN: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Set while this thread holds the gate for a fork.
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

/// How long a fork waits for a running transaction.
const PATIENCE: Duration = Duration::from_secs(2);

pub fn pass() -> RwLockReadGuard<'static, ()> {
    GATE.read()
}

/// Fails in a child that was forked while its parent was writing.
pub fn check_process() -> Result<(), String> {
    match UNCLEAN.load(Ordering::Acquire) {
        false => Ok(()),
        true => Err("this process was forked while its parent was writing to a store".to_owned()),
    }
}

pub fn register(writer: Weak<StoreWriter>) {
    let _gate = pass();
    let mut writers = WRITERS.lock();
    writers.retain(|one| one.strong_count() > 0);
    writers.push(writer);
}

pub fn all_writers() -> Vec<Arc<StoreWriter>> {
    let _gate = pass();
    WRITERS.lock().iter().filter_map(Weak::upgrade).collect()
}

/// Call before a fork, and one of the two `after` functions after it, in the same thread. False if a store is being
/// written: then [`before_writers_end`] waits for it.
pub fn before() -> bool {
    GATE.try_write().map(close).is_some()
}

pub fn before_writers_end() {
    GATE.try_write_for(PATIENCE).into_iter().for_each(close);
}

fn close(gate: RwLockWriteGuard<'static, ()>) {
    WRITERS.lock().iter().filter_map(Weak::upgrade).for_each(|writer| writer.close_file());
    std::mem::forget(gate);
    HOLDS.set(true);
}

pub fn after_in_parent() {
    if HOLDS.replace(false) {
        // SAFETY: `close` has forgotten its guard, so this thread holds the lock.
        unsafe { GATE.force_unlock_write() };
    }
}

/// The parent's stores stay with the parent; their threads do not exist here.
pub fn after_in_child() {
    if HOLDS.get() {
        std::mem::forget(std::mem::take(&mut *WRITERS.lock()));
        after_in_parent();
    } else {
        UNCLEAN.store(true, Ordering::Release);
    }
}
