//! Which tools were used after similar queries; bounded, the oldest uses are dropped first.
//!
//! Calls pay nothing for it. A search records its hits and their success counts. The next search compares: a hit that has
//! succeeded since counts as used for that query.

use super::tables::is_stop;
use super::words::{WordKind, each_word, start_of};
use foldhash::fast::FixedState;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;

/// The number of queries whose hits are still compared.
const OPEN_QUERIES: usize = 64;
/// The number of hits recorded for each.
const HITS: usize = 16;
/// The number of uses recorded.
const USES: usize = 1_024;
/// The same for one caller of a served hub, of which there may be many.
const QUERIES_OF_CALLER: usize = 16;
const USES_OF_CALLER: usize = 128;
/// The number of words recorded for a query.
const WORDS: usize = 32;
const BYTES: usize = 2_000;
/// Queries less similar than this are unrelated.
const MIN_SIMILARITY: f32 = 0.2;

pub struct Uses {
    most_queries: usize,
    most_uses: usize,
    open: VecDeque<RecordedQuery>,
    recorded: VecDeque<Used>,
    /// Uses that are not in the store yet.
    unsaved: Vec<Used>,
}

impl Default for Uses {
    fn default() -> Self {
        Uses::bounded(OPEN_QUERIES, USES)
    }
}

struct RecordedQuery {
    topic: Arc<Topic>,
    /// Hits and their success counts at the time of the search.
    hits: Vec<(Arc<str>, u64)>,
}

#[derive(Clone)]
struct Used {
    topic: Arc<Topic>,
    tool: Arc<str>,
}

/// A query as the sorted hashes of its words.
#[derive(Debug, PartialEq, Eq)]
pub struct Topic(Vec<u64>);

impl Topic {
    pub fn of(query: &str) -> Topic {
        let hasher = FixedState::default();
        let mut words = Vec::new();
        each_word(start_of(query, BYTES), |word| {
            let is_topical = matches!(word.kind, WordKind::Word | WordKind::Pair) && !is_stop(word.text);
            if is_topical && words.len() < WORDS {
                words.push(hasher.hash_one(word.text));
            }
        });
        words.sort_unstable();
        words.dedup();
        Topic(words)
    }

    /// Jaccard similarity, from 0 to 1.
    fn similarity(&self, other: &Topic) -> f32 {
        let shared = self.0.iter().filter(|word| other.0.binary_search(word).is_ok()).count();
        let all = self.0.len() + other.0.len() - shared;
        if all == 0 { 0.0 } else { shared as f32 / all as f32 }
    }
}

impl Uses {
    fn bounded(most_queries: usize, most_uses: usize) -> Self {
        let (open, recorded, unsaved) = (VecDeque::new(), VecDeque::new(), Vec::new());
        Uses { most_queries, most_uses, open, recorded, unsaved }
    }

    /// Those of one caller of a served hub.
    pub fn of_caller() -> Self {
        Uses::bounded(QUERIES_OF_CALLER, USES_OF_CALLER)
    }

    /// Credits the successes since the last search to the queries that had the tool as a hit. `successes` returns the
    /// current success count of a tool.
    pub fn credit_successes(&mut self, successes: impl Fn(&str) -> u64) {
        let mut later: HashMap<Arc<str>, u64> = HashMap::new();
        let mut used = Vec::new();
        // Newest first: a success is credited to the newest query that has the tool as a hit.
        for asked in self.open.iter_mut().rev() {
            for (tool, before) in &mut asked.hits {
                let after = later.entry(tool.clone()).or_insert_with(|| successes(tool));
                if *after > *before {
                    used.push(Used { topic: asked.topic.clone(), tool: tool.clone() });
                }
                *after = (*after).min(*before);
            }
        }
        // From now on only the newest query with a hit is credited for it.
        let mut fresh = HashSet::new();
        for asked in self.open.iter_mut().rev() {
            asked.hits.retain(|(tool, _)| fresh.insert(tool.clone()));
            asked.hits.iter_mut().for_each(|(tool, before)| *before = successes(tool));
        }
        self.recorded.extend(used.into_iter().rev().inspect(|one| self.unsaved.push(one.clone())));
        let surplus = self.recorded.len().saturating_sub(self.most_uses);
        self.recorded.drain(..surplus);
    }

    /// Loads saved uses, the oldest first: the hashed words of a query, and a tool.
    pub fn restore(&mut self, uses: impl Iterator<Item = (Vec<u64>, Arc<str>)>) {
        for (mut words, tool) in uses {
            words.truncate(WORDS);
            words.sort_unstable();
            words.dedup();
            self.recorded.push_back(Used { topic: Arc::new(Topic(words)), tool });
        }
        let surplus = self.recorded.len().saturating_sub(self.most_uses);
        self.recorded.drain(..surplus);
    }

