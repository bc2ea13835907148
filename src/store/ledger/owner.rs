//! Who writes rows: a hub that is open. Its file beside the store is locked as long as the process lives, however it ends,
//! so other processes know whose rows are left behind. A number of a process would be reused, and is not the same in
//! another container.

use crate::file::beside;
use crate::time::now;
use std::fs::{File, OpenOptions, TryLockError, remove_file};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

/// The owner of rows; its lock is released by the system when the process ends.
pub struct OwnerLock {
    pub id: String,
    lock_file: Option<(PathBuf, ManuallyDrop<File>)>,
    /// A forked child has a copy, and must not release what is its parent's.
    process: u32,
}

impl OwnerLock {
    /// An owner for a file. Fails where its file cannot be written.
    pub fn new(store: &Path) -> std::io::Result<Self> {
        let id = new_id();
        let path = lock_path(store, &id);
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        file.try_lock().map_err(std::io::Error::from)?;
        fork_locks::note(&file);
        Ok(OwnerLock { id, lock_file: Some((path, ManuallyDrop::new(file))), process: std::process::id() })
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        if let Some((path, file)) = self.lock_file.take().filter(|_| self.process == std::process::id()) {
            let _ = remove_file(path);
            fork_locks::forget(&file);
            drop(ManuallyDrop::into_inner(file));
        }
    }
}

/// A lock lasts as long as a copy of its descriptor: a child that outlives its parent would keep the parent alive.
pub mod fork_locks {
    use parking_lot::Mutex;
    use std::fs::File;

    static LOCKS: Mutex<Vec<i32>> = Mutex::new(Vec::new());

    #[cfg(unix)]
    fn number(file: &File) -> i32 {
        std::os::fd::AsRawFd::as_raw_fd(file)
    }

    #[cfg(not(unix))]
    fn number(_: &File) -> i32 {
        -1
    }

    pub fn note(file: &File) {
        LOCKS.lock().push(number(file));
    }

    pub fn forget(file: &File) {
        LOCKS.lock().retain(|one| *one != number(file));
    }

    /// In a forked child: closes its copies of the locks, which stay with the parent.
    pub fn close_in_child() {
        // Another thread of the parent may have held the lock of the list; then the copies stay open.
        let Some(mut locks) = LOCKS.try_lock() else { return };
        for _number in locks.drain(..) {
            // SAFETY: a descriptor that `note` was given, whose owner in this child never uses or closes it.
            #[cfg(unix)]
            unsafe {
                libc::close(_number);
            }
        }
    }
}

/// Whether the owner of a row still lives. The file of one that does not is removed.
pub fn is_alive(store: &Path, id: &str) -> bool {
    let path = lock_path(store, id);
    let Ok(file) = OpenOptions::new().write(true).open(&path) else { return path.exists() };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => true,
        // Where files cannot be locked, nothing is known: a row stays as it is until somebody decides about it.
        Err(TryLockError::Error(_)) => true,
        Ok(()) => {
            let _ = remove_file(&path);
            false
        }
    }
}

fn lock_path(store: &Path, id: &str) -> PathBuf {
    beside(store, &format!(".owner-{id}"))
}

/// Random, because several processes make ids for one file.
pub fn new_id() -> String {
    format!("{:016x}", random())
}

/// An id of a row or a call: later ones sort after earlier ones. So rows are added at the end of their table and its indexes;
/// at random places each would change pages of its own, which all have to be written.
pub fn new_row_id() -> String {
    format!("{:014x}{:010x}", now(), random() >> 24)
}

fn random() -> u64 {
    use ring::rand::{SecureRandom, SystemRandom};
    let mut bytes = [0_u8; 8];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => u64::from_le_bytes(bytes),
        Err(_) => fastrand::u64(..),
    }
}
