//! A query as weighted terms of the index.

use super::bilingual::DICTIONARY;
use super::dictionary::{Term, stem};
use super::index::Index;
use super::intent::asks_to_read;
use super::tables::{is_stop, other_forms, synonyms};
use super::weights::{
    ABBREVIATION, CAPABILITY, CAPABILITY_OF_LONG, JOINED, LONG_QUERY, NUMBER, QUOTED, STOP, SYNONYM,
    TRANSLATION, TYPO, WORDS_OF_PAIR, WORDS_OF_SENTENCE,
};
use super::word_vectors::{Direction, VectorSum, WORD_VECTORS};
use super::words::{Word, WordKind, each_wide_run, each_word, start_of};

/// Only the beginning of a longer query is read.
const BYTES: usize = 8_000;
/// The number of terms used; those with the highest weight win.
const TERMS: usize = 96;
/// The number of unknown words for which a correction is searched.
const TYPOS: usize = 8;

pub struct Query {
    /// Unique, sorted by term.
    pub terms: Vec<WantedWord>,
    /// Every term in the query text, whatever its weight; sorted.
    pub mentioned: Vec<Term>,
    /// The number of sentences that have terms.
    pub sentences: usize,
    /// The number of words in each of them, without grammar and quotations.
    pub lengths: Vec<u32>,
    /// It asks to read.
    pub reads: bool,
    /// What the query is about, and each sentence of several.
    pub directions: Vec<Direction>,
    /// The share of its words that have a vector. A few English words do not say what a Chinese sentence is about.
    pub with_vectors: f32,
    /// A Bloom filter over `terms`: rules out most other terms without a search.
    filter: [u64; 16],
}

#[derive(Clone, Copy)]
pub struct WantedWord {
    pub term: Term,
    /// The most that the term can add to a tool's score.
    pub weight: f32,
    /// Below `Query::sentences`.
    pub sentence: u32,
    /// One of `Query::lengths`, or another form of one.
    pub is_asked: bool,
}

fn filter_bit(term: Term) -> (usize, u64) {
    (term as usize / 64 % 16, 1 << (term % 64))
}

impl Query {
    /// `capabilities` are the tags extracted from the query.
    pub fn read<'t>(text: &str, capabilities: impl Iterator<Item = &'t str>, index: &Index) -> Query {
        let mut reading = QueryReading {
            index,
            terms: Vec::new(),
            mentioned: Vec::new(),
            asked: Vec::new(),
            other_forms: Vec::new(),
            unknown: Vec::new(),
            sums: Vec::new(),
            without_vectors: 0.0,
            previous: None,
            typos: 0,
        };
        let text = start_of(text, BYTES);
        let mut only_stops = true;
        each_word(unquoted(text), |word| only_stops &= is_stop(word.text));
        each_word(unquoted(text), |Word { text, kind, position, sentence, quoted }| {
            let stop = is_stop(text) && !only_stops;
            let mut weight = if stop { STOP } else { 1.0 };
            weight *= if quoted { QUOTED } else { 1.0 };
            weight *= if kind == WordKind::Number { NUMBER } else { 1.0 };
            let known = reading.mentioned.len();
            reading.word(text, kind, weight, sentence);
            if !stop && !quoted && matches!(kind, WordKind::Word | WordKind::Number | WordKind::Pair) {
                reading.ask(known, sentence);
            }
            reading.joined(text, kind, position, sentence);
            if stop {
                return;
            }
            let stem = stem(text, kind);
            reading.point(&stem, kind, if quoted { QUOTED } else { 1.0 }, sentence);
            if !quoted {
                reading.related(&stem, weight, sentence);
                reading.add_chinese(text, kind, weight, sentence);
            }
        });
        each_wide_run(text, |run, sentence| reading.add_english(run, sentence));
        let weight = if reading.words() < LONG_QUERY { CAPABILITY } else { CAPABILITY_OF_LONG };
        for term in capabilities.filter_map(|tag| index.dictionary.find_capability(tag)) {
            reading.add_term(term, weight, 0);
        }
        reading.finish(asks_to_read(text))
    }

    /// The query's entry for a term.
    pub fn find(&self, term: Term) -> Option<&WantedWord> {
        let (word, bit) = filter_bit(term);
        if self.filter[word] & bit == 0 {
            return None;
        }
        let at = self.terms.binary_search_by_key(&term, |wanted| wanted.term).ok()?;
        Some(&self.terms[at])
    }
}

