//! Which tools fit a query, and which of them have shown that they do.

use super::Hub;
use crate::registry::NameEntry;
use crate::search::{Hit, Topic, Unseen, proposed};
use std::sync::Arc;
use std::time::Instant;

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

/// A query: its words, and their embedding.
#[derive(Clone, Copy)]
pub struct SearchQuery<'a> {
    pub words: &'a str,
    pub vector: Option<&'a [f32]>,
}

impl<'a> From<&'a str> for SearchQuery<'a> {
    fn from(words: &'a str) -> Self {
        SearchQuery { words, vector: None }
    }
}

impl Hub {
    /// The `k` tools that fit a query best, best first.
    pub fn search<'a>(&self, query: impl Into<SearchQuery<'a>>, k: usize) -> Vec<Hit> {
        let query = query.into();
        let hits = self.hits(query, k);
        self.watch(Topic::of(query.words), &hits);
        hits
    }

    fn hits(&self, SearchQuery { words, vector }: SearchQuery<'_>, k: usize) -> Vec<Hit> {
        let by_words = |k| self.search.search(&self.registry, &self.capability_rules(), words, k);
        let Some(vector) = vector.filter(|_| k > 0) else { return by_words(k) };
        let hits = by_words(proposed(k));
        let mut hits = self.vectors.read().mixed(hits, vector.to_vec(), k);
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
        let (snapshot, now) = (self.registry.load(), Instant::now());
        let used = {
            let mut uses = self.uses.lock();
            uses.credit_successes(|name| snapshot.get(name).map_or(0, |entry| successes(entry)));
            self.keep_uses(&mut uses);
            uses.similar(&topic)
        };
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
            hit.score *= reliability(entry, now) * (1.0 + USED * similar);
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(k);
        self.watch(topic, &hits);
        hits
    }

    fn watch(&self, topic: Topic, hits: &[Hit]) {
        let snapshot = self.registry.load();
        let count = |name: &str| snapshot.get(name).map_or(0, |entry| successes(entry));
        let mut uses = self.uses.lock();
        uses.watch(topic, hits.iter().map(|hit| &hit.name), count);
        self.keep_uses(&mut uses);
    }
}

pub(super) fn successes(entry: &NameEntry) -> u64 {
    entry.candidates.iter().map(|candidate| candidate.stats.successes()).sum()
}

/// From 0 to 1: how often the best candidate succeeds, and how quickly. Nothing known is nothing bad.
fn reliability(entry: &NameEntry, now: Instant) -> f32 {
    let one = |stats: &crate::stats::CandidateStats| {
        let view = stats.view(now);
        let success = FAILING + (1.0 - FAILING) * view.success_rate as f32;
        let latency = view.latency_ewma_ms.unwrap_or(0.0) as f32;
        success * (1.0 - SPEED_PART * latency / (latency + SLOW_MS))
    };
    entry.candidates.iter().map(|candidate| one(&candidate.stats)).fold(0.0, f32::max)
}
