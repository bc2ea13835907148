//! The registry: immutable snapshots, their order, and the capability index that follows them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::support::function_tool::FunctionTool;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use toolhub::error::ErrorKind;
use toolhub::model::{Source, ToolOutput, ToolSpec};
use toolhub::registry::{Candidate, Filter, ListedNames, Registry, Snapshot, nearest};
use toolhub::stats::{BreakerPolicy, CandidateStats};

mod model;
mod namesakes;

/// The same for all, so that tools of one name are one tool.
const DESCRIPTION: &str = "Does what it does.";

fn candidate_count(snapshot: &Snapshot) -> usize {
    snapshot.families().map(|(_, entry)| entry.candidates.len()).sum()
}

#[test]
fn many_at_once_are_as_many_one_by_one() {
    let entries =
        || ["a", "b", "a", "c"].into_iter().zip([Source::Tools, Source::Tools, Source::Mcps, Source::Tools]);
    let candidate = |registry: &Registry, (name, source): (&str, Source)| {
        let spec = ToolSpec { capabilities: vec![Arc::from("tag")], ..ToolSpec::named(name) };
        Candidate {
            id: registry.next_id(),
            source,
            server: None,
            priority: source.default_priority(),
            tool: Arc::new(FunctionTool::new(spec, |_, _| async { Ok(ToolOutput::new(1)) })),
            gate: None,
            stats: Arc::new(CandidateStats::default()),
            variant: 1,
            definition: Default::default(),
        }
    };
    let (one_by_one, at_once) = (Registry::default(), Registry::default());
    entries().for_each(|entry| drop(one_by_one.insert(candidate(&one_by_one, entry))));
    at_once.insert_all(entries().map(|entry| candidate(&at_once, entry)).collect());
    let shape = |registry: &Registry| {
        let snapshot = registry.snapshot();
        let names: Vec<_> =
            snapshot.entries().map(|(name, entry)| (name.clone(), entry.candidates.len())).collect();
        let listed: Vec<_> = ListedNames::default().changed(&snapshot).cloned().collect();
        (names, snapshot.with_tag("tag").count(), snapshot.version(), listed)
    };
    assert_eq!(shape(&one_by_one), shape(&at_once));
}

#[test]
fn reserved_numbers_keep_the_place_of_who_comes_late() {
    let registry = Registry::default();
    let mut early = registry.reserve_ids();
    let insert = |id: u64, name: &str, server: &str| {
        let mut spec = ToolSpec { capabilities: vec![Arc::from("tag")], ..ToolSpec::named(name) };
        spec.description = Arc::from(DESCRIPTION);
        registry.insert(Candidate {
            id,
            source: Source::Mcps,
            server: Some(Arc::from(server)),
            priority: 0,
            tool: Arc::new(FunctionTool::new(spec, |_, _| async { Ok(ToolOutput::new(1)) })),
            gate: None,
            stats: Arc::new(CandidateStats::default()),
            variant: 1,
            definition: Default::default(),
        });
    };
    insert(registry.next_id(), "own", "late");
    insert(registry.next_id(), "both", "late");
    insert(early.next().unwrap(), "both", "early");
    insert(early.next().unwrap(), "other", "early");
    assert_eq!(names(&registry.snapshot()), ["both", "other", "own"]);
    assert_eq!(labels(&registry, "both"), ["mcps:early", "mcps:late"]);
    assert_eq!(with_tag(&registry, "tag"), ["both", "other", "own", "both"]);
    assert_whole(&registry.snapshot());
    assert_eq!(registry.remove("both", Filter::default()), 2);
    assert_eq!(names(&registry.snapshot()), ["other", "own"]);
    assert_whole(&registry.snapshot());
}

/// A registration in words.
#[derive(Clone, Debug)]
struct Entry {
    name: String,
    source: Source,
    server: Option<String>,
    priority: i32,
    tags: Vec<String>,
    /// Tells registrations of the same key apart.
    version: String,
}

fn entry(name: &str) -> Entry {
    Entry {
        name: name.to_owned(),
        source: Source::Tools,
        server: None,
        priority: 0,
        tags: Vec::new(),
        version: "1".to_owned(),
    }
}

fn of_server(name: &str, server: &str) -> Entry {
    Entry { source: Source::Mcps, server: Some(server.to_owned()), priority: 2, ..entry(name) }
}

fn tagged(entry: Entry, tags: &[&str]) -> Entry {
    Entry { tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), ..entry }
}

