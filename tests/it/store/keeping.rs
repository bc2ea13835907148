//! Everything that is stored is read back unchanged.

use super::*;
use proptest::prelude::*;
use std::time::{Instant, SystemTime};
use toolhub::error::ErrorKind;
use toolhub::model::Source;
use toolhub::stats::{BreakerPolicy, BreakerState, CandidateStats, StatsKey, StatsView};
use toolhub::store::{Definition, ListKey, PinChange, StoredList};

pub fn key(tool: &str) -> StatsKey {
    StatsKey { tool: Arc::from(tool), source: Source::Mcps, server: Some(Arc::from("s")), variant: 1 }
}

pub fn tracked(store: &Store, key: StatsKey) -> Arc<CandidateStats> {
    let stats = Arc::new(CandidateStats::default());
    store.stats.track(key, &stats);
    stats
}

pub fn record(stats: &CandidateStats, ended: Result<(), ErrorKind>) {
    stats.record(ended, Duration::from_millis(20), Instant::now(), &BreakerPolicy::default());
}

pub fn view(stats: &CandidateStats) -> StatsView {
    stats.view(Instant::now())
}

/// With the precision of the file, and the same for the whole test.
fn today() -> SystemTime {
    static NOW: std::sync::LazyLock<u64> =
        std::sync::LazyLock::new(|| SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs());
    SystemTime::UNIX_EPOCH + Duration::from_secs(*NOW)
}

pub fn list(tools: &str) -> StoredList {
    StoredList {
        era: "modern".into(),
        protocol: "2026-07-28".into(),
        version: Some("1.2".into()),
        listed_at: today(),
        ttl_ms: Some(60_000),
        tools: tools.into(),
    }
}

#[test]
fn numbers_come_back() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let stats = tracked(&store, key("search"));
    (0..3).for_each(|_| record(&stats, Ok(())));
    record(&stats, Err(ErrorKind::Timeout));
    let before = view(&stats);
    close(&store);

    let store = open(&folder.file());
    let after = view(&tracked(&store, key("search")));
    assert_eq!((after.calls, after.successes, after.failures.clone()), (4, 3, vec![(ErrorKind::Timeout, 1)]));
    assert!((after.success_rate - before.success_rate).abs() < 1e-9);
    assert_eq!(after.latency_p50_ms, before.latency_p50_ms);
    assert!((after.latency_ewma_ms.unwrap() - 20.0).abs() < 1e-9);
    let apart = after.last_success.unwrap().duration_since(before.last_success.unwrap());
    assert!(apart.is_err() || apart.is_ok_and(|apart| apart < Duration::from_millis(2)));
    assert_eq!(view(&tracked(&store, key("another"))).calls, 0);
    close(&store);
}

#[test]
fn a_breaker_rests_on_in_the_next_process() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let stats = tracked(&store, key("broken"));
    (0..5).for_each(|_| record(&stats, Err(ErrorKind::ToolError)));
    assert_eq!(view(&stats).breaker, BreakerState::Resting);
    close(&store);
    let store = open(&folder.file());
    let stats = tracked(&store, key("broken"));
    assert!(matches!(view(&stats).breaker, BreakerState::Resting | BreakerState::HalfOpen));
    assert!(stats.health(Instant::now()) > tracked(&store, key("other")).health(Instant::now()));
    close(&store);
}

#[test]
fn two_stores_of_one_file_add_up_and_see_each_other() {
    let folder = Folder::new();
    let (one, other) = (open(&folder.file()), open(&folder.file()));
    let (here, there) = (tracked(&one, key("t")), tracked(&other, key("t")));
    (0..10).for_each(|_| record(&here, Ok(())));
    (0..7).for_each(|_| record(&there, Err(ErrorKind::Rpc)));
    assert!(one.flush(PATIENCE) && other.flush(PATIENCE));
    assert_eq!(view(&there).calls, 17, "the second one to write sees what the first one wrote");
    assert_eq!(there.successes(), 0, "successes of this process are those of this process");
    record(&here, Ok(()));
    assert!(one.flush(PATIENCE));
    let seen = view(&here);
    assert_eq!((seen.calls, seen.successes, seen.failures), (18, 11, vec![(ErrorKind::Rpc, 7)]));
    close(&one);
    close(&other);
}

