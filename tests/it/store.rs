//! The store: across restarts, with several processes, with damaged files and killed processes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use toolhub::store::Store;

mod bad_files;
mod hubs;
mod keeping;
mod moved;
mod processes;

const ROOM: u64 = 1_000_000;
/// Only a very busy machine needs this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder that is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("toolhub-store-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("hub.db")
    }

    /// The names of its files.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Opens a store without notices.
fn open(path: &Path) -> Arc<Store> {
    let (store, notices) = Store::open(path, ROOM);
    assert!(notices.is_empty(), "{notices:?}");
    store.unwrap()
}

fn close(store: &Store) {
    assert!(store.close(PATIENCE));
    assert_eq!(store.notices(), Vec::<String>::new());
}