fn register(registry: &Registry, entry: Entry) -> Arc<Candidate> {
    let mut spec = ToolSpec::named(entry.name);
    spec.description = Arc::from(DESCRIPTION);
    spec.capabilities = entry.tags.into_iter().map(Arc::from).collect();
    spec.version = Some(Arc::from(entry.version));
    let tool = FunctionTool::new(spec, |_, _| async { Ok(ToolOutput::new(1)) });
    registry.insert(Candidate {
        id: registry.next_id(),
        source: entry.source,
        server: entry.server.map(Arc::from),
        priority: entry.priority,
        tool: Arc::new(tool),
        gate: None,
        stats: Arc::new(CandidateStats::default()),
        variant: 1,
        definition: Default::default(),
    })
}

fn names(snapshot: &Snapshot) -> Vec<String> {
    snapshot.entries().map(|(name, _)| name.to_string()).collect()
}

/// The candidates of a name, in registration order.
fn labels(registry: &Registry, name: &str) -> Vec<String> {
    registry.snapshot().get(name).unwrap().candidates.iter().map(|c| c.label()).collect()
}

fn with_tag(registry: &Registry, tag: &str) -> Vec<String> {
    registry.snapshot().with_tag(tag).map(|c| c.spec().name.to_string()).collect()
}

/// All that can be read from a snapshot says the same.
fn assert_whole(snapshot: &Snapshot) {
    let entries: Vec<_> = snapshot.entries().collect();
    assert_eq!(entries.len(), snapshot.len());
    assert_eq!(snapshot.is_empty(), entries.is_empty());
    let candidates: Vec<_> = entries.iter().flat_map(|(_, entry)| &entry.candidates).collect();
    assert_eq!(candidates.len(), candidate_count(snapshot));
    let mut tags = std::collections::BTreeMap::<&str, usize>::new();
    for candidate in &candidates {
        for tag in &candidate.spec().capabilities {
            *tags.entry(tag).or_default() += 1;
            assert!(snapshot.with_tag(tag).any(|c| Arc::ptr_eq(c, candidate)));
        }
    }
    assert_eq!(snapshot.tags(), tags, "the index has no stale entries");
    for (name, entry) in entries {
        assert!(!entry.candidates.is_empty());
        assert!(entry.candidates.iter().all(|candidate| candidate.spec().name == *name));
    }
}

#[test]
fn a_snapshot_stays_as_it_was_while_registration_goes_on() {
    let registry = Registry::default();
    register(&registry, tagged(entry("a"), &["x"]));
    let before = registry.snapshot();
    register(&registry, tagged(entry("b"), &["x"]));
    register(&registry, Entry { version: "2".into(), ..entry("a") });
    registry.remove("b", Filter::default());
    registry.clear();
    assert_eq!((names(&before), candidate_count(&before)), (vec!["a".into()], 1));
    assert_eq!(before.with_tag("x").count(), 1);
    assert_eq!(before.get("a").unwrap().candidates[0].spec().version.as_deref(), Some("1"));
    assert_whole(&before);
}

#[test]
fn readers_see_only_whole_states_while_a_writer_is_at_work() {
    let registry = Registry::default();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut version = 0;
                while !over.load(Ordering::Acquire) {
                    let snapshot = registry.snapshot();
                    assert_whole(&snapshot);
                    assert!(snapshot.version() >= version, "time goes one way");
                    version = snapshot.version();
                }
            });
        }
        for round in 0..300 {
            let name = format!("n{}", round % 7);
            register(&registry, tagged(entry(&name), &["x", ["y", "z"][round % 2]]));
            register(&registry, tagged(of_server(&name, "s"), &["x"]));
            let only = if round % 3 == 0 { Some(Source::Mcps) } else { None };
            registry.remove(&format!("n{}", (round + 3) % 7), Filter { source: only, server: None });
        }
        over.store(true, Ordering::Release);
    });
    assert_whole(&registry.snapshot());
}

#[test]
fn writers_on_several_threads_lose_nothing() {
    let registry = Registry::default();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let registry = &registry;
            scope.spawn(move || {
                for n in 0..100 {
                    register(registry, tagged(entry(&format!("w{writer}_{n}")), &["x"]));
                    register(registry, of_server("shared", &format!("s{writer}_{n}")));
                }
            });
        }
    });
    let snapshot = registry.snapshot();
    assert_eq!((snapshot.len(), candidate_count(&snapshot), snapshot.version()), (401, 800, 800));
    assert_whole(&snapshot);
}

