//! What a query asks for: terms of the index, and how much each counts.

use super::dictionary::Term;
use super::index::Index;
use super::stop::is_stop;
use super::synonyms::synonyms;
use super::weights::{CAPABILITY, JOINED, NUMBER, QUOTED, STOP, SYNONYM, TYPO};
use super::words::{WordKind, each_word, start_of};

/// Of a longer query the beginning is read.
const BYTES: usize = 8_000;
/// So many terms are looked for, those that tell most.
const TERMS: usize = 96;
/// So many unknown words are taken for typing errors.
const TYPOS: usize = 8;

pub struct Query {
    /// Each once; sorted by term.
    pub terms: Vec<WantedWord>,
    /// Every term that was said, however little it counts; sorted.
    pub said: Vec<Term>,
    /// How many sentences have terms.
    pub sentences: usize,
    /// One bit or more for each of the terms: most other terms are not among them, which this tells quickly.
    sieve: [u64; 16],
}

#[derive(Clone, Copy)]
pub struct WantedWord {
    pub term: Term,
    /// What it adds to a tool where it is worth most.
    pub weight: f32,
    /// A number below that of the sentences.
    pub sentence: u32,
}

fn sieve_place(term: Term) -> (usize, u64) {
    (term as usize / 64 % 16, 1 << (term % 64))
}

impl Query {
    /// `capabilities` are those that the query speaks of.
    pub fn read<'t>(text: &str, capabilities: impl Iterator<Item = &'t str>, index: &Index) -> Query {
        let mut reading = QueryReading { index, terms: Vec::new(), said: Vec::new(), before: None, typos: 0 };
        let text = start_of(text, BYTES);
        let mut only_stops = true;
        each_word(text, |word| only_stops &= is_stop(word.text));
        each_word(text, |word| {
            let stop = is_stop(word.text) && !only_stops;
            let mut weight = if stop { STOP } else { 1.0 };
            weight *= if word.quoted { QUOTED } else { 1.0 };
            weight *= if word.kind == WordKind::Number { NUMBER } else { 1.0 };
            reading.word(word.text, word.kind, weight, word.sentence);
            reading.joined(word.text, word.kind, word.place, word.sentence);
            if !stop && !word.quoted {
                reading.synonyms(word.text, word.kind, weight, word.sentence);
            }
        });
        for term in capabilities.filter_map(|tag| index.dictionary.find_capability(tag)) {
            reading.ask(term, CAPABILITY, 0);
        }
        reading.finish()
    }

    /// What is wanted of this term.
    pub fn find(&self, term: Term) -> Option<&WantedWord> {
        let (word, bit) = sieve_place(term);
        if self.sieve[word] & bit == 0 {
            return None;
        }
        let at = self.terms.binary_search_by_key(&term, |wanted| wanted.term).ok()?;
        Some(&self.terms[at])
    }
}

struct QueryReading<'i> {
    index: &'i Index,
    terms: Vec<WantedWord>,
    said: Vec<Term>,
    /// The word before, and its place.
    before: Option<(String, u32)>,
    typos: usize,
}

impl QueryReading<'_> {
    fn is_used(&self, term: Term) -> bool {
        !self.index.postings(term).is_empty()
    }

    fn word(&mut self, text: &str, kind: WordKind, weight: f32, sentence: u32) {
        let dictionary = &self.index.dictionary;
        if let Some(term) = dictionary.find(text, kind).filter(|term| self.is_used(*term)) {
            self.say(term, weight, sentence);
        } else if kind == WordKind::Word && self.typos < TYPOS {
            self.typos += 1;
            if let Some(parts) = dictionary.split(text, |term| self.is_used(term)) {
                parts.into_iter().for_each(|term| self.say(term, weight, sentence));
            } else if let Some(term) = dictionary.near(text, |term| self.index.postings(term).len()) {
                self.say(term, weight * TYPO, sentence);
            }
        }
    }

    /// `app service` is also `appservice`, where a tool says so.
    fn joined(&mut self, text: &str, kind: WordKind, place: u32, sentence: u32) {
        if !matches!(kind, WordKind::Word | WordKind::Number) {
            return;
        }
        if let Some((before, _)) = self.before.take().filter(|(_, at)| at + 1 == place) {
            let whole = before + text;
            let known = self.index.dictionary.find(&whole, WordKind::Whole);
            if let Some(term) = known.filter(|term| self.is_used(*term)) {
                self.say(term, JOINED, sentence);
            }
        }
        self.before = Some((text.to_owned(), place));
    }

    fn synonyms(&mut self, text: &str, kind: WordKind, weight: f32, sentence: u32) {
        let dictionary = &self.index.dictionary;
        for synonym in synonyms(&dictionary.stem(text, kind)) {
            if let Some(term) = dictionary.find_stem(synonym) {
                self.ask(term, weight * SYNONYM, sentence);
            }
        }
    }

    /// A term that stands in the query.
    fn say(&mut self, term: Term, weight: f32, sentence: u32) {
        self.said.push(term);
        self.ask(term, weight, sentence);
    }

    /// One that is looked for, whether it was said or not. What no tool has any more is as if it never was.
    fn ask(&mut self, term: Term, weight: f32, sentence: u32) {
        if self.is_used(term) {
            self.terms.push(WantedWord { term, weight, sentence });
        }
    }

    /// A term that is said twice counts once, as what it counts most: repetition says how people talk.
    fn finish(self) -> Query {
        let (mut terms, mut said) = (self.terms, self.said);
        said.sort_unstable();
        said.dedup();
        terms.sort_by(|a, b| a.term.cmp(&b.term).then(b.weight.total_cmp(&a.weight)));
        terms.dedup_by_key(|wanted| wanted.term);
        for wanted in &mut terms {
            wanted.weight *= self.index.rarity(wanted.term);
        }
        if terms.len() > TERMS {
            terms.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.term.cmp(&b.term)));
            terms.truncate(TERMS);
        }
        terms.sort_by_key(|wanted| wanted.sentence);
        let mut sentences = 0;
        for sentence in terms.chunk_by_mut(|a, b| a.sentence == b.sentence) {
            sentence.iter_mut().for_each(|wanted| wanted.sentence = sentences);
            sentences += 1;
        }
        terms.sort_by_key(|wanted| wanted.term);
        let mut sieve = [0; 16];
        for wanted in &terms {
            let (word, bit) = sieve_place(wanted.term);
            sieve[word] |= bit;
        }
        Query { terms, said, sentences: sentences as usize, sieve }
    }
}
