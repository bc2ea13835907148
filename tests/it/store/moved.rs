//! Files that are removed, renamed, replaced or damaged while they are in use: one warning, and the hub continues in memory.

use super::keeping::{key, list, record, tracked, view};
use super::*;
use std::fs;
use toolhub::stats::CandidateStats;
use toolhub::store::ListKey;

fn remove_all(folder: &Folder) {
    for name in folder.names() {
        fs::remove_file(folder.0.join(name)).unwrap();
    }
}

fn calls(path: &Path) -> u64 {
    let store = open(path);
    let calls = view(&tracked(&store, key("t"))).calls;
    close(&store);
    calls
}

fn call(stats: &CandidateStats, times: usize) {
    (0..times).for_each(|_| record(stats, Ok(())));
}

/// Nothing is written any more, and there is one warning about it.
fn goes_on_in_memory(store: &Store, why: &str) {
    assert!(!store.flush(PATIENCE));
    let notices = store.notices();
    assert!(notices.len() == 1 && notices[0].contains(why), "{notices:?}");
    assert!(notices[0].contains("continues in memory"), "{notices:?}");
    assert!(!store.flush(PATIENCE));
    assert_eq!(store.notices(), Vec::<String>::new(), "it is reported once");
}

const MOVED: &str = "was removed or replaced while it was in use";

#[test]
fn a_removed_file_costs_one_warning_and_nothing_in_memory() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let stats = tracked(&store, key("t"));
    call(&stats, 10);
    assert!(store.flush(PATIENCE));
    remove_all(&folder);
    call(&stats, 1);
    let id = ListKey { server: Arc::from("files"), config: 7 };
    store.save_list(id.clone(), list("[1]"));
    store.keep("new", "text".into());
    goes_on_in_memory(&store, MOVED);
    assert_eq!(view(&stats).calls, 11);
    assert_eq!(store.list(&id), Some(list("[1]")), "what could not be written is still there");
    assert_eq!(store.result("new").as_deref(), Some("text"));
    call(&stats, 1);
    assert_eq!(view(&stats).calls, 12);
    close(&store);
    assert!(!folder.file().exists());
    assert_eq!(calls(&folder.file()), 0, "the next process starts a new file");
}

#[test]
fn a_removed_file_is_noticed_without_anything_new() {
    let folder = Folder::new();
    for flushed in [true, false] {
        let store = open(&folder.file());
        call(&tracked(&store, key("t")), 3);
        assert!(store.flush(PATIENCE));
        remove_all(&folder);
        if flushed {
            goes_on_in_memory(&store, MOVED);
        } else {
            assert!(store.close(PATIENCE));
            let notices = store.notices();
            assert!(notices.len() == 1 && notices[0].contains(MOVED), "{notices:?}");
        }
    }
}

#[test]
fn a_deleted_folder_needs_no_warning_at_the_end() {
    let folder = Folder::new();
    let store = open(&folder.file());
    store.keep("old", "text".into());
    assert!(store.flush(PATIENCE));
    fs::remove_dir_all(&folder.0).unwrap();
    close(&store);
    assert!(!folder.0.exists());
}

#[test]
fn a_renamed_file_is_a_whole_backup() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let stats = tracked(&store, key("t"));
    call(&stats, 10);
    assert!(store.flush(PATIENCE));
    let backup = folder.0.join("hub.bak");
    fs::rename(folder.file(), &backup).unwrap();
    assert_eq!(calls(&backup), 10);
    call(&stats, 2);
    goes_on_in_memory(&store, MOVED);
    assert_eq!(view(&stats).calls, 12);
    close(&store);
    assert_eq!(calls(&backup), 10);
}

#[test]
fn a_copy_of_the_file_alone_is_whole() {
    let folder = Folder::new();
    let store = open(&folder.file());
    call(&tracked(&store, key("t")), 10);
    assert!(store.flush(PATIENCE));
    let copy = folder.0.join("copy.db");
    fs::copy(folder.file(), &copy).unwrap();
    assert_eq!(calls(&copy), 10);
    close(&store);
}

#[test]
fn a_file_replaced_by_another_is_left_alone() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let stats = tracked(&store, key("t"));
    call(&stats, 10);
    assert!(store.flush(PATIENCE));
    remove_all(&folder);
    let other = open(&folder.file());
    call(&tracked(&other, key("t")), 5);
    call(&stats, 2);
    goes_on_in_memory(&store, MOVED);
    assert!(other.flush(PATIENCE));
    close(&store);
    close(&other);
    assert_eq!((view(&stats).calls, calls(&folder.file())), (12, 5));
}

#[test]
fn a_file_that_is_damaged_in_use_is_left_as_it_is() {
    let folder = Folder::new();
    let (store, other) = (open(&folder.file()), open(&folder.file()));
    let stats = tracked(&store, key("t"));
    call(&stats, 10);
    assert!(store.flush(PATIENCE));
    // After another connection has written, SQLite reads the file again.
    other.keep("r_1", "text".into());
    close(&other);
    let bytes = fs::metadata(folder.file()).unwrap().len() as usize;
    fs::write(folder.file(), vec![0xa5; bytes]).unwrap();
    call(&stats, 1);
    goes_on_in_memory(&store, "cannot be used: it is ");
    assert_eq!(view(&stats).calls, 11);
    close(&store);
    assert!(Store::open(&folder.file(), ROOM).0.is_none(), "the next process leaves it alone too");
}

#[test]
fn a_locked_file_is_written_later() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let lock = rusqlite::Connection::open(folder.file()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.keep("r_1", "text".into());
    assert!(!store.flush(PATIENCE));
    let notices = store.notices();
    assert!(notices.len() == 1 && notices[0].contains("wait in memory"), "{notices:?}");
    assert_eq!(store.result("r_1").as_deref(), Some("text"));
    lock.execute_batch("ROLLBACK").unwrap();
    assert!(store.flush(PATIENCE), "the problem is over");
    close(&store);
    assert_eq!(open(&folder.file()).result("r_1").as_deref(), Some("text"));
}
