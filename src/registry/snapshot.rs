//! The registry at one version, immutable.

use super::candidate::{Candidate, NameEntry, ReplaceRule};
use super::capability::answering;
use super::namesakes::{UsersWord, tell_apart};
use imbl::ordmap::DiffItem;
use imbl::shared_ptr::DefaultSharedPtr;
use imbl::{GenericHashMap, OrdMap};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, OnceLock};
use toolhub_text::pattern::BETWEEN;
use toolhub_text::{LetterSet, near_by_letters};

type Map<V> = GenericHashMap<Arc<str>, V, foldhash::fast::RandomState, DefaultSharedPtr>;

/// A name in the list of all names.
#[derive(Clone)]
struct OrderedName {
    name: Arc<str>,
    /// Kept beside the name, so that a search for near names reads few of them.
    letters: LetterSet,
    /// When what is listed under it changed.
    changed_at: u64,
}

impl OrderedName {
    fn new(entry: &NameEntry) -> Self {
        let name = entry.name.clone();
        OrderedName { letters: LetterSet::of(&name), name, changed_at: entry.changed_at }
    }
}

impl PartialEq for OrderedName {
    fn eq(&self, other: &Self) -> bool {
        (self.changed_at, &self.name) == (other.changed_at, &other.name)
    }
}

/// What a snapshot lists, for one that follows its changes. It shares its memory with the snapshots around it.
#[derive(Clone, Default)]
pub struct ListedNames(OrdMap<u64, OrderedName>);

impl ListedNames {
    /// The names of which something else is listed in a later snapshot. Parts that both share are not looked at.
    pub fn changed<'a>(&'a self, now: &'a Snapshot) -> impl Iterator<Item = &'a Arc<str>> {
        self.0
            .diff(&now.order.0)
            .flat_map(|change| match change {
                DiffItem::Add(_, one) | DiffItem::Remove(_, one) => [Some(&one.name), None],
                DiffItem::Update { old, new } => [Some(&old.1.name), Some(&new.1.name)],
            })
            .flatten()
    }
}

#[derive(Clone, Default)]
pub struct Snapshot {
    /// By the name that providers give: all candidates of it.
    names: Map<Arc<NameEntry>>,
    /// The tools of names that several tools share, by what they are listed as.
    apart: Map<Arc<NameEntry>>,
    /// The listed names in the order of their first registration, so that lists are stable.
    order: ListedNames,
    /// Tag → candidates, ordered by priority, then registration.
    pub(super) tags: Map<OrdMap<(i32, u64), Arc<Candidate>>>,
    version: u64,
    /// Computed at the first use after a change.
    sorted: OnceLock<Arc<Vec<Arc<str>>>>,
    /// What the user says of tools of one name.
    users_word: Option<UsersWord>,
}