#[test]
fn lists_uses_results_and_pins_come_back() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let id = ListKey { server: Arc::from("files"), config: 7 };
    store.save_list(id.clone(), list("[1]"));
    assert_eq!(store.list(&id), Some(list("[1]")), "also while it waits to be written");
    let uses = vec![(vec![1, u64::MAX], Arc::from("read"))];
    store.save_uses(uses.clone());
    store.keep("r_1", "Straße 搜索".into());
    assert_eq!(store.result("r_1").as_deref(), Some("Straße 搜索"));
    let definition = |text: &str| Definition { hash: format!("h:{text}"), text: text.into() };
    for change in [PinChange::First(definition("a")), PinChange::First(definition("z"))] {
        store.change_pin(Arc::from("files"), Arc::from("read"), change);
    }
    store.change_pin(Arc::from("files"), Arc::from("read"), PinChange::Changed(definition("b")));
    close(&store);

    let store = open(&folder.file());
    assert_eq!(store.list(&id), Some(list("[1]")));
    assert_eq!(store.list(&ListKey { config: 8, ..id.clone() }), None, "another server under the same id");
    assert_eq!(store.take_uses(), uses);
    assert_eq!((store.result("r_1").as_deref(), store.result("r_2")), (Some("Straße 搜索"), None));
    let pin = store.pin("files", "read").unwrap();
    assert_eq!(
        (pin.accepted, pin.changed),
        (definition("a"), Some(definition("b"))),
        "who is first is right"
    );
    store.change_pin(Arc::from("files"), Arc::from("read"), PinChange::Accepted(definition("b")));
    // A process that has not seen the change reports the definition again.
    store.change_pin(Arc::from("files"), Arc::from("read"), PinChange::Changed(definition("b")));
    assert!(store.flush(PATIENCE));
    let pin = store.pin("files", "read").unwrap();
    assert_eq!((pin.accepted, pin.changed), (definition("b"), None));
    close(&store);
}

#[test]
fn an_older_list_does_not_replace_a_newer_one() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let id = ListKey { server: Arc::from("s"), config: 1 };
    store.save_list(id.clone(), list("[2]"));
    assert!(store.flush(PATIENCE));
    let older = StoredList { listed_at: today() - Duration::from_secs(9), ..list("[1]") };
    store.save_list(id.clone(), older);
    assert!(store.flush(PATIENCE));
    assert_eq!(store.list(&id), Some(list("[2]")));
    close(&store);
}

#[test]
fn results_make_room_and_large_ones_are_not_kept() {
    let folder = Folder::new();
    let (store, _) = Store::open(&folder.file(), 100);
    let store = store.unwrap();
    store.keep("huge", "x".repeat(101));
    for number in 0..10 {
        store.keep(&format!("r_{number}"), number.to_string().repeat(30));
        assert!(store.flush(PATIENCE));
    }
    let kept: Vec<bool> = (0..10).map(|number| store.result(&format!("r_{number}")).is_some()).collect();
    assert_eq!(kept, [false, false, false, false, false, false, false, true, true, true]);
    assert_eq!(store.result("huge"), None);
    close(&store);
    let (store, _) = Store::open(&folder.file(), 0);
    assert!(!store.unwrap().keeps_results());
}

#[test]
fn a_result_never_replaces_another_with_the_same_handle() {
    let folder = Folder::new();
    let (one, other) = (open(&folder.file()), open(&folder.file()));
    one.keep("r_1", "the first".into());
    assert!(one.flush(PATIENCE));
    other.keep("r_1", "the second".into());
    other.keep("r_2", "another".into());
    assert!(other.flush(PATIENCE));
    let notices = other.notices();
    assert!(notices.len() == 1 && notices[0].contains("'r_1'"), "{notices:?}");
    assert_eq!(one.result("r_1").as_deref(), Some("the first"));
    one.keep("r_2", "another".into());
    close(&one);
    close(&other);
    assert_eq!(
        open(&folder.file()).result("r_2").as_deref(),
        Some("another"),
        "the same text twice is not a clash"
    );
}

#[cfg(unix)]
#[test]
fn the_file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.0.join("a new folder").join("hub.db");
    let store = open(&path);
    store.keep("r_1", "private".into());
    assert!(store.flush(PATIENCE));
    for entry in std::fs::read_dir(path.parent().unwrap()).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    close(&store);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Any text is read back unchanged, whatever the handle and the limit.
    #[test]
    fn any_text_comes_back(texts in prop::collection::vec(".{0,200}", 1..6), server in ".{1,20}") {
        let folder = Folder::new();
        let store = open(&folder.file());
        let id = ListKey { server: Arc::from(server), config: u32::MAX };
        for (number, text) in texts.iter().enumerate() {
            store.keep(&number.to_string(), text.clone());
        }
        store.save_list(id.clone(), list(&texts[0]));
        close(&store);
        let store = open(&folder.file());
        for (number, text) in texts.iter().enumerate() {
            prop_assert_eq!(store.result(&number.to_string()), Some(text.clone()));
        }
        prop_assert_eq!(store.list(&id), Some(list(&texts[0])));
        close(&store);
    }
}
