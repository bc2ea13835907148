//! Interns short texts: all of them in one buffer, and a hash table of their numbers.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

#[derive(Default)]
pub struct Lexicon {
    text: String,
    /// The end offset of each text.
    ends: Vec<u32>,
    table: HashTable<u32>,
    hasher: RandomState,
}

impl Lexicon {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn text(&self, number: u32) -> &str {
        text(&self.text, &self.ends, number)
    }

    pub fn find(&self, wanted: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(wanted);
        self.table.find(hash, |number| self.text(*number) == wanted).copied()
    }

    /// Adds a text that is not interned yet and returns its number.
    pub fn add(&mut self, new: &str) -> u32 {
        let number = self.ends.len() as u32;
        self.text.push_str(new);
        self.ends.push(self.text.len() as u32);
        let Lexicon { text: all, ends, table, hasher } = self;
        table.insert_unique(hasher.hash_one(new), number, |number| hasher.hash_one(text(all, ends, *number)));
        number
    }
}

fn text<'a>(all: &'a str, ends: &[u32], number: u32) -> &'a str {
    let at = number as usize;
    let start = at.checked_sub(1).map_or(0, |before| ends[before] as usize);
    &all[start..ends[at] as usize]
}

#[cfg(test)]
impl Lexicon {
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 4 + self.table.capacity() * 5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_its_number() {
        let mut lexicon = Lexicon::default();
        let texts: Vec<String> =
            (0..1_000).map(|n| format!("w{n}")).chain(["天气".into(), String::new()]).collect();
        for (at, text) in texts.iter().enumerate() {
            assert_eq!(lexicon.find(text), None);
            assert_eq!(lexicon.add(text) as usize, at);
        }
        for (at, text) in texts.iter().enumerate() {
            assert_eq!((lexicon.find(text), lexicon.text(at as u32)), (Some(at as u32), text.as_str()));
        }
        assert_eq!(lexicon.len(), texts.len());
    }
}
