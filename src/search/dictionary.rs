//! The words that the index knows: forms of words as they were written, and the terms that they are forms of.

use super::lexicon::Lexicon;
use super::words::{Word, WordKind};
use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;
use std::collections::HashMap;

pub type Term = u32;
type Words<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Shorter words are too near to too many others.
const SHORTEST_TYPO: usize = 5;
/// From this length on two slips are believed.
const TWO_SLIPS: usize = 9;
/// Before a capability, so that it is no word of the text.
const MARK: char = '#';

pub struct Dictionary {
    /// Stemming costs more than looking up, so each form is stemmed once.
    forms: Lexicon,
    /// The term of each form.
    stemmed: Vec<Term>,
    stems: Lexicon,
    /// Stems by their first letter and length, where a typing error is looked for.
    shelves: Words<(u8, u8), Vec<Shelved>>,
    stemmer: Stemmer,
}

struct Shelved {
    /// Which letters the stem has: most of the others need no closer look.
    letters: u32,
    term: Term,
}

impl Default for Dictionary {
    fn default() -> Self {
        Dictionary {
            forms: Lexicon::default(),
            stemmed: Vec::new(),
            stems: Lexicon::default(),
            shelves: Words::default(),
            stemmer: Stemmer::create(Algorithm::English),
        }
    }
}

impl Dictionary {
    pub fn len(&self) -> usize {
        self.stems.len()
    }

    /// The term of a word of a tool; a new word is entered.
    pub fn enter(&mut self, word: &Word<'_>) -> Term {
        if !matches!(word.kind, WordKind::Word | WordKind::Whole) {
            return self.term(word.text);
        }
        if let Some(form) = self.forms.find(word.text) {
            return self.stemmed[form as usize];
        }
        let stem = self.stemmer.stem(word.text).into_owned();
        let term = self.term(&stem);
        self.forms.add(word.text);
        self.stemmed.push(term);
        term
    }

    /// The term of a capability; a new one is entered.
    pub fn enter_capability(&mut self, tag: &str) -> Term {
        self.term(&format!("{MARK}{tag}"))
    }

    fn term(&mut self, text: &str) -> Term {
        if let Some(term) = self.stems.find(text) {
            return term;
        }
        let term = self.stems.add(text);
        if let Some(shelf) = shelf(text) {
            self.shelves.entry(shelf).or_default().push(Shelved { letters: letters(text), term });
        }
        term
    }

    pub fn find(&self, text: &str, kind: WordKind) -> Option<Term> {
        match kind {
            WordKind::Word | WordKind::Whole => {
                let form = self.forms.find(text).map(|form| self.stemmed[form as usize]);
                form.or_else(|| self.find_stem(&self.stemmer.stem(text)))
            }
            WordKind::Number | WordKind::Character | WordKind::Pair => self.find_stem(text),
        }
    }

    /// What all forms of a word have in common.
    pub fn stem<'t>(&self, word: &'t str, kind: WordKind) -> Cow<'t, str> {
        match kind {
            WordKind::Word | WordKind::Whole => self.stemmer.stem(word),
            WordKind::Number | WordKind::Character | WordKind::Pair => Cow::Borrowed(word),
        }
    }

    pub fn find_stem(&self, stem: &str) -> Option<Term> {
        self.stems.find(stem)
    }

    pub fn find_capability(&self, tag: &str) -> Option<Term> {
        self.stems.find(&format!("{MARK}{tag}"))
    }

    /// The known word that an unknown one was probably meant to be, as `worth` says which of several.
    pub fn near(&self, word: &str, worth: impl Fn(Term) -> usize) -> Option<Term> {
        if word.len() < SHORTEST_TYPO || !word.bytes().all(|b| b.is_ascii_lowercase()) {
            return None;
        }
        let slips = if word.len() >= TWO_SLIPS { 2 } else { 1 };
        // The slip may have kept its ending from being seen, so the word is compared with it and without.
        let stem = self.stemmer.stem(word);
        let mut ways = vec![word];
        ways.extend((stem.len() < word.len() && stem.len() + 1 >= SHORTEST_TYPO).then_some(stem.as_ref()));
        let near = ways.iter().flat_map(|way| self.near_stems(way, slips));
        let used = near.map(|(slips, term)| (slips, worth(term), term)).filter(|near| near.1 > 0);
        used.min_by_key(|(slips, worth, term)| (*slips, std::cmp::Reverse(*worth), self.stems.text(*term)))
            .map(|(_, _, term)| term)
    }

    /// The stems within so many slips, each with their number.
    fn near_stems<'d>(&'d self, word: &'d str, most: usize) -> impl Iterator<Item = (usize, Term)> {
        let (wanted, bytes) = (letters(word), word.as_bytes());
        // The second letter as well, because the first two may have changed places.
        let firsts = if bytes[0] == bytes[1] { &bytes[..1] } else { &bytes[..2] };
        let lengths = word.len().saturating_sub(most)..=word.len() + most;
        let shelves = lengths.flat_map(move |len| firsts.iter().map(move |first| (*first, len as u8)));
        shelves
            .filter_map(|shelf| self.shelves.get(&shelf))
            .flatten()
            .filter(move |shelved| (shelved.letters ^ wanted).count_ones() as usize <= 2 * most)
            .filter_map(move |shelved| {
                Some((slips(word, self.stems.text(shelved.term), most)?, shelved.term))
            })
    }

    /// Two known words that an unknown one is made of: `keyvault`.
    pub fn split(&self, word: &str, known: impl Fn(Term) -> bool) -> Option<[Term; 2]> {
        const SHORTEST: usize = 3;
        if !word.is_ascii() || word.len() < 2 * SHORTEST {
            return None;
        }
        let find = |part: &str| self.find(part, WordKind::Word).filter(|term| known(*term));
        // The longest first word that works.
        (SHORTEST..=word.len() - SHORTEST).rev().find_map(|at| Some([find(&word[..at])?, find(&word[at..])?]))
    }
}

/// Only plain words are looked for when somebody slips.
fn shelf(stem: &str) -> Option<(u8, u8)> {
    let plain = stem.len() + 2 >= SHORTEST_TYPO && stem.bytes().all(|b| b.is_ascii_lowercase());
    plain.then(|| (stem.as_bytes()[0], stem.len() as u8))
}

/// How many slips lie between two words of ASCII, if they are not more than `most`.
fn slips(a: &str, b: &str, most: usize) -> Option<usize> {
    // What both begin and end with costs nothing, and is most of it where they are near.
    let begin = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[begin..], &b[begin..]);
    let end = a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    // Both ends differ now: one slip is one letter, or two that have changed places.
    if most == 1 && a.len().max(b.len()) > 2 {
        return None;
    }
    Some(strsim::osa_distance(a, b)).filter(|slips| *slips <= most)
}

fn letters(word: &str) -> u32 {
    word.bytes().fold(0, |letters, b| letters | 1 << (b.wrapping_sub(b'a') & 31))
}

#[cfg(test)]
impl Dictionary {
    pub fn bytes(&self) -> usize {
        let shelves: usize =
            self.shelves.values().map(|shelf| shelf.capacity() * size_of::<Shelved>() + 32).sum();
        self.forms.bytes() + self.stemmed.capacity() * 4 + self.stems.bytes() + shelves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn slips_are_counted_as_by_the_whole_words(a in "[a-c]{0,7}", b in "[a-c]{0,7}", most in 1..3_usize) {
            let whole = strsim::osa_distance(&a, &b);
            prop_assert_eq!(slips(&a, &b, most), Some(whole).filter(|slips| *slips <= most));
        }
    }
}
