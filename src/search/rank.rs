//! Scores tools against a query and returns the best.
//!
//! The first pass adds up term scores (BM25F; fields were weighed when a tool was indexed). The second pass reranks the best
//! few hundred: a tool gains when its whole name is asked for, when it fits one clause of the query well, and when it does
//! what the clause asks for; it loses when it does the opposite. Then words are counted, whatever their field and rarity: how
//! many of a clause the tool has, and how many of its first sentence the query has; and, as far as no tool has
//! all words and the query's words have vectors, what query and tool are about is compared. Last, each wish of the query gets
//! a place near the top.

use super::clauses::Wish;
use super::dictionary::Term;
use super::index::{Document, Index};
use super::query::{Query, WantedWord};
use super::verbs::VerbKind;
use super::weights::{
    ACTS, AGREEING, DELETES, LEAD_COVERED, LIKENESS, NAME_COVERED, NAMED, OPPOSITE, QUERY_COVERED, REVERSED,
    SAME_NUMBER, SAME_NUMBER_OF_OBJECT, SATURATION, SENTENCE, SHORTEST_CLAUSE, WORDS_FOUND,
};
use smallvec::SmallVec;
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

/// The slots and scores of the best `k` tools, best first. Ties are sorted by name, so that the result does not depend on
/// the registration order (unless more tools tie than are reranked; then the older ones are).
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
    rerank(index, query, &mut found);
    let name = |one: &Finalist| index.document(one.slot).map(|document| &document.name);
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| name(a).cmp(&name(b))));
    give_places(index, query, &mut found);
    found.iter().take(k).map(|one| (one.slot, one.score)).collect()
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
    let Parts { by_sentence, matched, asked, said } = parts(index, query, found);
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
        let wish = wish(query, &by_sentence[at * query.sentences..][..query.sentences]);
        let kinds = Agreement::of(query, wish, document);
        let covered = covered(index, query, document, kinds);
        let named = if is_named(query, document) { NAMED } else { 0.0 };
        let score = one.score + top * (SENTENCE * share + NAME_COVERED * covered + named);
        let agreement = kinds.factor(query, wish, document)
            * if is_reversed(query, document) { 1.0 - REVERSED } else { 1.0 };
        one.score = score * (1.0 + QUERY_COVERED * matched / all) * agreement;
        let said = said[at] + said_verb(index, query, document, kinds);
        let words = word_bonus(index, words_found(query, asked_of(at)), document, said);
        let bonus = words + LIKENESS * open * query.with_vectors * likeness(query, document);
        bonuses.push(agreement.min(1.0) * bonus);
    }
    let top = found.iter().map(|one| one.score).fold(0.0, f32::max);
    found.iter_mut().zip(bonuses).for_each(|(one, bonus)| one.score += top * bonus);
}

/// The share of the words of a tool's best clause that the tool has. `asked` are those of each clause.
fn words_found(query: &Query, asked: &[f32]) -> f32 {
    let shares =
        asked.iter().zip(&query.lengths).map(|(found, all)| found / (*all as f32).max(SHORTEST_CLAUSE));
    shares.fold(0.0, f32::max).min(1.0)
}

/// The bonus for the number of words that query and tool share: the share of the query that was `found`, and the words of the
/// first sentence that the query has `said`, by rarity.
fn word_bonus(index: &Index, found: f32, document: &Document, said: f32) -> f32 {
    let covered = if said > 0.0 {
        said / document.lead_terms().map(|term| index.rarity(term)).sum::<f32>()
    } else {
        0.0
    };
    WORDS_FOUND * found + LEAD_COVERED * covered
}

/// The rarity of the verb of a name, where the first sentence has it and the query has another one of its kind.
fn said_verb(index: &Index, query: &Query, document: &Document, kinds: Agreement) -> f32 {
    let place = document.verb.filter(|_| kinds == Agreement::Same).and_then(|verb| {
        document.name_terms().position(|term| term == verb).filter(|at| document.is_lead(*at))
    });
    let is_new = |verb: &Term| query.find(*verb).is_none_or(|wanted| !wanted.is_asked);
    document.verb.filter(|_| place.is_some()).filter(is_new).map_or(0.0, |verb| index.rarity(verb))
}

/// How well the subject of a tool fits the query, or its best clause.
fn likeness(query: &Query, document: &Document) -> f32 {
    let Some(direction) = &document.direction else { return 0.0 };
    query.directions.iter().map(|asked| asked.likeness(direction)).fold(0.0, f32::max)
}

/// How what a tool promises compares with what a clause asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Agreement {
    Same,
    Against,
    Open,
}

impl Agreement {
    fn of(query: &Query, wish: Wish, document: &Document) -> Self {
        let Some((asked, done)) = wish.kind.zip(document.promise.kind) else { return Agreement::Open };
        let has_verb = |verbs: &[Term]| document.verb.is_some_and(|verb| verbs.contains(&verb));
        let is_asked = || has_verb(&query.verbs);
        match () {
            () if asked == done && (asked != VerbKind::Act || is_asked()) => Agreement::Same,
            () if !asked.is_against(done) || is_asked() || has_verb(&query.translated_verbs) => {
                Agreement::Open
            }
            () if document.promise.is_doubtful && !has_object(query, document) => Agreement::Open,
            () => Agreement::Against,
        }
    }

