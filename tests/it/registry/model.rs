//! Any sequence of changes leaves the registry as a plain list would be.

use super::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

const NAMES: &[&str] = &["a", "b", "搜索", "A"];
const SERVERS: &[&str] = &["s", "t"];
const TAGS: &[&str] = &["x", "y", "z"];

#[derive(Clone, Debug)]
enum Change {
    Insert(Entry),
    Remove { name: &'static str, source: Option<Source>, server: Option<&'static str> },
    Clear,
}

/// The registry as a list: names in their order, each with its candidates in theirs.
#[derive(Default)]
struct Model {
    /// (place, registration)
    entries: Vec<(usize, Entry)>,
    names: Vec<String>,
    next_place: usize,
    version: u64,
}

impl Model {
    fn apply(&mut self, change: &Change) -> usize {
        match change {
            Change::Insert(new) => {
                let same = |old: &Entry| {
                    (&old.name, old.source, &old.server) == (&new.name, new.source, &new.server)
                };
                match self.entries.iter_mut().find(|(_, old)| same(old)) {
                    Some((_, old)) => *old = new.clone(),
                    None => self.entries.push((self.next_place, new.clone())),
                }
                if !self.names.contains(&new.name) {
                    self.names.push(new.name.clone());
                }
                self.next_place += 1;
                self.version += 1;
                0
            }
            Change::Remove { name, source, server } => {
                let before = self.entries.len();
                self.entries.retain(|(_, e)| {
                    e.name != *name
                        || source.is_some_and(|source| e.source != source)
                        || server.is_some_and(|server| e.server.as_deref() != Some(server))
                });
                let removed = before - self.entries.len();
                self.names.retain(|name| self.entries.iter().any(|(_, e)| e.name == *name));
                self.version += u64::from(removed > 0);
                removed
            }
            Change::Clear => {
                self.entries.clear();
                self.names.clear();
                self.version += 1;
                0
            }
        }
    }

    fn of_name(&self, name: &str) -> Vec<String> {
        self.entries.iter().filter(|(_, e)| e.name == name).map(|(_, e)| id(e)).collect()
    }

    fn with_tag(&self, tag: &str) -> Vec<String> {
        let mut tagged: Vec<_> =
            self.entries.iter().filter(|(_, e)| e.tags.iter().any(|t| t == tag)).collect();
        tagged.sort_by_key(|(place, e)| (e.priority, *place));
        tagged.into_iter().map(|(_, e)| id(e)).collect()
    }
}

fn id(e: &Entry) -> String {
    format!("{} {} {:?} {} {}", e.name, e.source, e.server, e.priority, e.version)
}

fn id_of(c: &Candidate) -> String {
    let version = c.spec().version.as_deref().unwrap();
    format!("{} {} {:?} {} {version}", c.spec().name, c.source, c.server, c.priority)
}

fn any_change() -> impl Strategy<Value = Change> {
    let tags = subsequence(TAGS.to_vec(), 0..=TAGS.len());
    let insert =
        (select(NAMES), select(Source::ALL.to_vec()), option::of(select(SERVERS)), -1i32..3, tags, 0u32..100)
            .prop_map(|(name, source, server, priority, tags, version)| {
                let entry = Entry {
                    source,
                    server: server.map(str::to_owned),
                    priority,
                    version: version.to_string(),
                    ..entry(name)
                };
                Change::Insert(tagged(entry, &tags))
            });
    let remove = (select(NAMES), option::of(select(Source::ALL.to_vec())), option::of(select(SERVERS)))
        .prop_map(|(name, source, server)| Change::Remove { name, source, server });
    prop_oneof![12 => insert, 6 => remove, 1 => Just(Change::Clear)]
}

fn apply(registry: &Registry, change: &Change) -> usize {
    match change {
        Change::Insert(entry) => {
            register(registry, entry.clone());
            0
        }
        Change::Remove { name, source, server } => {
            registry.remove(name, Filter { source: *source, server: *server })
        }
        Change::Clear => {
            registry.clear();
            0
        }
    }
}

proptest! {
    #[test]
    fn any_sequence_of_changes_leaves_what_a_list_would_hold(changes in vec(any_change(), 0..60)) {
        let (registry, mut model) = (Registry::default(), Model::default());
        for change in &changes {
            prop_assert_eq!(apply(&registry, change), model.apply(change), "removed by {:?}", change);
            let snapshot = registry.snapshot();
            prop_assert_eq!(snapshot.version(), model.version);
            prop_assert_eq!(names(&snapshot), model.names.clone());
            for name in NAMES {
                let candidates = snapshot.get(name).map(|entry| entry.candidates.iter().map(|c| id_of(c)).collect());
                prop_assert_eq!(candidates.unwrap_or_else(Vec::new), model.of_name(name));
            }
            for tag in TAGS {
                prop_assert_eq!(snapshot.with_tag(tag).map(|c| id_of(c)).collect::<Vec<_>>(), model.with_tag(tag));
            }
            assert_whole(&snapshot);
        }
    }

    #[test]
    fn a_snapshot_taken_on_the_way_never_changes(changes in vec(any_change(), 1..40), at in any::<prop::sample::Index>()) {
        let registry = Registry::default();
        let (early, late) = changes.split_at(at.index(changes.len()));
        for change in early {
            apply(&registry, change);
        }
        let snapshot = registry.snapshot();
        let picture = |snapshot: &Snapshot| {
            let all: Vec<_> = snapshot.entries().flat_map(|(_, e)| &e.candidates).map(|c| id_of(c)).collect();
            let tags: Vec<Vec<_>> = TAGS.iter().map(|tag| snapshot.with_tag(tag).map(|c| id_of(c)).collect()).collect();
            (all, tags, snapshot.version(), snapshot.len(), candidate_count(snapshot))
        };
        let before = picture(&snapshot);
        for change in late {
            apply(&registry, change);
        }
        prop_assert_eq!(before, picture(&snapshot));
    }
}