#[test]
fn the_version_increases_with_every_change_and_only_then() {
    let registry = Registry::default();
    let version = || registry.snapshot().version();
    assert_eq!(version(), 0);
    register(&registry, entry("a"));
    assert_eq!(version(), 1);
    register(&registry, entry("a"));
    assert_eq!(version(), 2, "a replacement is a change");
    assert_eq!(registry.remove("nobody", Filter::default()), 0);
    assert_eq!(registry.remove("a", Filter { source: Some(Source::Skills), server: None }), 0);
    assert_eq!(version(), 2, "nothing was removed");
    assert_eq!(registry.remove("a", Filter::default()), 1);
    assert_eq!(version(), 3);
    registry.clear();
    assert_eq!(version(), 4, "after a clear the version goes on, so that no cache is fooled");
}

#[test]
fn a_name_knows_when_it_last_changed() {
    let registry = Registry::default();
    register(&registry, entry("a"));
    register(&registry, entry("b"));
    let changed = |name| registry.snapshot().get(name).unwrap().changed_at;
    assert_eq!((changed("a"), changed("b")), (1, 2));
    register(&registry, of_server("a", "s"));
    assert_eq!((changed("a"), changed("b")), (3, 2));
    register(&registry, of_server("a", "s"));
    assert_eq!(changed("a"), 4, "also when it was replaced");
    registry.remove("a", Filter { source: Some(Source::Mcps), server: None });
    assert_eq!((changed("a"), changed("b"), registry.snapshot().version()), (5, 2, 5));
}

#[test]
fn a_replacement_keeps_the_statistics() {
    let registry = Registry::default();
    let old = register(&registry, entry("a"));
    let (now, policy) = (Instant::now(), BreakerPolicy::default());
    old.stats.record(Err(ErrorKind::Timeout), Duration::from_millis(5), now, &policy);
    let new = register(&registry, Entry { version: "2".into(), ..entry("a") });
    assert_eq!(new.stats.view(now).failures, [(ErrorKind::Timeout, 1)]);
    old.stats.record(Ok(()), Duration::from_millis(5), now, &policy);
    assert_eq!(new.stats.view(now).calls, 2, "also of calls that the old one still runs");
    let snapshot = registry.snapshot();
    assert_eq!(candidate_count(&snapshot), 1);
    assert_eq!(snapshot.get("a").unwrap().candidates[0].spec().version.as_deref(), Some("2"));
}

#[test]
fn another_source_or_server_is_another_candidate() {
    let registry = Registry::default();
    for entry in [entry("a"), Entry { source: Source::Skills, ..entry("a") }] {
        register(&registry, entry);
    }
    for server in ["s", "t"] {
        register(&registry, of_server("a", server));
    }
    assert_eq!(labels(&registry, "a"), ["tools", "skills", "mcps:s", "mcps:t"]);
}

#[test]
fn a_replacement_keeps_its_place_among_the_names() {
    let registry = Registry::default();
    for name in ["c", "a", "b"] {
        register(&registry, entry(name));
    }
    register(&registry, Entry { version: "2".into(), ..entry("a") });
    assert_eq!(names(&registry.snapshot()), ["c", "a", "b"]);
    registry.remove("a", Filter::default());
    register(&registry, entry("a"));
    assert_eq!(names(&registry.snapshot()), ["c", "b", "a"], "who was away comes back at the end");
}

#[test]
fn a_replacement_keeps_its_place_among_the_candidates_of_its_name_and_its_tag() {
    let registry = Registry::default();
    for server in ["a", "b", "c"] {
        register(&registry, tagged(of_server("t", server), &["x"]));
    }
    register(&registry, tagged(of_server("t", "a"), &["x"]));
    assert_eq!(labels(&registry, "t"), ["mcps:a", "mcps:b", "mcps:c"]);
    let snapshot = registry.snapshot();
    let servers: Vec<_> = snapshot.with_tag("x").map(|c| c.server.as_deref().unwrap()).collect();
    assert_eq!(servers, ["a", "b", "c"]);
}