    fn factor(self, query: &Query, wish: Wish, document: &Document) -> f32 {
        let reads = wish.kind.is_some_and(VerbKind::is_harmless);
        match self {
            Agreement::Same if !has_same_number(wish, document) => 1.0 + AGREEING,
            Agreement::Same if has_object(query, document) => 1.0 + AGREEING + SAME_NUMBER_OF_OBJECT,
            Agreement::Same => 1.0 + AGREEING + SAME_NUMBER,
            Agreement::Against if reads && document.promise.kind == Some(VerbKind::Delete) => 1.0 - DELETES,
            Agreement::Against if wish.is_open => 1.0 - ACTS,
            Agreement::Against => 1.0 - OPPOSITE,
            Agreement::Open => 1.0,
        }
    }
}

/// Whether a name has a word of the query besides its verb.
fn has_object(query: &Query, document: &Document) -> bool {
    document.name_terms().any(|term| document.verb != Some(term) && query.find(term).is_some())
}

/// Whether a name has the opposite of a word of the query, or a verb that is not to be done.
fn is_reversed(query: &Query, document: &Document) -> bool {
    let has = |wanted: Term| document.terms.iter().any(|term| term.number() == wanted);
    query
        .opposed
        .iter()
        .any(|other| document.name_terms().any(|term| term == other.term) && !other.unless.is_some_and(has))
}

/// Whether a query for several things meets a tool that lists, or one for a single thing a tool that gets it.
fn has_same_number(wish: Wish, document: &Document) -> bool {
    wish.kind == Some(VerbKind::Read) && wish.several == Some(document.promise.gives_several)
}

/// A query of several wishes gets a tool for each: the best one for each wish is among the first two or three times as many
/// hits as there are wishes.
fn give_places(index: &Index, query: &Query, found: &mut [Finalist]) {
    let own: Vec<usize> = (0..query.sentences).filter(|at| query.wishes[*at].is_own).collect();
    if own.len() < 2 {
        return;
    }
    let last = own.len() * 5 / 2;
    let by_sentence = parts(index, query, found).by_sentence;
    let mut late: Vec<usize> = Vec::new();
    for wish in own {
        let score = |at: &usize| by_sentence[at * query.sentences + wish];
        let best = (0..found.len()).max_by(|a, b| score(a).total_cmp(&score(b)).then(b.cmp(a)));
        late.extend(best.filter(|at| *at >= last && !late.contains(at)));
    }
    late.sort_unstable();
    for (done, at) in late.iter().enumerate() {
        let to = last - late.len() + done;
        let score = found[to].score;
        found[to..=*at].rotate_right(1);
        found[to].score = score;
    }
}

/// What the clause asks for that a tool fits best.
fn wish(query: &Query, clauses: &[f32]) -> Wish {
    let best = clauses.iter().zip(&query.wishes).max_by(|a, b| a.0.total_cmp(b.0));
    best.map(|(_, wish)| *wish).unwrap_or_default()
}

/// Whether the query has all words of the name, one after the other.
fn is_named(query: &Query, document: &Document) -> bool {
    let name: SmallVec<[Term; 8]> = document.name_terms().collect();
    name.len() > 1 && query.sequence.windows(name.len()).any(|part| *part == name[..])
}

/// What each finalist has of the query.
struct Parts {
    /// For each finalist and each sentence of the query: the score.
    by_sentence: Vec<f32>,
    /// For each finalist: the matched weight of the query.
    matched: Vec<f32>,
    /// For each finalist and each sentence: the number of words, without grammar.
    asked: Vec<f32>,
    /// For each finalist: these words in its own first sentence, by their rarity.
    said: Vec<f32>,
}

/// Whether a tool does something else than the clause of a word asks for. Its verb is then not what the word means: "show the
/// deleted orders", "is the bucket empty".
fn is_against(query: &Query, wanted: &WantedWord, document: &Document) -> bool {
    let wish = query.wishes[wanted.sentence as usize];
    Agreement::of(query, wish, document) == Agreement::Against
}

fn parts(index: &Index, query: &Query, found: &[Finalist]) -> Parts {
    let cells = found.len() * query.sentences;
    let (mut by_sentence, mut asked) = (vec![0.0; cells], vec![0.0; cells]);
    let (mut matched, mut said) = (vec![0.0; found.len()], vec![0.0; found.len()]);
    for (one, finalist) in found.iter().enumerate() {
        let Some(document) = index.document(finalist.slot) else { continue };
        for (at, term) in document.terms.iter().enumerate() {
            let Some(wanted) = query.find(term.number()) else { continue };
            if document.verb == Some(term.number()) && is_against(query, wanted, document) {
                continue;
            }
            let cell = one * query.sentences + wanted.sentence as usize;
            by_sentence[cell] += scale(wanted) * term.worth();
            matched[one] += wanted.weight;
            if wanted.is_asked {
                asked[cell] += 1.0;
                said[one] += if document.is_lead(at) { wanted.rarity } else { 0.0 };
            }
        }
    }
    Parts { by_sentence, matched, asked, said }
}

/// The share of a name that the query mentions, weighted by rarity. The verb of the name is mentioned by any other one of
/// its kind, and by none of another kind.
fn covered(index: &Index, query: &Query, document: &Document, agreement: Agreement) -> f32 {
    let (mut asked, mut all) = (0.0, 0.0);
    for term in document.name_terms() {
        let rarity = index.rarity(term);
        all += rarity;
        let is_asked = match agreement {
            Agreement::Same if document.verb == Some(term) => true,
            Agreement::Against if document.verb == Some(term) => false,
            _ => query.mentioned.binary_search(&term).is_ok(),
        };
        asked += if is_asked { rarity } else { 0.0 };
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
