//! What was used for similar queries: a bounded memory in which newer uses push out older ones.
//!
//! Calls are not slowed down for it. A search remembers its hits and how often each had succeeded by then; the next one
//! sees which of them has succeeded since, and takes that as "this query was answered with that tool".

use super::stop::is_stop;
use super::words::{WordKind, each_word, start_of};
use foldhash::fast::FixedState;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;

/// Queries whose hits are still watched.
const WATCHED: usize = 64;
/// So many hits of each.
const HITS: usize = 16;
/// Uses that are remembered.
const REMEMBERED: usize = 1_024;
/// Of a query so many words are remembered.
const WORDS: usize = 32;
const BYTES: usize = 2_000;
/// Queries that share less than this have nothing to do with each other.
const SIMILAR: f32 = 0.2;

#[derive(Default)]
pub struct Uses {
    watched: VecDeque<RecordedQuery>,
    remembered: VecDeque<Used>,
    /// The newest of them, for whoever keeps them.
    unsaved: Vec<Used>,
}

struct RecordedQuery {
    topic: Arc<Topic>,
    /// Hits, and how often each had succeeded when they were given.
    hits: Vec<(Arc<str>, u64)>,
}

#[derive(Clone)]
struct Used {
    topic: Arc<Topic>,
    tool: Arc<str>,
}

/// What a query is about: its words as numbers, sorted.
#[derive(Debug, PartialEq, Eq)]
pub struct Topic(Vec<u64>);

impl Topic {
    pub fn of(query: &str) -> Topic {
        let hasher = FixedState::default();
        let mut words = Vec::new();
        each_word(start_of(query, BYTES), |word| {
            let tells = matches!(word.kind, WordKind::Word | WordKind::Pair) && !is_stop(word.text);
            if tells && words.len() < WORDS {
                words.push(hasher.hash_one(word.text));
            }
        });
        words.sort_unstable();
        words.dedup();
        Topic(words)
    }

    /// Shared words over all words, from 0 to 1.
    fn likeness(&self, other: &Topic) -> f32 {
        let shared = self.0.iter().filter(|word| other.0.binary_search(word).is_ok()).count();
        let all = self.0.len() + other.0.len() - shared;
        if all == 0 { 0.0 } else { shared as f32 / all as f32 }
    }
}

impl Uses {
    /// Sees what has succeeded since the hits were given. `successes` tells how often a tool has by now.
    pub fn settle(&mut self, successes: impl Fn(&str) -> u64) {
        let mut later: HashMap<Arc<str>, u64> = HashMap::new();
        let mut used = Vec::new();
        // Newest first: what succeeded after a newer query with the same hit belongs to that one.
        for asked in self.watched.iter_mut().rev() {
            for (tool, before) in &mut asked.hits {
                let after = later.entry(tool.clone()).or_insert_with(|| successes(tool));
                if *after > *before {
                    used.push(Used { topic: asked.topic.clone(), tool: tool.clone() });
                }
                *after = (*after).min(*before);
            }
        }
        // What comes now belongs to the newest query that has the hit.
        let mut fresh = HashSet::new();
        for asked in self.watched.iter_mut().rev() {
            asked.hits.retain(|(tool, _)| fresh.insert(tool.clone()));
            asked.hits.iter_mut().for_each(|(tool, before)| *before = successes(tool));
        }
        self.remembered.extend(used.into_iter().rev().inspect(|one| self.unsaved.push(one.clone())));
        let surplus = self.remembered.len().saturating_sub(REMEMBERED);
        self.remembered.drain(..surplus);
    }

    /// Begins with what was used before, the oldest first: the words of a query as numbers, and a tool.
    pub fn restore(&mut self, uses: impl Iterator<Item = (Vec<u64>, Arc<str>)>) {
        for (mut words, tool) in uses {
            words.truncate(WORDS);
            words.sort_unstable();
            words.dedup();
            self.remembered.push_back(Used { topic: Arc::new(Topic(words)), tool });
        }
        let surplus = self.remembered.len().saturating_sub(REMEMBERED);
        self.remembered.drain(..surplus);
    }

    /// What was used since the last time, in the form that [`Self::restore`] takes.
    pub fn take_unsaved(&mut self) -> Vec<(Vec<u64>, Arc<str>)> {
        self.unsaved.drain(..).map(|used| (used.topic.0.clone(), used.tool)).collect()
    }

    /// Watches the hits of a query from now on. `successes` as in `settle`: now and then that is done here.
    pub fn watch<'t>(
        &mut self,
        topic: Topic,
        hits: impl Iterator<Item = &'t Arc<str>>,
        successes: impl Fn(&str) -> u64,
    ) {
        if topic.0.is_empty() {
            return;
        }
        if self.watched.len() == WATCHED {
            self.settle(&successes);
            self.watched.drain(..WATCHED / 2);
        }
        let hits = hits.take(HITS).map(|tool| (tool.clone(), successes(tool))).collect();
        self.watched.push_back(RecordedQuery { topic: Arc::new(topic), hits });
    }

    /// The tools used for similar queries, each with how similar they were, from 0 to 1.
    pub fn similar(&self, topic: &Topic) -> Vec<(Arc<str>, f32)> {
        let mut tools: Vec<(Arc<str>, f32)> = Vec::new();
        for used in &self.remembered {
            let likeness = used.topic.likeness(topic);
            if likeness < SIMILAR {
                continue;
            }
            match tools.iter_mut().find(|(tool, _)| *tool == used.tool) {
                // Often used is better than once used, and never more than certain.
                Some((_, known)) => *known += (1.0 - *known) * likeness,
                None => tools.push((used.tool.clone(), likeness)),
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
        uses.settle(|_| 5);
        assert!(uses.similar(&Topic::of("train to Hamburg")).is_empty());
        uses.settle(|tool| if tool == "trains" { 6 } else { 5 });
        let similar = uses.similar(&Topic::of("train to Hamburg"));
        assert_eq!(similar.len(), 1);
        assert_eq!(&*similar[0].0, "trains");
        assert!(uses.similar(&Topic::of("a poem about spring")).is_empty());
    }

    #[test]
    fn uses_can_be_kept_and_restored() {
        let mut uses = Uses::default();
        let tools: [Arc<str>; 1] = ["trains".into()];
        uses.watch(Topic::of("a train to Berlin"), tools.iter(), |_| 0);
        uses.settle(|_| 1);
        let kept = uses.take_unsaved();
        assert_eq!(kept.len(), 1);
        assert!(uses.take_unsaved().is_empty());
        let mut later = Uses::default();
        later.restore(kept.into_iter());
        assert_eq!(&*later.similar(&Topic::of("train to Hamburg"))[0].0, "trains");
        assert!(later.take_unsaved().is_empty(), "what is known is not written again");
    }

    #[test]
    fn a_success_counts_for_the_last_query_only() {
        let mut uses = Uses::default();
        let tool: [Arc<str>; 1] = ["tool".into()];
        uses.watch(Topic::of("oldest thing"), tool.iter(), |_| 0);
        uses.watch(Topic::of("older words"), tool.iter(), |_| 1);
        uses.watch(Topic::of("newer question"), tool.iter(), |_| 1);
        uses.settle(|_| 2);
        uses.settle(|_| 2);
        assert_eq!(uses.remembered.len(), 2);
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
        assert!(uses.watched.len() <= WATCHED && uses.remembered.len() <= REMEMBERED);
        assert!(uses.similar(&Topic::of("question")).iter().all(|(_, likeness)| *likeness <= 1.0));
    }
}
