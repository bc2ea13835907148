//! Words of files and tools: short texts that are interned, and files of words beside the Python package.

use flate2::read::GzDecoder;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::fs::File;
use std::hash::BuildHasher;
use std::io::Read;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Interns short texts: all of them in one buffer, and a hash table of their numbers.
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

/// A packed file that is read when it is first needed. Search does without one that is not there or cannot be read.
pub struct DataFile<T> {
    place: OnceLock<PathBuf>,
    content: OnceLock<Option<T>>,
    most_bytes: u64,
    parse: fn(Vec<u8>) -> Option<T>,
}

impl<T> DataFile<T> {
    pub const fn new(most_bytes: u64, parse: fn(Vec<u8>) -> Option<T>) -> Self {
        DataFile { place: OnceLock::new(), content: OnceLock::new(), most_bytes, parse }
    }

    /// Names the file. The first name counts.
    pub fn is_at(&self, place: PathBuf) {
        let _ = self.place.set(place);
    }

    pub fn read(&self) -> Option<&T> {
        let read = || {
            let mut bytes = Vec::new();
            let packed = File::open(self.place.get()?).ok()?;
            GzDecoder::new(packed).take(self.most_bytes).read_to_end(&mut bytes).ok()?;
            (self.parse)(bytes)
        };
        self.content.get_or_init(read).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Lexicon {
        pub fn bytes(&self) -> usize {
            self.text.capacity() + self.ends.capacity() * 4 + self.table.capacity() * 5
        }
    }

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
