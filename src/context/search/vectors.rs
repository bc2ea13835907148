//! Combines word search with the user's embedding function.
//!
//! The two scores have different scales, so each is normalised to 0–1: the words by the best hit, likeness over all tools.
//! Their weighted mean counts. On the public data sets that beats rank fusion.

use super::Hit;
use super::words::{WordKind, each_word, start_of};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use toolhub_registry::{NameEntry, Snapshot};

/// Embedding models read no more of a description than this.
const DESCRIPTION_BYTES: usize = 2_000;
/// Each side proposes this many tools, or `TIMES` as many as were asked for.
const PROPOSED: usize = 100;
const TIMES: usize = 4;

/// A tool without a vector, and the text to embed.
pub struct Unseen {
    pub name: Arc<str>,
    pub changed_at: u64,
    pub text: String,
}

#[derive(Default)]
pub struct Vectors {
    by_name: HashMap<Arc<str>, Embedded, foldhash::fast::RandomState>,
    /// All tools of this registry version have been embedded.
    complete: Option<u64>,
}

struct Embedded {
    changed_at: u64,
    /// Normalised. `None` when the embedding returned nothing usable.
    vector: Option<Box<[f32]>>,
}

impl Vectors {
    /// Up to `most` tools that are new or changed.
    pub fn unseen(&mut self, snapshot: &Snapshot, most: usize) -> Vec<Unseen> {
        if self.complete == Some(snapshot.version()) {
            return Vec::new();
        }
        let is_new = |(name, entry): &(&Arc<str>, &Arc<NameEntry>)| {
            self.by_name.get(*name).is_none_or(|known| known.changed_at != entry.changed_at)
        };
        let new = snapshot.entries().filter(is_new).take(most);
        let found: Vec<Unseen> = new
            .map(|(name, entry)| Unseen {
                name: name.clone(),
                changed_at: entry.changed_at,
                text: text_of(name, entry),
            })
            .collect();
        if found.is_empty() {
            self.by_name.retain(|name, _| snapshot.listed(name).is_some());
            self.complete = Some(snapshot.version());
        }
        found
    }

    pub fn keep(&mut self, name: Arc<str>, changed_at: u64, vector: Option<Vec<f32>>) {
        self.by_name.insert(name, Embedded { changed_at, vector: vector.and_then(unit) });
    }

    /// Combines the word hits with the nearest vectors, best first. `weight` is the share of the vectors, from 0 to 1.
    pub fn mixed(&self, hits: Vec<Hit>, vector: Vec<f32>, weight: f32, k: usize) -> Vec<Hit> {
        let Some(vector) = unit(vector) else { return hits };
        let likeness = |name: &str| {
            let known = self.by_name.get(name)?.vector.as_ref()?;
            (known.len() == vector.len()).then(|| dot(known, &vector))
        };
        let mut near: Vec<(&Arc<str>, f32)> =
            self.by_name.keys().filter_map(|name| Some((name, likeness(name)?))).collect();
        let (best, worst) = near
            .iter()
            .fold((f32::MIN, f32::MAX), |(best, worst), (_, like)| (best.max(*like), worst.min(*like)));
        let nearer = |a: &(&Arc<str>, f32), b: &(&Arc<str>, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(b.0));
        if near.len() > proposed(k) {
            near.select_nth_unstable_by(proposed(k), nearer);
            near.truncate(proposed(k));
        }
        near.sort_by(nearer);
        if near.is_empty() {
            return hits;
        }
        let top = hits.first().map_or(1.0, |hit| hit.score);
        let stretched = |like: f32| if best > worst { (like - worst) / (best - worst) } else { 1.0 };
        let mixed = |name: &Arc<str>, score: f32| {
            let like = likeness(name).map_or(score / top, stretched);
            Hit { name: name.clone(), score: (1.0 - weight) * score / top + weight * like }
        };
        let found: HashSet<&Arc<str>> = hits.iter().map(|hit| &hit.name).collect();
        let others = near.iter().filter(|(name, _)| !found.contains(name)).map(|(name, _)| mixed(name, 0.0));
        let mut all: Vec<Hit> = hits.iter().map(|hit| mixed(&hit.name, hit.score)).chain(others).collect();
        all.sort_by(|a, b| b.score.total_cmp(&a.score));
        all
    }
}

