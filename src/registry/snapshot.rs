//! The registry at one version, immutable.

use super::candidate::{Candidate, ReplaceRule};
use super::capability::answering;
use crate::text::LetterSet;
use imbl::shared_ptr::DefaultSharedPtr;
use imbl::{GenericHashMap, OrdMap};
use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

type Map<V> = GenericHashMap<Arc<str>, V, foldhash::fast::RandomState, DefaultSharedPtr>;

/// Stands for "no candidate has succeeded yet".
const NO_CANDIDATE: u64 = u64::MAX;

/// All candidates of one name, in registration order.
#[derive(Clone)]
pub struct NameEntry {
    pub candidates: Vec<Arc<Candidate>>,
    /// The position of the name in the list of names: the lowest id of its candidates so far.
    pub(super) position: u64,
    /// The version of the registry at which this name last changed.
    pub changed_at: u64,
    /// Shared by all snapshots, so that a success seen by an old one counts in a new one.
    pub(super) last_success: Arc<AtomicU64>,
}

impl NameEntry {
    /// The candidate whose description and schema represent the name.
    pub fn primary(&self) -> Option<&Arc<Candidate>> {
        self.candidates.iter().min_by_key(|candidate| (candidate.priority, candidate.id))
    }

    /// Where the name stands in the list of all names. Later names have higher positions.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// True when the tool is hidden from models.
    pub fn is_hidden(&self) -> bool {
        self.candidates.iter().all(|candidate| candidate.spec().is_hidden)
    }

    pub fn last_success(&self) -> Option<u64> {
        Some(self.last_success.load(Ordering::Relaxed)).filter(|id| *id != NO_CANDIDATE)
    }

    /// Records the last success; returns true when that changes the preferred candidate.
    pub fn note_success(&self, id: u64) -> bool {
        // Storing unconditionally would bounce the cache line between cores on every call of a hot tool.
        let changed = self.last_success.load(Ordering::Relaxed) != id;
        if changed {
            self.last_success.store(id, Ordering::Relaxed);
        }
        changed
    }
}

/// A name in the list of all names.
#[derive(Clone)]
pub(super) struct OrderedName {
    pub name: Arc<str>,
    /// Kept beside the name, so that a search for near names reads few of them.
    pub letters: LetterSet,
}

impl OrderedName {
    fn new(name: &Arc<str>) -> Self {
        OrderedName { name: name.clone(), letters: LetterSet::of(name) }
    }
}

#[derive(Clone, Default)]
pub struct Snapshot {
    pub(super) names: Map<Arc<NameEntry>>,
    /// Names in the order of their first registration, so that lists are stable.
    order: OrdMap<u64, OrderedName>,
    /// Tag → candidates, ordered by priority, then registration.
    pub(super) tags: Map<OrdMap<(i32, u64), Arc<Candidate>>>,
    candidates: usize,
    version: u64,
    sorted: Lazy<Vec<Arc<str>>>,
}

/// Computed at the first use. A clone starts empty, because a clone is about to change.
struct Lazy<T>(OnceLock<Arc<T>>);

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Lazy(OnceLock::new())
    }
}

impl<T> Clone for Lazy<T> {
    fn clone(&self) -> Self {
        Lazy::default()
    }
}

impl Snapshot {
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub fn candidate_count(&self) -> usize {
        self.candidates
    }

    pub fn get(&self, name: &str) -> Option<&Arc<NameEntry>> {
        self.names.get(name)
    }

    /// Names in the order of their first registration.
    pub fn entries(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<NameEntry>)> {
        self.order.values().filter_map(|one| self.names.get(&one.name).map(|entry| (&one.name, entry)))
    }

    /// The entries whose position is above this one; all of them for `None`.
    pub fn entries_after(&self, position: Option<u64>) -> impl Iterator<Item = (&Arc<str>, &Arc<NameEntry>)> {
        let start = position.map_or(Bound::Unbounded, Bound::Excluded);
        let names = self.order.range((start, Bound::Unbounded));
        names.filter_map(|(_, one)| self.names.get(&one.name).map(|entry| (&one.name, entry)))
    }

    pub fn with_tag(&self, tag: &str) -> impl Iterator<Item = &Arc<Candidate>> {
        self.tags.get(tag).into_iter().flat_map(|candidates| candidates.values())
    }

    /// The candidates that answer for a capability, in groups, the most precise first; each candidate once.
    pub fn answering(&self, asked: &str) -> Vec<Vec<Arc<Candidate>>> {
        let mut seen = HashSet::new();
        let mut group = |tags: Vec<&str>| {
            let mut group: Vec<Arc<Candidate>> =
                tags.iter().flat_map(|tag| self.with_tag(tag)).cloned().collect();
            group.retain(|candidate| seen.insert(candidate.id));
            group.sort_by_key(|candidate| (candidate.priority, candidate.id));
            group
        };
        answering(asked).into_iter().map(&mut group).filter(|group| !group.is_empty()).collect()
    }

