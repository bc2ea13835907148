//! Scores the tools that have what a query asks for, and gives the best.
//!
//! First the terms add to the tools that have them (BM25F: fields were weighed when a tool was read). Then the best few
//! hundred are looked at more closely: is all of the name asked for, does one sentence of the query want just this tool.

use super::index::{Document, Index};
use super::query::{Query, WantedWord};
use super::weights::{NAME_COVERED, QUERY_COVERED, SATURATION, SENTENCE};
use std::cell::RefCell;
use std::cmp::Ordering;

/// So many are looked at more closely.
const FINALISTS: usize = 256;
/// A term of more tools than this, which is less than this share of the query, is looked for among the finalists only.
const MANY: usize = 4_096;
const LITTLE: f32 = 0.05;
/// In one sentence, who has less than this share of its best score is not meant by it.
const MEANT: f32 = 0.5;

thread_local! {
    /// Zeros between two queries: clearing them is cheaper than new memory for all tools.
    static SCORES: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// The slots of the best `k` tools with their scores, best first; equals by their names, so that the same tools give the same
/// list in whatever order they came. (Of more equals than there are finalists, the older ones are looked at.)
pub fn best(index: &Index, query: &Query, k: usize) -> Vec<(usize, f32)> {
    if k == 0 || query.terms.is_empty() {
        return Vec::new();
    }
    let mut found = SCORES.with_borrow_mut(|scores| {
        if scores.len() < index.slots() {
            scores.resize(index.slots(), 0.0);
        }
        let scores = &mut scores[..index.slots()];
        add_up(index, query, scores);
        let found = finalists(scores, FINALISTS.max(k).min(index.slots()));
        scores.fill(0.0);
        found
    });
    look_closely(index, query, &mut found);
    let name = |one: &Finalist| index.document(one.slot).map(|document| &document.name);
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| name(a).cmp(&name(b))));
    found.iter().take(k).map(|one| (one.slot, one.score)).collect()
}

struct Finalist {
    slot: usize,
    score: f32,
}

fn better(a: &Finalist, b: &Finalist) -> Ordering {
    b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot))
}

/// Words that most tools have and that add little are left for the finalists: they decide between those that have more.
fn add_up(index: &Index, query: &Query, scores: &mut [f32]) {
    let all: f32 = query.terms.iter().map(|wanted| wanted.weight).sum();
    for wanted in &query.terms {
        let postings = index.postings(wanted.term);
        if postings.len() > MANY && wanted.weight < LITTLE * all {
            continue;
        }
        let scale = scale(wanted);
        for posting in postings {
            scores[posting.number() as usize] += scale * posting.worth();
        }
    }
}

/// What one 255th of a term's worth adds.
fn scale(wanted: &WantedWord) -> f32 {
    wanted.weight * (SATURATION + 1.0) / 255.0
}

/// The best of all scores. Whoever is not better than as many others is not even noted.
fn finalists(scores: &[f32], most: usize) -> Vec<Finalist> {
    let (mut found, mut bar) = (Vec::with_capacity(2 * most), 0.0);
    for (slot, &score) in scores.iter().enumerate() {
        if score > bar {
            found.push(Finalist { slot, score });
            if found.len() == 2 * most {
                found.select_nth_unstable_by(most - 1, better);
                found.truncate(most);
                bar = found[most - 1].score;
            }
        }
    }
    if found.len() > most {
        found.select_nth_unstable_by(most - 1, better);
        found.truncate(most);
    }
    found
}

fn look_closely(index: &Index, query: &Query, found: &mut [Finalist]) {
    let all: f32 = query.terms.iter().map(|wanted| wanted.weight).sum();
    let (by_sentence, had) = parts(index, query, found);
    for (one, parts) in found.iter_mut().zip(by_sentence.chunks(query.sentences)) {
        one.score = parts.iter().sum();
    }
    let top = found.iter().map(|one| one.score).fold(0.0, f32::max);
    let shares = sentence_shares(query, &by_sentence, top);
    for ((one, had), share) in found.iter_mut().zip(had).zip(shares) {
        let covered = index.document(one.slot).map_or(0.0, |document| covered(index, query, document));
        let score = one.score + top * (SENTENCE * share + NAME_COVERED * covered);
        one.score = score * (1.0 + QUERY_COVERED * had / all);
    }
}

/// For each finalist: what each sentence of the query gives it, and how much of the query it has.
fn parts(index: &Index, query: &Query, found: &[Finalist]) -> (Vec<f32>, Vec<f32>) {
    let (mut by_sentence, mut had) = (vec![0.0; found.len() * query.sentences], vec![0.0; found.len()]);
    for (at, one) in found.iter().enumerate() {
        let scores = &mut by_sentence[at * query.sentences..][..query.sentences];
        let terms = index.document(one.slot).map_or(&[][..], |document| &document.terms);
        for term in terms {
            if let Some(wanted) = query.find(term.number()) {
                scores[wanted.sentence as usize] += scale(wanted) * term.worth();
                had[at] += wanted.weight;
            }
        }
    }
    (by_sentence, had)
}

/// How much of a name is asked for, rare words first.
fn covered(index: &Index, query: &Query, document: &Document) -> f32 {
    let (mut said, mut all) = (0.0, 0.0);
    for term in document.name_terms() {
        let rarity = index.rarity(term);
        all += rarity;
        if query.said.binary_search(&term).is_ok() {
            said += rarity;
        }
    }
    if all > 0.0 { said / all } else { 0.0 }
}

/// For a query of several sentences: how well each finalist fits single ones.
fn sentence_shares(query: &Query, by_sentence: &[f32], top: f32) -> Vec<f32> {
    let mut shares = vec![0.0; by_sentence.len() / query.sentences];
    if query.sentences == 1 {
        return shares;
    }
    for sentence in 0..query.sentences {
        let scores = || by_sentence.iter().skip(sentence).step_by(query.sentences);
        let best = scores().copied().fold(0.0, f32::max);
        for (share, score) in shares.iter_mut().zip(scores()) {
            if *score > MEANT * best {
                *share += (score / best).powi(2) * (best / top).min(1.0);
            }
        }
    }
    shares
}
