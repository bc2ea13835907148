//! Which tools fit a query, and which of them have shown that they do.

use super::Hub;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolhub_context::search::{Hit, Search, Topic, Unseen, Uses, proposed};
use toolhub_registry::{Candidate, NameEntry};
use toolhub_text::name_words;
use toolhub_types::error::ErrorKind;
use toolhub_types::kind::ToolKind;
use toolhub_types::stats::{BreakerPolicy, CandidateStats, StatsKey};

/// `recommend` looks at this many times the requested hits, so that tools that work well can move up.
const WIDER: usize = 4;
/// The share of its relevance that a tool keeps when it always fails.
const FAILING: f32 = 0.3;
/// The share of the score that depends on speed.
const SPEED_PART: f32 = 0.2;
/// The latency at which the speed term is halved.
const SLOW_MS: f32 = 2_000.0;
/// A tool that was used for the same query doubles its score.
const USED: f32 = 1.0;

/// A query: its words, their embedding, and who asks.
#[derive(Clone, Copy)]
pub struct SearchQuery<'a> {
    pub words: &'a str,
    pub vector: Option<&'a [f32]>,
    /// The principal of a served call. What it has used counts for it alone.
    pub caller: Option<&'a str>,
}

impl<'a> From<&'a str> for SearchQuery<'a> {
    fn from(words: &'a str) -> Self {
        SearchQuery { words, vector: None, caller: None }
    }
}