    /// Tag → number of candidates, by name.
    pub fn tags(&self) -> BTreeMap<&str, usize> {
        self.tags.iter().map(|(tag, candidates)| (&**tag, candidates.len())).collect()
    }

    /// The names of all tools, in the order of their first registration.
    pub(super) fn names(&self) -> impl Iterator<Item = &OrderedName> {
        self.order.values()
    }

    /// The names that models may call, sorted.
    pub fn sorted_names(&self) -> Arc<Vec<Arc<str>>> {
        let make = || {
            let shown = self.entries().filter(|(_, entry)| !entry.is_hidden());
            let mut names: Vec<Arc<str>> = shown.map(|(name, _)| name.clone()).collect();
            names.sort_unstable();
            Arc::new(names)
        };
        self.sorted.0.get_or_init(make).clone()
    }

    /// Adds a candidate; returns it and those that it replaces.
    pub(super) fn insert(
        &mut self,
        mut candidate: Candidate,
        replacement: ReplaceRule,
    ) -> (Arc<Candidate>, Vec<Arc<Candidate>>) {
        let name = candidate.spec().name.clone();
        let mut entry = match self.names.get(&name) {
            Some(entry) => NameEntry::clone(entry),
            None => {
                self.order.insert(candidate.id, OrderedName::new(&name));
                NameEntry {
                    candidates: Vec::new(),
                    position: candidate.id,
                    changed_at: 0,
                    last_success: Arc::new(AtomicU64::new(NO_CANDIDATE)),
                }
            }
        };
        let all = std::mem::take(&mut entry.candidates);
        let (replaced, kept): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|old| candidate.replaces(old, replacement));
        entry.candidates = kept;
        for old in &replaced {
            self.untag(old);
            self.candidates -= 1;
        }
        match replaced.first() {
            // A replacement keeps the position, the statistics and the last success.
            Some(old) => {
                (candidate.id, candidate.variant) = (old.id, old.variant);
                candidate.stats = old.stats.clone();
            }
            None => candidate.variant = free_variant(&entry.candidates, &candidate),
        }
        if candidate.id < entry.position {
            self.order.remove(&entry.position);
            self.order.insert(candidate.id, OrderedName::new(&name));
            entry.position = candidate.id;
        }
        let candidate = Arc::new(candidate);
        for tag in &candidate.spec().capabilities {
            self.tags
                .entry(tag.clone())
                .or_default()
                .insert((candidate.priority, candidate.id), candidate.clone());
        }
        let at = entry.candidates.partition_point(|other| other.id < candidate.id);
        entry.candidates.insert(at, candidate.clone());
        self.version += 1;
        entry.changed_at = self.version;
        self.names.insert(name, Arc::new(entry));
        self.candidates += 1;
        (candidate, replaced)
    }

    /// Restores the preference of an earlier process: the candidate that was preferred last comes first again.
    pub(super) fn recall(&self, candidate: &Candidate) {
        let (Some(entry), Some(since)) =
            (self.names.get(&candidate.spec().name), candidate.stats.preferred_since())
        else {
            return;
        };
        let last = entry.last_success();
        let leader = entry.candidates.iter().find(|one| Some(one.id) == last);
        if leader.is_none_or(|leader| leader.stats.preferred_since() < Some(since)) {
            entry.note_success(candidate.id);
        }
    }

    pub(super) fn remove(&mut self, name: &str, matches: &impl Fn(&Candidate) -> bool) -> usize {
        let Some(entry) = self.names.get(name).cloned() else { return 0 };
        let (gone, kept): (Vec<_>, Vec<_>) =
            entry.candidates.iter().cloned().partition(|candidate| matches(candidate));
        if gone.is_empty() {
            return 0;
        }
        for candidate in &gone {
            self.untag(candidate);
        }
        self.candidates -= gone.len();
        if kept.is_empty() {
            self.names.remove(name);
            self.order.remove(&entry.position);
        } else {
            let changed_at = self.version + 1;
            let entry = NameEntry { candidates: kept, changed_at, ..NameEntry::clone(&entry) };
            self.names.insert(Arc::from(name), Arc::new(entry));
        }
        self.version += 1;
        gone.len()
    }

    pub(super) fn emptied(&self) -> Snapshot {
        Snapshot { version: self.version + 1, ..Snapshot::default() }
    }

    fn untag(&mut self, candidate: &Candidate) {
        for tag in &candidate.spec().capabilities {
            let now_empty = self.tags.get_mut(tag).is_some_and(|candidates| {
                candidates.remove(&(candidate.priority, candidate.id));
                candidates.is_empty()
            });
            if now_empty {
                self.tags.remove(tag);
            }
        }
    }
}

/// The lowest number that no candidate of this source and server has.
fn free_variant(others: &[Arc<Candidate>], candidate: &Candidate) -> u32 {
    let is_taken = |number: u32| others.iter().any(|one| one.is_beside(candidate) && one.variant == number);
    (1..).find(|number| !is_taken(*number)).unwrap_or(1)
}
