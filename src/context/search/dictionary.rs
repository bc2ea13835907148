//! The words in the index: each form as written, and the term (stem) it belongs to.

use super::lexicon::Lexicon;
use super::word_vectors::{VectorRow, WORD_VECTORS};
use super::words::{Word, WordKind};
use std::borrow::Cow;
use std::collections::HashMap;
use toolhub_text::strong_stem;

pub type Term = u32;
type Words<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Shorter words are not corrected: too many words are one edit away.
const SHORTEST_TYPO: usize = 5;
/// From this length on, two edits are accepted.
const TWO_EDITS: usize = 9;
/// Keeps capability tags apart from words.
const CAPABILITY_PREFIX: char = '#';

#[derive(Default)]
pub struct Dictionary {
    /// Stemming costs more than a look-up, so each form is stemmed once.
    forms: Lexicon,
    /// The term of each form.
    stemmed: Vec<Term>,
    stems: Lexicon,
    /// By term: its row among the word vectors, if it has one.
    rows: Vec<Option<VectorRow>>,
    /// Stems by first letter and length, for typo correction.
    buckets: Words<(u8, u8), Vec<StemEntry>>,
    /// Whether any tool is described in a script without spaces.
    pub has_chinese: bool,
}

struct StemEntry {
    /// Bit set of the letters in the stem; rules out most stems before the edit distance is computed.
    letters: u32,
    term: Term,
}

impl Dictionary {
    pub fn len(&self) -> usize {
        self.stems.len()
    }

    /// The term of a word in a tool's text; adds new words.
    pub fn enter(&mut self, word: &Word<'_>) -> Term {
        if !word.kind.has_forms() {
            self.has_chinese |= word.kind == WordKind::Pair;
            return self.term(word.text);
        }
        if let Some(form) = self.forms.find(word.text) {
            return self.stemmed[form as usize];
        }
        let stem = strong_stem(word.text).into_owned();
        let term = self.term(&stem);
        self.forms.add(word.text);
        self.stemmed.push(term);
        term
    }

    /// The row of a term among the word vectors.
    pub fn row(&self, term: Term) -> Option<VectorRow> {
        self.rows.get(term as usize).copied().flatten()
    }

    /// The term of a capability; adds new ones.
    pub fn enter_capability(&mut self, tag: &str) -> Term {
        self.term(&format!("{CAPABILITY_PREFIX}{tag}"))
    }

    fn term(&mut self, text: &str) -> Term {
        if let Some(term) = self.stems.find(text) {
            return term;
        }
        let term = self.stems.add(text);
        self.rows.push(WORD_VECTORS.read().and_then(|vectors| vectors.find(text)));
        if let Some(bucket) = bucket_of(text) {
            self.buckets.entry(bucket).or_default().push(StemEntry { letters: letters(text), term });
        }
        term
    }

    pub fn find(&self, text: &str, kind: WordKind) -> Option<Term> {
        let form = if kind.has_forms() { self.forms.find(text) } else { None };
        form.map(|form| self.stemmed[form as usize]).or_else(|| self.find_stem(&stem(text, kind)))
    }

    pub fn find_stem(&self, stem: &str) -> Option<Term> {
        self.stems.find(stem)
    }

    pub fn find_capability(&self, tag: &str) -> Option<Term> {
        self.stems.find(&format!("{CAPABILITY_PREFIX}{tag}"))
    }

    /// The most likely correction of an unknown word: fewest edits, then highest `worth`.
    pub fn near(&self, word: &str, worth: impl Fn(Term) -> usize) -> Option<Term> {
        if word.len() < SHORTEST_TYPO || !word.bytes().all(|b| b.is_ascii_lowercase()) {
            return None;
        }
        let edits = if word.len() >= TWO_EDITS { 2 } else { 1 };
        // A typo can hide an ending from the stemmer, so both the word and its stem are compared.
        let stem = strong_stem(word);
        let mut forms = vec![word];
        forms.extend((stem.len() < word.len() && stem.len() + 1 >= SHORTEST_TYPO).then_some(stem.as_ref()));
        let near = forms.iter().flat_map(|form| self.near_stems(form, edits));
        let used = near.map(|(edits, term)| (edits, worth(term), term)).filter(|near| near.1 > 0);
        used.min_by_key(|(edits, worth, term)| (*edits, std::cmp::Reverse(*worth), self.stems.text(*term)))
            .map(|(_, _, term)| term)
    }

