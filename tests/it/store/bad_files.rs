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

/// The hub goes on in memory with one notice, and the file stays as it is, also for the next process.
fn is_refused(folder: &Folder, content: &[u8], says: &str) {
    fs::write(folder.file(), content).unwrap();
    for _ in 0..2 {
        let (store, notices) = Store::open(&folder.file(), ROOM);
        assert!(store.is_none());
        let is_told = |notice: &String| notice.contains(says) && notice.contains("stays in memory");
        assert!(notices.len() == 1 && notices.iter().all(is_told), "{notices:?}");
        assert_eq!(fs::read(folder.file()).unwrap(), content);
        assert!(folder.names().iter().all(|name| name.starts_with("hub.db")), "{:?}", folder.names());
    }
}

#[test]
fn a_damaged_file_is_left_as_it_is() {
    let folder = Folder::new();
    is_refused(
        &folder,
        b"SQLite format 3\0 was all that is left, but somebody may want it back",
        "it is not a database",
    );
    is_refused(&folder, b"notes of somebody", "it is not a database and was left unchanged");
}

#[test]
fn a_file_with_damaged_pages_costs_one_notice() {
    let folder = Folder::new();
    filled(&folder.file());
    let mut bytes = fs::read(folder.file()).unwrap();
    let end = bytes.len();
    bytes[4_096..end].fill(0xa5);
    fs::write(folder.file(), &bytes).unwrap();
    let (store, mut notices) = Store::open(&folder.file(), ROOM);
    if let Some(store) = store {
        store.keep("new", "text".into());
        assert!(!store.flush(PATIENCE), "the store continues in memory");
        assert_eq!(store.result("new").as_deref(), Some("text"));
        notices.extend(store.notices());
        store.close(PATIENCE);
    }
    assert!(notices.len() == 1 && notices[0].contains("it is damaged"), "{notices:?}");
}

#[test]
fn a_newer_file_is_left_as_it_is() {
    let folder = Folder::new();
    filled(&folder.file());
    let mut bytes = fs::read(folder.file()).unwrap();
    // The version of the tables in the header of an SQLite file.
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    is_refused(&folder, &bytes, "it was written by a later version");
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
    fn any_damage_ends_in_a_working_store_or_a_sentence(
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
            None => prop_assert!(notices.len() == 1 && notices[0].contains("stays in memory"), "{:?}", notices),
        }
    }
}
