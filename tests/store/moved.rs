//! Files that are removed, renamed or copied while they are in use: nothing is lost, and it is told.

use super::keeping::{key, list, record, tracked, view};
use super::*;
use std::fs;
use toolhub::stats::CandidateStats;
use toolhub::store::{Definition, ListKey, PinChange, Use};

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

/// The one sentence about a file that was moved.
fn told_of_moving(store: &Store) {
    let notices = store.notices();
    assert!(notices.len() == 1 && notices[0].contains("removed or replaced"), "{notices:?}");
}

#[test]
fn all_that_a_removed_file_had_is_in_the_new_one() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let stats = tracked(&store, key("t"));
    call(&stats, 10);
    let id = ListKey { server: Arc::from("files"), config: 7 };
    let definition = Definition { hash: "h".into(), text: "{}".into() };
    let uses = vec![Use { words: vec![1, 2], tool: Arc::from("read") }];
    store.save_list(id.clone(), list("[1]"));
    store.change_pin(Arc::from("files"), Arc::from("read"), PinChange::First(definition.clone()));
    store.save_uses(uses.clone());
    store.keep("old", "text".into());
    assert!(store.flush(PATIENCE));
    remove_all(&folder);
    call(&stats, 1);
    store.keep("new", "text".into());
    assert!(store.flush(PATIENCE));
    told_of_moving(&store);
    assert_eq!(view(&stats).calls, 11);
    close(&store);

    let store = open(&folder.file());
    assert_eq!(view(&tracked(&store, key("t"))).calls, 11);
    assert_eq!(store.list(&id), Some(list("[1]")));
    assert_eq!(store.pin("files", "read").unwrap().accepted, definition);
    assert_eq!(store.take_uses(), uses);
    assert_eq!((store.kept("old").as_deref(), store.kept("new").as_deref()), (Some("text"), Some("text")));
    close(&store);
}

#[test]
fn a_removed_file_is_missed_without_anything_new() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let stats = tracked(&store, key("t"));
    call(&stats, 3);
    for flushed in [true, false] {
        assert!(store.flush(PATIENCE));
        remove_all(&folder);
        assert!(if flushed { store.flush(PATIENCE) } else { store.close(PATIENCE) });
        told_of_moving(&store);
        assert!(folder.file().exists());
    }
    assert_eq!(calls(&folder.file()), 3);
}

#[test]
fn a_folder_that_is_gone_is_not_made_again_at_the_end() {
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
    assert!(store.flush(PATIENCE));
    told_of_moving(&store);
    close(&store);
    assert_eq!((calls(&backup), calls(&folder.file())), (10, 12));
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
fn two_stores_of_a_removed_file_find_together_again() {
    let folder = Folder::new();
    let (one, other) = (open(&folder.file()), open(&folder.file()));
    let (here, there) = (tracked(&one, key("t")), tracked(&other, key("t")));
    call(&here, 10);
    call(&there, 5);
    assert!(one.flush(PATIENCE) && other.flush(PATIENCE));
    remove_all(&folder);
    call(&here, 2);
    call(&there, 1);
    assert!(one.flush(PATIENCE) && other.flush(PATIENCE));
    assert_eq!(view(&there).calls, 18, "what each of them knew, and what each has learnt since");
    told_of_moving(&one);
    told_of_moving(&other);
    close(&one);
    close(&other);
    assert_eq!(calls(&folder.file()), 18);
}

#[test]
fn numbers_outlive_a_file_that_is_damaged_in_use() {
    let folder = Folder::new();
    let (store, other) = (open(&folder.file()), open(&folder.file()));
    let stats = tracked(&store, key("t"));
    call(&stats, 10);
    assert!(store.flush(PATIENCE));
    // After the writing of another one, SQLite reads the file again.
    other.keep("r_1", "text".into());
    close(&other);
    let bytes = fs::metadata(folder.file()).unwrap().len() as usize;
    fs::write(folder.file(), vec![0xa5; bytes]).unwrap();
    call(&stats, 1);
    assert!(store.flush(PATIENCE));
    let notices = store.notices();
    assert!(notices.len() == 1 && notices[0].contains("hub.db.corrupt-"), "{notices:?}");
    assert_eq!(view(&stats).calls, 11);
    close(&store);
    assert_eq!(calls(&folder.file()), 11);
}
