//! Numbers for the words of the table, and a trie of phrases over them.
//!
//! Most words of a tool's text are not in the table, which takes one hash look-up to find out. A byte-wise
//! automaton (Aho-Corasick) over the same phrases gave the same tags, but took 6 times as long to
//! build and 1.7 times as long to run.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The number of a word that is not in the table.
pub(super) const UNKNOWN: u32 = 0;
/// Punctuation: no phrase crosses it.
pub(super) const BREAK: u32 = u32::MAX;

/// FNV-1a: faster than the default for short keys. Only the table's own words are ever stored, so
/// crafted keys cannot fill one bucket.
#[derive(Default)]
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        // The table takes its bucket from the low bits and its tag from the high ones; FNV mixes
        // upwards only.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = (self.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

type TagMap<K, V> = HashMap<K, V, BuildHasherDefault<Fnv>>;

/// Gives words their numbers.
pub(super) trait Ids {
    /// Whether the word is in the table.
    fn knows(&self, word: &str) -> bool;
    fn take(&mut self, word: &str) -> u32;
}

/// The words of the table.
#[derive(Default)]
pub(super) struct Vocabulary {
    ids: TagMap<Box<str>, u32>,
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
pub(super) struct Trie<V> {
    /// The node after the first token, by the token's number; 0 for none.
    first: Vec<u32>,
    edges: TagMap<u64, u32>,
    values: Vec<Option<V>>,
}

impl<V> Default for Trie<V> {
    fn default() -> Self {
        Self { first: Vec::new(), edges: TagMap::default(), values: vec![None] }
    }
}

fn edge(node: u32, id: u32) -> u64 {
    u64::from(node) << 32 | u64::from(id)
}

impl<V> Trie<V> {
    pub fn is_empty(&self) -> bool {
        self.values.len() == 1
    }

    fn step(&self, node: u32, id: u32) -> Option<u32> {
        if node == 0 {
            self.first.get(id as usize).copied().filter(|&next| next != 0)
        } else {
            self.edges.get(&edge(node, id)).copied()
        }
    }

    /// The place for the value of a phrase.
    pub fn entry(&mut self, phrase: &[u32]) -> &mut Option<V> {
        let mut node = 0;
        for &id in phrase {
            node = self.step(node, id).unwrap_or_else(|| {
                let next = self.values.len() as u32;
                self.values.push(None);
                if node == 0 {
                    let id = id as usize;
                    if self.first.len() <= id {
                        self.first.resize(id + 1, 0);
                    }
                    self.first[id] = next;
                } else {
                    self.edges.insert(edge(node, id), next);
                }
                next
            });
        }
        &mut self.values[node as usize]
    }

    /// The longest phrase at the beginning of the tokens: its length and value.
    pub fn longest(&self, tokens: impl Iterator<Item = u32>) -> Option<(usize, &V)> {
        let mut node = 0;
        let mut best = None;
        for (at, id) in tokens.enumerate() {
            let Some(next) = self.step(node, id) else { break };
            node = next;
            if let Some(value) = &self.values[node as usize] {
                best = Some((at + 1, value));
            }
        }
        best
    }
}