/// The text inside quotation marks that enclose all of it: they do not set anything apart.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inside = |open: char, close: char| {
        text.strip_prefix(open)?.strip_suffix(close).filter(|inner| !inner.contains(close))
    };
    [('"', '"'), ('“', '”'), ('「', '」'), ('\'', '\'')]
        .iter()
        .find_map(|(open, close)| inside(*open, *close))
        .unwrap_or(text)
}

struct QueryReading<'i> {
    index: &'i Index,
    terms: Vec<WantedWord>,
    mentioned: Vec<Term>,
    /// The terms of words that are neither grammar nor quoted.
    asked: Vec<Term>,
    /// Short and long forms of these.
    other_forms: Vec<Term>,
    /// The sentences of such words that no tool has.
    unknown: Vec<u32>,
    /// What each sentence is about.
    sums: Vec<VectorSum>,
    /// The number of words without a vector.
    without_vectors: f32,
    /// The previous word and its position.
    previous: Option<(String, u32)>,
    typos: usize,
}

impl QueryReading<'_> {
    fn is_used(&self, term: Term) -> bool {
        !self.index.postings(term).is_empty()
    }

    fn word(&mut self, text: &str, kind: WordKind, weight: f32, sentence: u32) {
        let dictionary = &self.index.dictionary;
        if let Some(term) = dictionary.find(text, kind).filter(|term| self.is_used(*term)) {
            self.mention(term, weight, sentence);
        } else if kind == WordKind::Word && self.typos < TYPOS {
            self.typos += 1;
            if let Some(parts) = dictionary.split(text, |term| self.is_used(term)) {
                parts.into_iter().for_each(|term| self.mention(term, weight, sentence));
            } else if let Some(term) = dictionary.near(text, |term| self.index.postings(term).len()) {
                self.mention(term, weight * TYPO, sentence);
            }
        }
    }

    /// Takes what was mentioned since `before` as asked for.
    fn ask(&mut self, before: usize, sentence: u32) {
        if self.mentioned.len() == before {
            self.unknown.push(sentence);
        }
        self.asked.extend_from_slice(&self.mentioned[before..]);
    }

    /// The number of words without grammar and quotations.
    fn words(&self) -> usize {
        self.asked.len() + self.unknown.len()
    }

    /// Adds a word to what its sentence is about, whether tools have it or not.
    fn point(&mut self, stem: &str, kind: WordKind, weight: f32, sentence: u32) {
        let Some(vectors) = WORD_VECTORS.read() else { return };
        if kind == WordKind::Pair {
            self.without_vectors += WORDS_OF_PAIR;
        }
        if kind != WordKind::Word {
            return;
        }
        let Some(row) = vectors.find(stem) else {
            self.without_vectors += 1.0;
            return;
        };
        let sentence = sentence as usize;
        if self.sums.len() <= sentence {
            self.sums.resize(sentence + 1, VectorSum::default());
        }
        self.sums[sentence].add(vectors, row, weight);
    }

    fn with_vectors(&self) -> f32 {
        let with = self.sums.iter().map(|sum| sum.words).sum::<usize>() as f32;
        if with > 0.0 { with / (with + self.without_vectors) } else { 0.0 }
    }

    fn directions(&self) -> Vec<Direction> {
        let mut whole = VectorSum::default();
        self.sums.iter().for_each(|sum| whole.add_all(sum));
        let sentences =
            self.sums.iter().filter(|sum| sum.words >= WORDS_OF_SENTENCE && sum.words < whole.words);
        std::iter::once(&whole).chain(sentences).filter_map(VectorSum::direction).collect()
    }

    /// `app service` also matches `appservice`.
    fn joined(&mut self, text: &str, kind: WordKind, position: u32, sentence: u32) {
        if !matches!(kind, WordKind::Word | WordKind::Number) {
            return;
        }
        if let Some((previous, _)) = self.previous.take().filter(|(_, at)| at + 1 == position) {
            let whole = previous + text;
            let known = self.index.dictionary.find(&whole, WordKind::Whole);
            if let Some(term) = known.filter(|term| self.is_used(*term)) {
                self.mention(term, JOINED, sentence);
            }
        }
        self.previous = Some((text.to_owned(), position));
    }

    /// The long form of an abbreviation, the short form of a long word, and synonyms.
    fn related(&mut self, stem: &str, weight: f32, sentence: u32) {
        let dictionary = &self.index.dictionary;
        for form in other_forms(stem) {
            if let Some(term) = dictionary.find_stem(form).filter(|term| self.is_used(*term)) {
                self.other_forms.push(term);
                self.mention(term, weight * ABBREVIATION, sentence);
            }
        }
        for synonym in synonyms(stem) {
            if let Some(term) = dictionary.find_stem(synonym) {
                self.add_term(term, weight * SYNONYM, sentence);
            }
        }
    }

    /// What the Chinese words of a query are called in English.
    fn add_english(&mut self, run: &str, sentence: u32) {
        let Some(bilingual) = DICTIONARY.read() else { return };
        for word in bilingual.split(run) {
            for english in word.english().filter(|english| !is_stop(english)) {
                if let Some(term) = self.index.dictionary.find(english, WordKind::Word) {
                    self.add_term(term, TRANSLATION, sentence);
                }
            }
        }
    }

    /// What an English word of a query is called in Chinese, where tools are described in it.
    fn add_chinese(&mut self, text: &str, kind: WordKind, weight: f32, sentence: u32) {
        if kind != WordKind::Word || !self.index.dictionary.has_chinese {
            return;
        }
        let Some(bilingual) = DICTIONARY.read() else { return };
        for chinese in bilingual.chinese(text) {
            each_word(chinese, |word| {
                if word.kind == WordKind::Pair
                    && let Some(term) = self.index.dictionary.find(word.text, WordKind::Pair)
                {
                    self.add_term(term, weight * TRANSLATION, sentence);
                }
            });
        }
    }

    /// Adds a term of the query text.
    fn mention(&mut self, term: Term, weight: f32, sentence: u32) {
        self.mentioned.push(term);
        self.add_term(term, weight, sentence);
    }

    /// Adds a term to look for, from the text or derived from it. Terms that no tool has are ignored.
    fn add_term(&mut self, term: Term, weight: f32, sentence: u32) {
        if self.is_used(term) {
            self.terms.push(WantedWord { term, weight, sentence, is_asked: false });
        }
    }

    /// A repeated term counts once, with its highest weight.
    fn finish(self, reads: bool) -> Query {
        let (directions, with_vectors) = (self.directions(), self.with_vectors());
        let (mut terms, mut mentioned, mut asked) = (self.terms, self.mentioned, self.asked);
        let mut lengths = Vec::new();
        asked.sort_unstable();
        asked.dedup();
        mentioned.sort_unstable();
        mentioned.dedup();
        terms.sort_by(|a, b| a.term.cmp(&b.term).then(b.weight.total_cmp(&a.weight)));
        terms.dedup_by_key(|wanted| wanted.term);
        for wanted in &mut terms {
            wanted.weight *= self.index.rarity(wanted.term);
            wanted.is_asked =
                asked.binary_search(&wanted.term).is_ok() || self.other_forms.contains(&wanted.term);
        }
        if terms.len() > TERMS {
            terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.term.cmp(&b.term)));
            terms.truncate(TERMS);
        }
        terms.sort_by_key(|wanted| wanted.sentence);
        let mut sentences = 0;
        for words in terms.chunk_by_mut(|a, b| a.sentence == b.sentence) {
            let known = words.iter().filter(|wanted| asked.binary_search(&wanted.term).is_ok()).count();
            let unknown = self.unknown.iter().filter(|other| **other == words[0].sentence).count();
            lengths.push((known + unknown) as u32);
            words.iter_mut().for_each(|wanted| wanted.sentence = sentences);
            sentences += 1;
        }
        terms.sort_by_key(|wanted| wanted.term);
        let mut filter = [0; 16];
        for wanted in &terms {
            let (word, bit) = filter_bit(wanted.term);
            filter[word] |= bit;
        }
        Query {
            terms,
            mentioned,
            sentences: sentences as usize,
            lengths,
            reads,
            directions,
            with_vectors,
            filter,
        }
    }
}
