//! Scores tools against a query and returns the best.
//!
//! The first pass adds up term scores (BM25F; fields were weighed when a tool was indexed). The second pass reranks the best
//! few hundred: a tool gains when its whole name is asked for and when it fits one sentence of the query well. Then words are
//! counted, whatever their field and rarity: how many of a sentence the tool has; and, as far as no tool has all words and the query's words have vectors, what query and tool are about is compared.
//! Last, a query that asks to read gets a tool that does not act first.

use super::Hit;
use super::index::{Document, Index};
use super::query::{Query, WantedWord};
use super::weights::{
    LIKENESS, NAME_COVERED, QUERY_COVERED, SATURATION, SENTENCE, SHORTEST_SENTENCE, WORDS_FOUND,
};
use std::cell::RefCell;
use std::cmp::Ordering;

/// The number of tools that are reranked.
const FINALISTS: usize = 256;
/// A term in more tools than `COMMON_TERM`, with less than `MINOR_WEIGHT` of the query's weight, counts in the second pass
/// only.
const COMMON_TERM: usize = 4_096;
const MINOR_WEIGHT: f32 = 0.05;
/// A tool below this share of a sentence's best score gains nothing from that sentence.
const SENTENCE_FLOOR: f32 = 0.5;

thread_local! {
    /// All zeros between queries: clearing is cheaper than allocating.
    static SCORES: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// The best `k` tools, best first. Ties are sorted by name, so that the result does not depend on
/// the registration order (unless more tools tie than are reranked; then the older ones are).
pub fn best(index: &Index, query: &Query, k: usize) -> Vec<Hit> {
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
    rerank(index, query, &mut found);
    let name = |one: &Finalist| index.document(one.slot).map(|document| &document.name);
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| name(a).cmp(&name(b))));
    if query.reads {
        read_first(index, &mut found);
    }
    let hit = |one: &Finalist| Some(Hit { name: name(one)?.clone(), score: one.score });
    found.iter().take(k).filter_map(hit).collect()
}

struct Finalist {
    slot: usize,
    score: f32,
}

fn better(a: &Finalist, b: &Finalist) -> Ordering {
    b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot))
}

/// The first pass. Common words of little weight are left to the second pass.
fn add_up(index: &Index, query: &Query, scores: &mut [f32]) {
    let all: f32 = query.terms.iter().map(|wanted| wanted.weight).sum();
    for wanted in &query.terms {
        let postings = index.postings(wanted.term);
        if postings.len() > COMMON_TERM && wanted.weight < MINOR_WEIGHT * all {
            continue;
        }
        let scale = scale(wanted);
        for posting in postings {
            scores[posting.number() as usize] += scale * posting.worth();
        }
    }
}

/// The score of one 255th of a term's worth.
fn scale(wanted: &WantedWord) -> f32 {
    wanted.weight * (SATURATION + 1.0) / 255.0
}

/// The `most` best scores, selected in bulk whenever twice as many have been collected.
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

fn rerank(index: &Index, query: &Query, found: &mut [Finalist]) {
    let all: f32 = query.terms.iter().map(|wanted| wanted.weight).sum();
    let (by_sentence, matched, asked) = parts(index, query, found);
    for (one, parts) in found.iter_mut().zip(by_sentence.chunks(query.sentences)) {
        one.score = parts.iter().sum();
    }
    let top = found.iter().map(|one| one.score).fold(0.0, f32::max);
    let shares = sentence_shares(query, &by_sentence, top);
    let asked_of = |at: usize| &asked[at * query.sentences..][..query.sentences];
    let most_found = (0..found.len()).map(|at| words_found(query, asked_of(at))).fold(0.0, f32::max);
    let open = 1.0 - most_found;
    let mut bonuses = Vec::with_capacity(found.len());
    for (at, ((one, matched), share)) in found.iter_mut().zip(matched).zip(shares).enumerate() {
        let Some(document) = index.document(one.slot) else {
            bonuses.push(0.0);
            continue;
        };
        let covered = covered(index, query, document);
        let score = one.score + top * (SENTENCE * share + NAME_COVERED * covered);
        one.score = score * (1.0 + QUERY_COVERED * matched / all);
        let bonus = WORDS_FOUND * words_found(query, asked_of(at))
            + LIKENESS * open * query.with_vectors * likeness(query, document);
        bonuses.push(bonus);
    }
    let top = found.iter().map(|one| one.score).fold(0.0, f32::max);
    found.iter_mut().zip(bonuses).for_each(|(one, bonus)| one.score += top * bonus);
}

/// The share of the words of a tool's best sentence that the tool has. `asked` are those of each sentence.
fn words_found(query: &Query, asked: &[f32]) -> f32 {
    let shares =
        asked.iter().zip(&query.lengths).map(|(found, all)| found / (*all as f32).max(SHORTEST_SENTENCE));
    shares.fold(0.0, f32::max).min(1.0)
}

/// How well the subject of a tool fits the query, or its best sentence.
fn likeness(query: &Query, document: &Document) -> f32 {
    let Some(direction) = &document.direction else { return 0.0 };
    query.directions.iter().map(|asked| asked.likeness(direction)).fold(0.0, f32::max)
}

/// The rule of [`intent`](super::intent): for a query that reads, the best tool that does not act comes before those that may.
fn read_first(index: &Index, found: &mut [Finalist]) {
    let acts = |one: &Finalist| index.document(one.slot).is_some_and(|document| document.may_act);
    if let Some(at) = found.iter().position(|one| !acts(one)) {
        found[at].score = found[0].score;
        found[..=at].rotate_right(1);
    }
}

/// What each finalist has of the query: for each sentence the score, in all the matched weight, and for each sentence the number of
/// words, without grammar.
fn parts(index: &Index, query: &Query, found: &[Finalist]) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let cells = found.len() * query.sentences;
    let (mut by_sentence, mut asked) = (vec![0.0; cells], vec![0.0; cells]);
    let mut matched = vec![0.0; found.len()];
    for (one, finalist) in found.iter().enumerate() {
        let Some(document) = index.document(finalist.slot) else { continue };
        for term in &document.terms {
            let Some(wanted) = query.find(term.number()) else { continue };
            let cell = one * query.sentences + wanted.sentence as usize;
            by_sentence[cell] += scale(wanted) * term.worth();
            matched[one] += wanted.weight;
            if wanted.is_asked {
                asked[cell] += 1.0;
            }
        }
    }
    (by_sentence, matched, asked)
}

/// The share of a name that the query mentions, weighted by rarity.
fn covered(index: &Index, query: &Query, document: &Document) -> f32 {
    let (mut asked, mut all) = (0.0, 0.0);
    for term in document.name_terms() {
        let rarity = index.rarity(term);
        all += rarity;
        asked += if query.mentioned.binary_search(&term).is_ok() { rarity } else { 0.0 };
    }
    if all > 0.0 { asked / all } else { 0.0 }
}

/// For a query of several sentences: how well each finalist fits individual ones.
fn sentence_shares(query: &Query, by_sentence: &[f32], top: f32) -> Vec<f32> {
    let mut shares = vec![0.0; by_sentence.len() / query.sentences];
    if query.sentences == 1 {
        return shares;
    }
    for sentence in 0..query.sentences {
        let scores = || by_sentence.iter().skip(sentence).step_by(query.sentences);
        let best = scores().copied().fold(0.0, f32::max);
        for (share, score) in shares.iter_mut().zip(scores()) {
            if *score > SENTENCE_FLOOR * best {
                *share += (score / best).powi(2) * (best / top).min(1.0);
            }
        }
    }
    shares
}
