//! Files that are damaged, too new, another program's or out of reach.

use super::*;
use proptest::prelude::*;
use std::fs;

/// A file with content.
fn filled(path: &Path) {
    let store = open(path);
    for number in 0..50 {
        store.keep(&format!("r_{number}"), format!("text {number} ").repeat(200));
    }
    close(&store);
}

/// Opens a bad file: there is one notice about it, and a new file that works.
fn starts_a_new_file(folder: &Folder, word: &str) -> String {
    let (store, notices) = Store::open(&folder.file(), ROOM);
    let store = store.unwrap();
    store.keep("new", "text".into());
    close(&store);
    assert_eq!(notices.len(), 1, "{notices:?}");
    let aside: Vec<String> =
        folder.names().into_iter().filter(|name| name.starts_with(&format!("hub.db.{word}-"))).collect();
    assert!(!aside.is_empty() && notices[0].contains(&aside[0]), "{notices:?} {aside:?}");
    assert_eq!(open(&folder.file()).result("new").as_deref(), Some("text"));
    aside[0].clone()
}

#[test]
fn a_damaged_file_is_quarantined_whole() {
    let folder = Folder::new();
    let content = "SQLite format 3\0 was all that is left, but somebody may want it back";
    fs::write(folder.file(), content).unwrap();
    let aside = starts_a_new_file(&folder, "corrupt");
    assert_eq!(fs::read_to_string(folder.0.join(aside)).unwrap(), content);
}

#[test]
fn a_file_that_never_was_a_store_keeps_its_name() {
    let folder = Folder::new();
    fs::write(folder.file(), "notes of somebody").unwrap();
    let (_, notices) = Store::open(&folder.file(), ROOM);
    assert!(notices[0].contains("it is not a database and was left unchanged"), "{notices:?}");
    assert_eq!(fs::read_to_string(folder.file()).unwrap(), "notes of somebody");
    // Beside it stands what a store has left: this was one.
    fs::write(folder.0.join("hub.db.id"), "").unwrap();
    starts_a_new_file(&folder, "corrupt");
}

#[test]
fn a_file_with_damaged_pages_is_quarantined() {
    let folder = Folder::new();
    filled(&folder.file());
    let mut bytes = fs::read(folder.file()).unwrap();
    let end = bytes.len();
    bytes[4_096..end].fill(0xa5);
    fs::write(folder.file(), &bytes).unwrap();
    let (store, mut notices) = Store::open(&folder.file(), ROOM);
    let store = store.unwrap();
    let found_at_once = !notices.is_empty();
    store.keep("new", "text".into());
    assert_eq!(store.flush(PATIENCE), found_at_once, "found later, the store continues in memory");
    notices.extend(store.notices());
    assert!(notices.len() == 1 && notices[0].contains("hub.db.corrupt-"), "{notices:?}");
    assert_eq!(store.result("new").as_deref(), Some("text"));
    store.close(PATIENCE);
    close(&open(&folder.file()));
}

#[test]
fn a_newer_file_is_quarantined() {
    let folder = Folder::new();
    filled(&folder.file());
    let mut bytes = fs::read(folder.file()).unwrap();
    // The version of the tables in the header of an SQLite file.
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    fs::write(folder.file(), &bytes).unwrap();
    let aside = starts_a_new_file(&folder, "newer");
    assert_eq!(fs::read(folder.0.join(aside)).unwrap(), bytes);
}

#[test]
fn the_database_of_another_program_is_not_touched() {
    let folder = Folder::new();
    filled(&folder.file());
    let mut bytes = fs::read(folder.file()).unwrap();
    bytes[68..72].copy_from_slice(&0x1234_5678u32.to_be_bytes());
    fs::write(folder.file(), &bytes).unwrap();
    let (store, notices) = Store::open(&folder.file(), ROOM);
    assert!(store.is_none());
    assert!(notices[0].contains("another program"), "{notices:?}");
    assert_eq!(fs::read(folder.file()).unwrap(), bytes);
}

#[test]
fn what_cannot_be_opened_leaves_the_hub_in_memory_with_one_warning() {
    let folder = Folder::new();
    fs::create_dir(folder.0.join("hub.db")).unwrap();
    for path in [folder.file(), PathBuf::from("/proc/toolhub/hub.db"), folder.0.join("\0")] {
        let (store, notices) = Store::open(&path, ROOM);
        assert!(store.is_none());
        assert_eq!(notices.len(), 1);
        assert!(notices[0].contains("stays in memory"), "{notices:?}");
    }
}

#[test]
fn a_file_that_is_replaced_by_a_folder_does_not_stop_the_hub() {
    let folder = Folder::new();
    let store = open(&folder.file());
    for name in folder.names() {
        fs::remove_file(folder.0.join(name)).unwrap();
    }
    fs::create_dir(folder.file()).unwrap();
    store.keep("r_1", "text".into());
    assert!(!store.flush(PATIENCE));
    let notices = store.notices();
    assert!(notices.len() == 1 && notices[0].contains("continues in memory"), "{notices:?}");
    assert_eq!(store.result("r_1").as_deref(), Some("text"));
    assert!(!store.flush(PATIENCE));
    assert_eq!(store.notices(), Vec::<String>::new(), "it is reported once");
    close(&store);
    assert!(folder.file().is_dir(), "it is left alone");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever happens to the bytes: no crash, and a store that takes new things and gives them back; if it cannot write
    /// them, it says so.
    #[test]
    fn any_damage_ends_in_a_working_store(
        cut in prop::option::of(0usize..40_000),
        holes in prop::collection::vec((0usize..40_000, 1usize..3_000, any::<u8>()), 0..4),
    ) {
        let folder = Folder::new();
        filled(&folder.file());
        let mut bytes = fs::read(folder.file()).unwrap();
        for (at, length, byte) in holes {
            let (at, end) = (at.min(bytes.len()), (at + length).min(bytes.len()));
            bytes[at..end].fill(byte);
        }
        bytes.truncate(cut.unwrap_or(usize::MAX));
        fs::write(folder.file(), &bytes).unwrap();
        let (store, notices) = Store::open(&folder.file(), ROOM);
        match store {
            Some(store) => {
                store.keep("new", "text".into());
                let written = store.flush(PATIENCE);
                prop_assert_eq!(store.result("new"), Some("text".to_owned()));
                store.close(PATIENCE);
                let lost = store.notices().iter().any(|notice| notice.contains("continues in memory"));
                prop_assert_eq!(written, !lost);
                let (next, _) = Store::open(&folder.file(), ROOM);
                prop_assert_eq!(next.and_then(|next| next.result("new")).is_some(), written);
            }
            // The application id is damaged: the file may belong to another program.
            None => prop_assert!(notices[0].contains("another program"), "{:?}", notices),
        }
    }
}