    /// The stems within `most` edits, each with its distance.
    fn near_stems<'d>(&'d self, word: &'d str, most: usize) -> impl Iterator<Item = (usize, Term)> {
        let (wanted, bytes) = (letters(word), word.as_bytes());
        // The second letter too, because the first two may be transposed.
        let firsts = if bytes[0] == bytes[1] { &bytes[..1] } else { &bytes[..2] };
        let lengths = word.len().saturating_sub(most)..=word.len() + most;
        let buckets = lengths.flat_map(move |len| firsts.iter().map(move |first| (*first, len as u8)));
        buckets
            .filter_map(|bucket| self.buckets.get(&bucket))
            .flatten()
            .filter(move |entry| (entry.letters ^ wanted).count_ones() as usize <= 2 * most)
            .filter_map(move |entry| {
                Some((edit_distance(word, self.stems.text(entry.term), most)?, entry.term))
            })
    }

    /// Splits an unknown word into two known ones: `keyvault`.
    pub fn split(&self, word: &str, known: impl Fn(Term) -> bool) -> Option<[Term; 2]> {
        const SHORTEST: usize = 3;
        if !word.is_ascii() || word.len() < 2 * SHORTEST {
            return None;
        }
        let find = |part: &str| self.find(part, WordKind::Word).filter(|term| known(*term));
        // Prefer the longest first word.
        (SHORTEST..=word.len() - SHORTEST).rev().find_map(|at| Some([find(&word[..at])?, find(&word[at..])?]))
    }
}

/// The stem that all forms of a word share.
pub fn stem(word: &str, kind: WordKind) -> Cow<'_, str> {
    if kind.has_forms() { strong_stem(word) } else { Cow::Borrowed(word) }
}

/// The bucket of a stem; `None` for stems that are never offered as a correction.
fn bucket_of(stem: &str) -> Option<(u8, u8)> {
    let plain = stem.len() + 2 >= SHORTEST_TYPO && stem.bytes().all(|b| b.is_ascii_lowercase());
    plain.then(|| (stem.as_bytes()[0], stem.len() as u8))
}

/// The edit distance of two ASCII words; `None` above `most`.
fn edit_distance(a: &str, b: &str, most: usize) -> Option<usize> {
    // Near words mostly share their beginning and end, so strip those first.
    let begin = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[begin..], &b[begin..]);
    let end = a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    // Both ends differ now, so one edit spans one letter, or two that are transposed.
    if most == 1 && a.len().max(b.len()) > 2 {
        return None;
    }
    Some(strsim::osa_distance(a, b)).filter(|edits| *edits <= most)
}

fn letters(word: &str) -> u32 {
    word.bytes().fold(0, |letters, b| letters | 1 << (b.wrapping_sub(b'a') & 31))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Dictionary {
        pub fn bytes(&self) -> usize {
            let buckets: usize =
                self.buckets.values().map(|bucket| bucket.capacity() * size_of::<StemEntry>() + 32).sum();
            self.forms.bytes()
                + self.stemmed.capacity() * 4
                + self.stems.bytes()
                + self.rows.capacity() * 4
                + buckets
        }
    }

    proptest! {
        #[test]
        fn edit_distance_ignores_shared_ends(a in "[a-c]{0,7}", b in "[a-c]{0,7}", most in 1..3_usize) {
            let whole = strsim::osa_distance(&a, &b);
            prop_assert_eq!(edit_distance(&a, &b, most), Some(whole).filter(|edits| *edits <= most));
        }
    }
}