    /// The uses since the last save, in the form that [`Self::restore`] takes.
    pub fn take_unsaved(&mut self) -> Vec<(Vec<u64>, Arc<str>)> {
        self.unsaved.drain(..).map(|used| (used.topic.0.clone(), used.tool)).collect()
    }

    /// Records the hits of a query. `successes` is as in `credit_successes`, which runs here when the list is full.
    pub fn watch<'t>(
        &mut self,
        topic: Topic,
        hits: impl Iterator<Item = &'t Arc<str>>,
        successes: impl Fn(&str) -> u64,
    ) {
        if topic.0.is_empty() {
            return;
        }
        if self.open.len() >= self.most_queries {
            self.credit_successes(&successes);
            self.open.drain(..self.most_queries / 2);
        }
        let hits = hits.take(HITS).map(|tool| (tool.clone(), successes(tool))).collect();
        self.open.push_back(RecordedQuery { topic: Arc::new(topic), hits });
    }

    /// The tools used for similar queries, each with a score from 0 to 1.
    pub fn similar(&self, topic: &Topic) -> Vec<(Arc<str>, f32)> {
        let mut tools: Vec<(Arc<str>, f32)> = Vec::new();
        for used in &self.recorded {
            let similarity = used.topic.similarity(topic);
            if similarity < MIN_SIMILARITY {
                continue;
            }
            match tools.iter_mut().find(|(tool, _)| *tool == used.tool) {
                // Repeated uses add up but never exceed 1.
                Some((_, known)) => *known += (1.0 - *known) * similarity,
                None => tools.push((used.tool.clone(), similarity)),
            }
        }
        tools
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_success_after_a_query_is_a_use_for_it() {
        let mut uses = Uses::default();
        let tools: [Arc<str>; 2] = ["maps".into(), "trains".into()];
        uses.watch(Topic::of("a train to Berlin"), tools.iter(), |_| 5);
        uses.credit_successes(|_| 5);
        assert!(uses.similar(&Topic::of("train to Hamburg")).is_empty());
        uses.credit_successes(|tool| if tool == "trains" { 6 } else { 5 });
        let similar = uses.similar(&Topic::of("train to Hamburg"));
        assert_eq!(similar.len(), 1);
        assert_eq!(&*similar[0].0, "trains");
        assert!(uses.similar(&Topic::of("a poem about spring")).is_empty());
    }

    #[test]
    fn uses_can_be_saved_and_restored() {
        let mut uses = Uses::default();
        let tools: [Arc<str>; 1] = ["trains".into()];
        uses.watch(Topic::of("a train to Berlin"), tools.iter(), |_| 0);
        uses.credit_successes(|_| 1);
        let saved = uses.take_unsaved();
        assert_eq!(saved.len(), 1);
        assert!(uses.take_unsaved().is_empty());
        let mut later = Uses::default();
        later.restore(saved.into_iter());
        assert_eq!(&*later.similar(&Topic::of("train to Hamburg"))[0].0, "trains");
        assert!(later.take_unsaved().is_empty(), "restored uses are not saved again");
    }

    #[test]
    fn a_success_counts_for_the_last_query_only() {
        let mut uses = Uses::default();
        let tool: [Arc<str>; 1] = ["tool".into()];
        uses.watch(Topic::of("oldest thing"), tool.iter(), |_| 0);
        uses.watch(Topic::of("older words"), tool.iter(), |_| 1);
        uses.watch(Topic::of("newer question"), tool.iter(), |_| 1);
        uses.credit_successes(|_| 2);
        uses.credit_successes(|_| 2);
        assert_eq!(uses.recorded.len(), 2);
        assert_eq!(uses.similar(&Topic::of("oldest thing")).len(), 1);
        assert!(uses.similar(&Topic::of("older words")).is_empty());
        assert_eq!(uses.similar(&Topic::of("newer question")).len(), 1);
    }

    #[test]
    fn the_memory_is_bounded() {
        let (mut uses, tool) = (Uses::default(), [Arc::from("tool")]);
        for n in 0..5_000u64 {
            uses.watch(Topic::of(&format!("question number{n}x")), tool.iter(), |_| n);
        }
        assert!(uses.open.len() <= OPEN_QUERIES && uses.recorded.len() <= USES);
        assert!(uses.similar(&Topic::of("question")).iter().all(|(_, similarity)| *similarity <= 1.0));
    }
}