impl Hub {
    /// The `k` tools that fit a query best, best first.
    pub fn search<'a>(&self, query: impl Into<SearchQuery<'a>>, k: usize) -> Vec<Hit> {
        self.search_in(None, query, k)
    }

    /// [`search`](Self::search), in the part of the tools that this index has if there is one.
    pub fn search_in<'a>(
        &self,
        part: Option<&Search>,
        query: impl Into<SearchQuery<'a>>,
        k: usize,
    ) -> Vec<Hit> {
        let query = query.into();
        let hits = match part {
            Some(part) => part.search(&self.registry, &self.capability_rules(), query.words, k),
            None => self.hits(query, k),
        };
        self.watch(Topic::of(query.words), &hits, self.asker(query).as_deref());
        hits
    }

    fn asker(&self, query: SearchQuery<'_>) -> Option<Arc<CallerRecord>> {
        query.caller.and_then(|id| self.callers.visit(id))
    }

    /// What a caller has used; `None` if nothing is known of it.
    pub fn caller(&self, id: &str) -> Option<Arc<CallerRecord>> {
        self.callers.find(id)
    }

    fn hits(&self, SearchQuery { words, vector, .. }: SearchQuery<'_>, k: usize) -> Vec<Hit> {
        let by_words = |k| self.search.search(&self.registry, &self.capability_rules(), words, k);
        let Some(vector) = vector.filter(|_| k > 0) else { return by_words(k) };
        let hits = by_words(proposed(k));
        let mut hits = self.vectors.read().mixed(hits, vector.to_vec(), self.options.embed_weight, k);
        hits.truncate(k);
        hits
    }

    /// Up to `most` tools whose current text [`Hub::embed`] has not seen.
    pub fn unembedded(&self, most: usize) -> Vec<Unseen> {
        let snapshot = self.registry.snapshot();
        let mut vectors = self.vectors.write();
        vectors.unseen(&snapshot, most)
    }

    /// Takes the vector of a tool in the state of `changed_at`; none when the embedding has no opinion of it.
    pub fn embed(&self, name: Arc<str>, changed_at: u64, vector: Option<Vec<f32>>) {
        self.vectors.write().keep(name, changed_at, vector);
    }

    /// [`search`](Self::search), weighed with what has worked: success, latency, and what was used for similar queries.
    pub fn recommend<'a>(&self, query: impl Into<SearchQuery<'a>>, k: usize) -> Vec<Hit> {
        let query = query.into();
        let topic = Topic::of(query.words);
        let mut hits = self.hits(query, k.saturating_mul(WIDER));
        let (snapshot, now, asker) = (self.registry.load(), Instant::now(), self.asker(query));
        let asker = asker.as_deref();
        let used = self.with_uses(asker, |uses| {
            uses.credit_successes(|name| snapshot.get(name).map_or(0, |entry| successes(entry, asker)));
            uses.similar(&topic)
        });
        let top = hits.first().map_or(1.0, |hit| hit.score);
        // What was used for such a query is a hit, also when it shares no word with it.
        for (name, _) in &used {
            if !hits.iter().any(|hit| hit.name == *name) && snapshot.get(name).is_some() {
                hits.push(Hit { name: name.clone(), score: top / 2.0 });
            }
        }
        for hit in &mut hits {
            let Some(entry) = snapshot.get(&hit.name) else { continue };
            let similar =
                used.iter().find(|(name, _)| *name == hit.name).map_or(0.0, |(_, likeness)| *likeness);
            hit.score *= reliability(entry, asker, now) * (1.0 + USED * similar);
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(k);
        self.watch(topic, &hits, asker);
        hits
    }

    /// The tools that may take the place of one that failed: known to be harmless, and with a name that says the same, or with a
    /// declared capability in common where the names tell none. One that does not exist is asked for by its name or by a
    /// capability.
    pub fn stand_ins(&self, tool: &str) -> Vec<Arc<str>> {
        let (snapshot, rules) = (self.registry.load(), self.capability_rules());
        let declared = |name: &str, entry: &NameEntry| -> HashSet<String> {
            let tells = !rules.extract(name, "").is_empty();
            kinds_of(entry).into_iter().filter(|_| !tells).collect()
        };
        let wanted = match snapshot.find(tool) {
            Some(entry) => declared(tool, &entry),
            None => HashSet::from([tool.to_lowercase()]),
        };
        let (named, tagged) = (said_by(tool), said_by(&joined(&wanted)));
        let is_alike = |name: &str, entry: &NameEntry| {
            let own = declared(name, entry);
            let same = |one: &BTreeSet<String>, other: &BTreeSet<String>| !one.is_empty() && one == other;
            !own.is_disjoint(&wanted)
                || same(&said_by(name), &named)
                || same(&said_by(&joined(&own)), &named)
                || same(&said_by(name), &tagged)
        };
        self.harmless_tools(|name, entry| name != tool && is_alike(name, entry))
    }

    /// The tools that are known to be harmless and of the kind that these words ask for: one has all tags of the other.
    pub fn tools_for(&self, said: &str) -> Vec<Arc<str>> {
        let wanted: HashSet<String> = self.capability_rules().extract("", said).into_iter().collect();
        self.harmless_tools(|_, entry| {
            let own = kinds_of(entry);
            !own.is_empty() && !wanted.is_empty() && (own.is_subset(&wanted) || wanted.is_subset(&own))
        })
    }

    /// The tools that are known to be harmless and fit, best first.
    fn harmless_tools(&self, fits: impl Fn(&str, &NameEntry) -> bool) -> Vec<Arc<str>> {
        let snapshot = self.registry.load();
        let is_harmless = |one: &Arc<Candidate>| one.spec().effects.are_harmless() && !one.spec().is_hidden;
        let fitting = snapshot
            .entries()
            .filter(|(name, entry)| entry.candidates.iter().all(is_harmless) && fits(name, entry));
        let mut found: Vec<_> =
            fitting.map(|(name, entry)| (entry.primary().map(|one| one.priority), name.clone())).collect();
        found.sort_by_key(|(priority, _)| *priority);
        found.into_iter().map(|(_, name)| name).collect()
    }

    fn watch(&self, topic: Topic, hits: &[Hit], asker: Option<&CallerRecord>) {
        let snapshot = self.registry.load();
        let count = |name: &str| snapshot.get(name).map_or(0, |entry| successes(entry, asker));
        self.with_uses(asker, |uses| uses.watch(topic, hits.iter().map(|hit| &hit.name), count));
    }

    /// The uses of a caller, or of the hub. Only those of the hub are stored.
    fn with_uses<T>(&self, asker: Option<&CallerRecord>, work: impl FnOnce(&mut Uses) -> T) -> T {
        let mut uses = asker.map_or(&self.uses, |asker| &asker.uses).lock();
        let done = work(&mut uses);
        match asker {
            Some(_) => drop(uses.take_unsaved()),
            None => self.keep_uses(&mut uses),
        }
        done
    }
}

fn kinds_of(entry: &NameEntry) -> HashSet<String> {
    entry.candidates.iter().flat_map(|one| &one.spec().kinds).map(|tag| tag.to_string()).collect()
}

/// The words of a name: `search_web` and `webSearch` say the same, as do `get_weather` and `weather`. So do `calculate` and
/// `math_calculator`: an expression tells all of a calculation, while a search or a time may be of anything.
fn said_by(name: &str) -> BTreeSet<String> {
    let mut words: BTreeSet<String> = name_words(name).into_iter().filter(|word| word != "get").collect();
    let calculates = |word: &String| ToolKind::of_capability(word) == Some(ToolKind::Calculation);
    if !words.is_empty() && words.iter().all(calculates) {
        words = BTreeSet::from([ToolKind::Calculation.name().to_owned()]);
    }
    words
}

