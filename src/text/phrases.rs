//! Phrases in a text: from left to right the longest one counts.

use aho_corasick::{AhoCorasick, MatchKind};
use std::ops::Range;

/// Phrases, each with a value.
pub struct PhraseSet<V> {
    values: Vec<V>,
    /// `None` if there are more than can be compiled.
    all: Option<AhoCorasick>,
}

impl<V> PhraseSet<V> {
    pub fn new(phrases: impl IntoIterator<Item = (String, V)>) -> Self {
        let (phrases, values): (Vec<String>, Vec<V>) = phrases.into_iter().unzip();
        let all = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(phrases).ok();
        PhraseSet { values, all }
    }

    /// The phrases in a text, one after the other.
    pub fn find<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (Range<usize>, &'a V)> {
        let found = self.all.iter().flat_map(move |all| all.find_iter(text));
        found.map(|found| (found.range(), &self.values[found.pattern()]))
    }
}
