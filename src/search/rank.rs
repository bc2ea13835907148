//! Scores the tools that have what a query asks for, and gives the best.
//!
//! First every term adds to the tools that have it (BM25F: fields were weighed when a tool was read). Then the best few
//! hundred are looked at more closely: is all of the name asked for, does one sentence of the query want just this tool.

use super::index::Index;
use super::query::Query;
use super::weights::{NAME_COVERED, QUERY_COVERED, SATURATION, SENTENCE};
use std::cell::RefCell;

/// So many are looked at more closely.
const FINALISTS: usize = 256;
/// In one sentence, who has less than this share of its best score is not meant by it.
const MEANT: f32 = 0.5;

/// What one tool has so far: its score, and how much of the query it has.
#[derive(Clone, Copy, Default)]
struct Tally {
    score: f32,
    found: f32,
}

thread_local! {
    /// Zeros between two queries: clearing what was touched is cheaper than new memory for all tools.
    static TALLIES: RefCell<Vec<Tally>> = const { RefCell::new(Vec::new()) };
}

/// The slots of the best `k` tools with their scores, best first; of equals the older one first.
pub fn best(index: &Index, query: &Query, k: usize) -> Vec<(usize, f32)> {
    if k == 0 || query.terms.is_empty() {
        return Vec::new();
    }
    TALLIES.with_borrow_mut(|tallies| {
        if tallies.len() < index.slots() {
            tallies.resize(index.slots(), Tally::default());
        }
        let mut found = add_up(index, query, tallies);
        tallies[..index.slots()].fill(Tally::default());
        look_closely(index, query, &mut found);
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot)));
        found.iter().take(k).map(|one| (one.slot, one.score)).collect()
    })
}

struct Finalist {
    slot: usize,
    score: f32,
    found: f32,
}

fn add_up(index: &Index, query: &Query, tallies: &mut [Tally]) -> Vec<Finalist> {
    for wanted in &query.terms {
        let scale = wanted.weight * (SATURATION + 1.0);
        for posting in index.postings(wanted.term) {
            let tally = &mut tallies[posting.slot()];
            tally.score += scale * posting.worth();
            tally.found += wanted.weight;
        }
    }
    let mut found: Vec<Finalist> = tallies[..index.slots()]
        .iter()
        .enumerate()
        .filter(|(_, tally)| tally.score > 0.0)
        .map(|(slot, tally)| Finalist { slot, score: tally.score, found: tally.found })
        .collect();
    if found.len() > FINALISTS {
        found.select_nth_unstable_by(FINALISTS, |a, b| b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot)));
        found.truncate(FINALISTS);
    }
    found
}

fn look_closely(index: &Index, query: &Query, found: &mut [Finalist]) {
    let top = found.iter().map(|one| one.score).fold(0.0, f32::max);
    let all: f32 = query.terms.iter().map(|wanted| wanted.weight).sum();
    let sentences = sentence_shares(index, query, found, top);
    for (one, sentence) in found.iter_mut().zip(sentences) {
        let covered =
            index.document(one.slot).map_or(0.0, |document| covered(index, query, document.name_terms()));
        let score = one.score + top * (SENTENCE * sentence + NAME_COVERED * covered);
        one.score = score * (1.0 + QUERY_COVERED * one.found / all);
    }
}

/// How much of a name is asked for, rare words first.
fn covered(index: &Index, query: &Query, name: &[u32]) -> f32 {
    let (mut said, mut all) = (0.0, 0.0);
    for term in name {
        let rarity = index.rarity(*term);
        all += rarity;
        if query.said.binary_search(term).is_ok() {
            said += rarity;
        }
    }
    if all > 0.0 { said / all } else { 0.0 }
}

/// For a query of several sentences: how well each finalist fits single ones.
fn sentence_shares(index: &Index, query: &Query, found: &[Finalist], top: f32) -> Vec<f32> {
    let mut shares = vec![0.0; found.len()];
    let several = query.terms.first().map(|one| one.sentence) != query.terms.last().map(|one| one.sentence);
    if !several {
        return shares;
    }
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|at| found[*at].slot);
    for sentence in query.terms.chunk_by(|a, b| a.sentence == b.sentence) {
        let mut scores = vec![0.0; found.len()];
        for wanted in sentence {
            let mut postings = index.postings(wanted.term);
            for at in &order {
                let slot = found[*at].slot;
                let skipped = postings.partition_point(|posting| posting.slot() < slot);
                postings = &postings[skipped..];
                if let Some(posting) = postings.first().filter(|posting| posting.slot() == slot) {
                    scores[*at] += wanted.weight * (SATURATION + 1.0) * posting.worth();
                }
            }
        }
        let best = scores.iter().copied().fold(0.0, f32::max);
        for (share, score) in shares.iter_mut().zip(scores) {
            if score > MEANT * best {
                *share += (score / best).powi(2) * (best / top).min(1.0);
            }
        }
    }
    shares
}
