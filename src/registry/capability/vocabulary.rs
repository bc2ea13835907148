//! Numbers for the words of the table, and phrases over them.
//!
//! Most words of a tool's text are not in the table, which takes one hash look-up to find out.

use foldhash::fast::RandomState;
use smallvec::SmallVec;
use std::collections::HashMap;

/// The number of a word that is not in the table.
pub(super) const UNKNOWN: u32 = 0;
/// Punctuation: no phrase crosses it.
pub(super) const BREAK: u32 = u32::MAX;

/// Gives words their numbers.
pub(super) trait Ids {
    /// Whether the word is in the table.
    fn knows(&self, word: &str) -> bool;
    fn take(&mut self, word: &str) -> u32;
}

/// The words of the table.
#[derive(Default)]
pub(super) struct Vocabulary {
    ids: HashMap<Box<str>, u32, RandomState>,
}

/// Reading a tool's text: words outside of the table are [`UNKNOWN`].
impl Ids for &Vocabulary {
    fn knows(&self, word: &str) -> bool {
        self.ids.contains_key(word)
    }

    fn take(&mut self, word: &str) -> u32 {
        self.ids.get(word).copied().unwrap_or(UNKNOWN)
    }
}

/// Reading a phrase of the table: its words are learnt.
impl Ids for &mut Vocabulary {
    fn knows(&self, word: &str) -> bool {
        self.ids.contains_key(word)
    }

    fn take(&mut self, word: &str) -> u32 {
        if let Some(id) = self.ids.get(word) {
            return *id;
        }
        // A table with 2^32 words does not fit in memory; numbers begin at 1.
        let id = self.ids.len() as u32 + 1;
        self.ids.insert(word.into(), id);
        id
    }
}

/// Phrases, each with a value.
pub(super) struct Phrases<V> {
    values: HashMap<Box<[u32]>, V, RandomState>,
    /// The length of the longest phrase that begins with a word.
    longest: HashMap<u32, usize, RandomState>,
}

impl<V> Default for Phrases<V> {
    fn default() -> Self {
        Self { values: HashMap::default(), longest: HashMap::default() }
    }
}

impl<V> Phrases<V> {
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of a phrase, which is added if it is new.
    pub fn value_of(&mut self, phrase: &[u32], new: impl FnOnce() -> V) -> &mut V {
        if let Some(first) = phrase.first() {
            let longest = self.longest.entry(*first).or_default();
            *longest = phrase.len().max(*longest);
        }
        self.values.entry(phrase.into()).or_insert_with(new)
    }

    /// The longest phrase at the beginning of the tokens: its length and value.
    pub fn longest(&self, tokens: impl Iterator<Item = u32>) -> Option<(usize, &V)> {
        let mut tokens = tokens.peekable();
        let most = *self.longest.get(tokens.peek()?)?;
        let ids: SmallVec<[u32; 16]> = tokens.take(most).collect();
        (1..=ids.len()).rev().find_map(|len| Some((len, self.values.get(&ids[..len])?)))
    }
}