#[test]
fn candidates_are_removed_by_source_or_server_and_the_last_one_takes_the_name_with_it() {
    let registry = Registry::default();
    register(&registry, entry("a"));
    for server in ["s", "t", "u"] {
        register(&registry, of_server("a", server));
    }
    let by = |source, server| Filter { source, server };
    assert_eq!(registry.remove("a", by(None, Some("t"))), 1);
    assert_eq!(labels(&registry, "a"), ["tools", "mcps:s", "mcps:u"]);
    assert_eq!(registry.remove("a", by(Some(Source::Tools), Some("s"))), 0, "both must fit");
    assert_eq!(registry.remove("a", by(Some(Source::Mcps), None)), 2);
    assert_eq!(labels(&registry, "a"), ["tools"]);
    assert_eq!(registry.remove("a", by(Some(Source::Tools), None)), 1);
    assert!(registry.snapshot().get("a").is_none());
    assert_whole(&registry.snapshot());
}

#[test]
fn a_name_keeps_its_place_when_its_first_candidate_goes() {
    let registry = Registry::default();
    register(&registry, entry("a"));
    register(&registry, entry("b"));
    register(&registry, of_server("a", "s"));
    registry.remove("a", Filter { source: Some(Source::Tools), server: None });
    assert_eq!(names(&registry.snapshot()), ["a", "b"]);
}

#[test]
fn the_capability_index_follows_every_change() {
    let registry = Registry::default();
    register(&registry, tagged(entry("a"), &["search", "web"]));
    register(&registry, tagged(of_server("b", "s"), &["search"]));
    assert_eq!(with_tag(&registry, "search"), ["a", "b"]);
    register(&registry, tagged(entry("a"), &["time"]));
    assert_eq!(with_tag(&registry, "search"), ["b"]);
    assert_eq!(with_tag(&registry, "time"), ["a"]);
    assert_eq!(registry.snapshot().tags().into_keys().collect::<Vec<_>>(), ["search", "time"]);
    registry.remove("b", Filter { source: None, server: Some("s") });
    assert_eq!(with_tag(&registry, "search"), Vec::<String>::new());
    registry.clear();
    assert!(registry.snapshot().tags().is_empty());
}

#[test]
fn inside_a_tag_priority_comes_before_registration() {
    let registry = Registry::default();
    register(&registry, tagged(of_server("late", "s"), &["x"]));
    register(&registry, tagged(entry("second"), &["x"]));
    register(&registry, tagged(entry("third"), &["x"]));
    register(&registry, tagged(Entry { priority: -1, ..entry("first") }, &["x"]));
    assert_eq!(with_tag(&registry, "x"), ["first", "second", "third", "late"]);
    register(&registry, tagged(Entry { priority: 9, ..entry("first") }, &["x"]));
    assert_eq!(with_tag(&registry, "x"), ["second", "third", "late", "first"]);
}

#[test]
fn a_tag_declared_twice_counts_once() {
    let registry = Registry::default();
    register(&registry, tagged(entry("a"), &["x", "x"]));
    assert_eq!(registry.snapshot().tags()["x"], 1);
    registry.remove("a", Filter::default());
    assert!(registry.snapshot().tags().is_empty());
}

#[test]
fn names_of_any_length_and_script_are_names() {
    let registry = Registry::default();
    let odd =
        ["x".repeat(10_000), "名".repeat(3_334), "搜索".into(), "é".into(), "e\u{301}".into(), " ".into()];
    for name in &odd {
        register(&registry, entry(name));
    }
    let snapshot = registry.snapshot();
    assert_eq!(names(&snapshot), odd, "é and e + accent are two names: nothing is folded");
    for name in &odd {
        assert_eq!(&*snapshot.get(name).unwrap().candidates[0].spec().name, name);
        assert_eq!(registry.remove(name, Filter::default()), 1);
    }
    assert!(registry.snapshot().is_empty());
}

#[test]
fn near_names_are_the_most_alike_first_and_not_more_than_asked_for() {
    let registry = Registry::default();
    for name in ["get_time", "search_web", "search_wed", "Search_Web", "calculate"] {
        register(&registry, entry(name));
    }
    let snapshot = registry.snapshot();
    let near =
        |wanted, limit| nearest(&snapshot, wanted, limit).iter().map(|n| n.to_string()).collect::<Vec<_>>();
    assert_eq!(near("search_web", 5), ["search_web", "Search_Web", "search_wed"]);
    assert_eq!(near("serach_web", 1).len(), 1);
    assert_eq!(near("", 5), Vec::<String>::new());
    let long = "z".repeat(100_000);
    assert_eq!(near(&long, 5), Vec::<String>::new());
    register(&registry, entry("search_wes"));
    assert_eq!(near("search_wes", 5)[0], "search_web", "a snapshot does not know who came later");
    assert_eq!(&*nearest(&registry.snapshot(), "search_wes", 1)[0], "search_wes");
}