impl Snapshot {
    pub(super) fn with_word(users_word: UsersWord) -> Self {
        Snapshot { users_word: Some(users_word), ..Snapshot::default() }
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    /// The number of listed names.
    pub fn len(&self) -> usize {
        self.order.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// What is listed under a name. A name that several tools share is not listed; it stands for all of them.
    pub fn get(&self, name: &str) -> Option<&Arc<NameEntry>> {
        self.told_apart(name).or_else(|| self.names.get(name))
    }

    /// The same, without names that several tools share.
    pub fn listed(&self, name: &str) -> Option<&Arc<NameEntry>> {
        self.get(name).filter(|entry| entry.tools.is_empty())
    }

    /// All candidates that gave this name themselves.
    pub fn family(&self, name: &str) -> Option<&Arc<NameEntry>> {
        self.names.get(name)
    }

    /// Each candidate once, by the name that it gave, in no order.
    pub fn families(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<NameEntry>)> {
        self.names.iter()
    }

    /// What a call of this name may use. `server__tool` is understood whether it is listed or not, so that a name that was
    /// listed once, or stands in a view, goes on to mean the same tool.
    pub fn find(&self, name: &str) -> Option<Arc<NameEntry>> {
        let apart = self.told_apart(name).filter(|tool| tool.is_apart());
        apart.or_else(|| self.names.get(name)).cloned().or_else(|| self.addressed(name))
    }

    fn told_apart(&self, name: &str) -> Option<&Arc<NameEntry>> {
        if self.apart.is_empty() { None } else { self.apart.get(name) }
    }

    fn addressed(&self, address: &str) -> Option<Arc<NameEntry>> {
        let (server, family) = self.address(address)?;
        let providers = family.candidates.iter().filter(|one| is_on(one, server)).cloned().collect();
        Some(Arc::new(family.part(address.into(), providers, family.changed_at)))
    }

    /// The server that `server__tool` names, and all candidates of the name that the server has given to its tool.
    pub fn address<'a>(&self, address: &'a str) -> Option<(&'a str, &Arc<NameEntry>)> {
        address.match_indices(BETWEEN).find_map(|(at, _)| {
            let (server, name) = (&address[..at], &address[at + BETWEEN.len()..]);
            let family = self.names.get(name)?;
            family.candidates.iter().any(|one| is_on(one, server)).then_some((server, family))
        })
    }

    /// The listed names in the order of their first registration.
    pub fn entries(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<NameEntry>)> {
        self.order.0.values().filter_map(|one| self.get(&one.name).map(|entry| (&one.name, entry)))
    }

    pub fn listed_names(&self) -> &ListedNames {
        &self.order
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

    /// The names that models may call, sorted.
    pub fn sorted_names(&self) -> Arc<Vec<Arc<str>>> {
        let make = || {
            let shown = self.entries().filter(|(_, entry)| !entry.is_hidden());
            let mut names: Vec<Arc<str>> = shown.map(|(name, _)| name.clone()).collect();
            names.sort_unstable();
            Arc::new(names)
        };
        self.sorted.get_or_init(make).clone()
    }

    /// Adds a candidate; returns it and those that it replaces.
    pub(super) fn insert(
        &mut self,
        mut candidate: Candidate,
        replacement: ReplaceRule,
    ) -> (Arc<Candidate>, Vec<Arc<Candidate>>) {
        let name = candidate.spec().name.clone();
        let before = self.names.get(&name).cloned();
        let mut entry = match &before {
            Some(entry) => NameEntry::clone(entry),
            None => NameEntry::new(name, candidate.id),
        };
        let all = std::mem::take(&mut entry.candidates);
        let (replaced, kept): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|old| candidate.replaces(old, replacement));
        entry.candidates = kept;
        for old in &replaced {
            self.untag(old);
        }
        match replaced.first() {
            // A replacement keeps the position, the statistics and the last success.
            Some(old) => {
                (candidate.id, candidate.variant) = (old.id, old.variant);
                candidate.stats = old.stats.clone();
            }
            None => candidate.variant = free_variant(&entry.candidates, &candidate),
        }
        entry.first_id = entry.first_id.min(candidate.id);
        let candidate = Arc::new(candidate);
        for tag in &candidate.spec().capabilities {
            self.tags
                .entry(tag.clone())
                .or_default()
                .insert((candidate.priority, candidate.id), candidate.clone());
        }
        let at = entry.candidates.partition_point(|other| other.id < candidate.id);
        entry.candidates.insert(at, candidate.clone());
        self.publish(before.as_deref(), entry);
        (candidate, replaced)
    }

    /// Restores the preference of an earlier process: the candidate that was preferred last comes first again.
    pub(super) fn restore_preference(&self, candidate: &Candidate) {
        if let Some(family) = self.names.get(&candidate.spec().name) {
            family.restore_preference(candidate);
            family.tools.iter().for_each(|tool| tool.restore_preference(candidate));
        }
    }

    /// Removes the candidates of a name that match; returns their number.
    pub(super) fn remove(&mut self, name: &str, matches: &impl Fn(&Candidate) -> bool) -> usize {
        let Some(before) = self.names.get(name).cloned() else { return 0 };
        let mut entry = NameEntry::clone(&before);
        let (gone, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut entry.candidates).into_iter().partition(|candidate| matches(candidate));
        if gone.is_empty() {
            return 0;
        }
        for candidate in &gone {
            self.untag(candidate);
        }
        entry.candidates = kept;
        self.publish(Some(&before), entry);
        gone.len()
    }

    /// Puts the present candidates of a name in the place of the former ones, and lists what they are.
    fn publish(&mut self, before: Option<&NameEntry>, mut entry: NameEntry) {
        self.version += 1;
        self.sorted = OnceLock::new();
        (entry.changed_at, entry.shown) = (self.version, OnceLock::new());
        let (portraits, told) = tell_apart(&entry.candidates, &entry.portraits, self.users_word.as_ref());
        entry.portraits = portraits;
        let name = entry.name.clone();
        let namesake = self.told_apart(&name).filter(|tool| tool.is_apart()).cloned();
        let was_at = before.filter(|before| namesake.is_none() && before.tools.is_empty());
        let was_at = was_at.map(NameEntry::position);
        let is_listed = namesake.is_none() && told.is_empty() && !entry.candidates.is_empty();
        let now_at = is_listed.then(|| entry.position());
        if let Some(at) = was_at.filter(|_| was_at != now_at) {
            self.order.0.remove(&at);
        }
        let others = self.list_apart(&mut entry, told);
        if let Some(at) = now_at {
            self.order.0.insert(at, OrderedName::new(&entry));
        }
        // Of another server, it would be refused the name.
        let displaced = namesake.filter(|tool| {
            let server = tool.candidates.first().and_then(|one| one.server.as_deref());
            entry.candidates.iter().any(|one| takes_name(one, server))
        });
        match entry.candidates.is_empty() {
            true => drop(self.names.remove(&name)),
            false => drop(self.names.insert(name, Arc::new(entry))),
        }
        others.iter().for_each(|other| self.list_again(other));
        if let Some(tool) = displaced
            && let Some(family) =
                tool.candidates.first().and_then(|one| self.names.get(&one.spec().name)).cloned()
        {
            self.publish(Some(&family), NameEntry::clone(&family));
        }
    }

    /// Lists each tool of a name in the place of those that were listed before. Returns the names of all of them.
    fn list_apart(&mut self, entry: &mut NameEntry, told: Vec<Vec<Arc<Candidate>>>) -> Vec<Arc<str>> {
        let before = std::mem::take(&mut entry.tools);
        for tool in &before {
            self.apart.remove(&tool.name);
            self.order.0.remove(&tool.position());
        }
        let mut tools: Vec<NameEntry> = Vec::new();
        if let Some(first) = told.first() {
            let is_listed =
                |one: &&Arc<Candidate>| !one.is_of_server() || first.iter().any(|own| own.id == one.id);
            let beside: Vec<_> = entry.candidates.iter().filter(is_listed).cloned().collect();
            if beside.len() > first.len() {
                tools.push(entry.part(entry.name.clone(), beside, self.version));
            }
        }
        for providers in told {
            let server = providers[0].server.as_deref().unwrap_or_default();
            let listed_as = self.free_name(server, &entry.name);
            tools.push(entry.part(listed_as, providers, self.version));
        }
        let same = |one: &NameEntry, other: &NameEntry| {
            one.name == other.name
                && one.candidates.len() == other.candidates.len()
                && one.candidates.iter().zip(&other.candidates).all(|(one, other)| Arc::ptr_eq(one, other))
        };
        for tool in tools {
            // What stays as it was keeps its last success, and need not be read again.
            let known = before.iter().find(|known| same(known, &tool)).cloned();
            let tool = known.unwrap_or_else(|| Arc::new(tool));
            self.order.0.insert(tool.position(), OrderedName::new(&tool));
            self.apart.insert(tool.name.clone(), tool.clone());
            entry.tools.push(tool);
        }
        let all = before.iter().chain(&entry.tools).map(|tool| &tool.name);
        all.filter(|name| **name != entry.name).cloned().collect()
    }

    /// What a tool of a server is listed as: a name that no tool of the user and no other tool of the server has. One that another
    /// server has given to a tool is free: the name space of a server is its own, and that tool is not listed meanwhile.
    fn free_name(&self, server: &str, name: &str) -> Arc<str> {
        let mut free = [server, BETWEEN, name].concat();
        let takes = |one: &Arc<Candidate>| takes_name(one, Some(server));
        let is_taken =
            |name: &str| self.names.get(name).is_some_and(|entry| entry.candidates.iter().any(takes));
        while is_taken(&free) || self.apart.contains_key(free.as_str()) {
            free.push('_');
        }
        free.into()
    }

    /// Lists a name that a provider has given, unless a tool that was told apart is listed under it.
    fn list_again(&mut self, name: &Arc<str>) {
        let Some(entry) = self.names.get(name).filter(|entry| entry.tools.is_empty()) else { return };
        let at = entry.position();
        match self.apart.contains_key(name) {
            true => drop(self.order.0.remove(&at)),
            false => drop(self.order.0.insert(at, OrderedName::new(entry))),
        }
    }

    pub(super) fn emptied(&self) -> Snapshot {
        Snapshot { version: self.version + 1, users_word: self.users_word.clone(), ..Snapshot::default() }
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

/// Whether a server of this id lists the candidate.
fn is_on(candidate: &Candidate, server: &str) -> bool {
    candidate.is_of_server() && candidate.server.as_deref() == Some(server)
}

/// Whether a candidate that gave a name `server__…` itself keeps it: it is the user's, or the server's own.
fn takes_name(candidate: &Candidate, server: Option<&str>) -> bool {
    !candidate.is_of_server() || candidate.server.as_deref() == server
}

/// The lowest number that no candidate of this source and server has.
fn free_variant(others: &[Arc<Candidate>], candidate: &Candidate) -> u32 {
    let is_taken = |number: u32| others.iter().any(|one| one.is_beside(candidate) && one.variant == number);
    (1..).find(|number| !is_taken(*number)).unwrap_or(1)
}

/// Up to `limit` names like `wanted`, the most alike first.
pub fn nearest(snapshot: &Snapshot, wanted: &str, limit: usize) -> Vec<Arc<str>> {
    let names = snapshot.order.0.values().map(|one| (one.letters, &*one.name, &one.name));
    near_by_letters(wanted, names, limit).into_iter().cloned().collect()
}