/// The number of word hits needed to combine `k` results.
pub fn proposed(k: usize) -> usize {
    k.saturating_mul(TIMES).max(PROPOSED)
}

/// The name in words, and the description.
fn text_of(name: &str, entry: &NameEntry) -> String {
    let mut text = String::new();
    each_word(name, |word| {
        if word.kind != WordKind::Whole && word.kind != WordKind::Pair {
            text.push_str(word.text);
            text.push(' ');
        }
    });
    if let Some(candidate) = entry.primary() {
        text.push_str(start_of(&candidate.spec().description, DESCRIPTION_BYTES));
    }
    text
}

/// Normalises a vector; `None` when its length is zero or not finite.
fn unit(mut vector: Vec<f32>) -> Option<Box<[f32]>> {
    let length = dot(&vector, &vector).sqrt();
    if !(length.is_finite() && length > 0.0) {
        return None;
    }
    vector.iter_mut().for_each(|value| *value /= length);
    Some(vector.into())
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    // Eight independent sums, so that the additions run in parallel.
    let (mut sums, (heads, tail)) = ([0.0; 8], a.as_chunks::<8>());
    let (others, rest) = b.as_chunks::<8>();
    for (x, y) in heads.iter().zip(others) {
        sums.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (x, y))| *sum += x * y);
    }
    sums.iter().sum::<f32>() + tail.iter().zip(rest).map(|(x, y)| x * y).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(name: &str, score: f32) -> Hit {
        Hit { name: name.into(), score }
    }

    fn vectors(all: &[(&str, Option<Vec<f32>>)]) -> Vectors {
        let mut vectors = Vectors::default();
        all.iter().for_each(|(name, vector)| vectors.keep(Arc::from(*name), 1, vector.clone()));
        vectors
    }

    #[test]
    fn what_both_like_is_first_and_each_may_propose() {
        let known = vectors(&[
            ("both", Some(vec![9.0, 1.0])),
            ("words", Some(vec![0.0, 1.0])),
            ("vector", Some(vec![1.0, 0.0])),
        ]);
        let mixed = known.mixed(vec![hit("words", 4.0), hit("both", 3.0)], vec![2.0, 0.0], 0.5, 10);
        let names: Vec<&str> = mixed.iter().map(|hit| &*hit.name).collect();
        assert_eq!(names, ["both", "words", "vector"]);
    }

    #[test]
    fn the_weight_decides_between_words_and_vectors() {
        let known = vectors(&[("words", Some(vec![0.0, 1.0])), ("vector", Some(vec![1.0, 0.0]))]);
        for (weight, first) in [(0.0, "words"), (0.3, "words"), (0.7, "vector"), (1.0, "vector")] {
            let mixed = known.mixed(vec![hit("words", 4.0)], vec![1.0, 0.0], weight, 10);
            assert_eq!(&*mixed[0].name, first, "{weight}");
        }
    }

    #[test]
    fn without_an_opinion_the_words_decide() {
        let hits = || vec![hit("a", 4.0), hit("b", 3.0)];
        let names = |hits: Vec<Hit>| hits.iter().map(|hit| hit.name.to_string()).collect::<Vec<_>>();
        let known = vectors(&[("a", None), ("b", None)]);
        assert_eq!(names(known.mixed(hits(), vec![1.0], 0.5, 5)), ["a", "b"]);
        let known = vectors(&[("a", Some(vec![1.0, 0.0])), ("b", Some(vec![0.0, 1.0]))]);
        for odd in [vec![], vec![0.0, 0.0], vec![f32::NAN, 1.0], vec![1.0, 2.0, 3.0]] {
            assert_eq!(names(known.mixed(hits(), odd, 0.5, 5)), ["a", "b"]);
        }
    }
}