fn joined(tags: &HashSet<String>) -> String {
    tags.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// How often a caller has called a tool with success, or everyone together.
pub(super) fn successes(entry: &NameEntry, asker: Option<&CallerRecord>) -> u64 {
    match asker {
        Some(asker) => asker.successes(entry),
        None => entry.candidates.iter().map(|candidate| candidate.stats.successes()).sum(),
    }
}

/// From 0 to 1: how often the best candidate succeeds, and how quickly, in the calls of a caller or of everyone. Nothing known
/// is nothing bad.
fn reliability(entry: &NameEntry, asker: Option<&CallerRecord>, now: Instant) -> f32 {
    let of = |candidate: &Arc<Candidate>| {
        let own = asker.map(|asker| asker.stats_of(candidate));
        let view = own.as_ref().unwrap_or(&candidate.stats).view(now);
        let success = FAILING + (1.0 - FAILING) * view.success_rate as f32;
        let latency = view.latency_ewma_ms.unwrap_or(0.0) as f32;
        success * (1.0 - SPEED_PART * latency / (latency + SLOW_MS))
    };
    entry.candidates.iter().map(of).fold(0.0, f32::max)
}

/// The callers that are known at once; the one that was away longest makes room.
const MOST_CALLERS: usize = 500;
/// The providers that are counted for each; others are not.
const MOST_CANDIDATES: usize = 200;
/// A caller's failures suspend no provider.
const NO_BREAKER: BreakerPolicy =
    BreakerPolicy { threshold: 0, rest: Duration::ZERO, longest_rest: Duration::ZERO };

/// The callers of a served hub, by the id of their principal. What one caller finds and reads depends on its own use alone; the
/// health of providers (breakers, which one answers first) is that of all calls, see
/// `docs/decisions/2026-11-16-statistics-by-caller.md`.
#[derive(Default)]
pub(super) struct KnownCallers(Mutex<CallerRecords>);

#[derive(Default)]
struct CallerRecords {
    /// The visits of all callers.
    visits: u64,
    /// With the last visit of each.
    records: HashMap<Arc<str>, (u64, Arc<CallerRecord>)>,
}

/// The use of one caller.
pub struct CallerRecord {
    stats: Mutex<HashMap<StatsKey, Arc<CandidateStats>>>,
    pub(super) uses: Mutex<Uses>,
}

impl KnownCallers {
    /// The record of a caller, made if there is none. `None` for the anonymous caller, whose use is that of the hub.
    pub(super) fn visit(&self, id: &str) -> Option<Arc<CallerRecord>> {
        if id.is_empty() {
            return None;
        }
        let mut known = self.0.lock();
        let CallerRecords { visits, records } = &mut *known;
        *visits += 1;
        if let Some((last, record)) = records.get_mut(id) {
            *last = *visits;
            return Some(record.clone());
        }
        if records.len() >= MOST_CALLERS {
            let longest = records.iter().min_by_key(|(_, (last, _))| *last).map(|(id, _)| id.clone());
            longest.and_then(|longest| records.remove(&longest));
        }
        let record = CallerRecord { stats: Mutex::default(), uses: Mutex::new(Uses::of_caller()) };
        let (_, record) = records.entry(Arc::from(id)).or_insert((*visits, Arc::new(record)));
        Some(record.clone())
    }

    /// The record of a caller, if there is one.
    pub(super) fn find(&self, id: &str) -> Option<Arc<CallerRecord>> {
        self.0.lock().records.get(id).map(|(_, record)| record.clone())
    }

    pub(super) fn clear(&self) {
        self.0.lock().records.clear();
    }
}

impl CallerRecord {
    /// Counts one ended attempt.
    pub(super) fn record(
        &self,
        candidate: &Candidate,
        ended: Result<(), ErrorKind>,
        latency: Duration,
        now: Instant,
    ) {
        let stats = {
            let mut all = self.stats.lock();
            let key = candidate.stats_key();
            match all.get(&key) {
                Some(stats) => stats.clone(),
                None if all.len() >= MOST_CANDIDATES => return,
                None => all.entry(key).or_default().clone(),
            }
        };
        stats.record(ended, latency, now, &NO_BREAKER);
    }

    /// The statistics of this caller's calls of a provider.
    pub fn stats_of(&self, candidate: &Candidate) -> Arc<CandidateStats> {
        self.stats.lock().get(&candidate.stats_key()).cloned().unwrap_or_default()
    }

    /// How often this caller has called a tool with success.
    pub(super) fn successes(&self, entry: &NameEntry) -> u64 {
        entry.candidates.iter().map(|candidate| self.stats_of(candidate).successes()).sum()
    }
}

#[cfg(test)]
mod callers_tests {
    use super::*;

    #[test]
    fn callers_are_bounded_and_the_one_that_was_away_longest_makes_room() {
        let callers = KnownCallers::default();
        for number in 0..MOST_CALLERS {
            callers.visit(&format!("jwt:{number}"));
        }
        callers.visit("jwt:0");
        callers.visit("jwt:new");
        assert_eq!(callers.0.lock().records.len(), MOST_CALLERS);
        assert!(callers.find("jwt:0").is_some() && callers.find("jwt:new").is_some());
        assert!(callers.find("jwt:1").is_none());
        assert!(callers.visit("").is_none());
    }
}
