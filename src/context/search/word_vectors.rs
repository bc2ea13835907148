//! What texts are about: a short vector for each of the most common English words, so that a query and a tool can be compared
//! that share few words.
//!
//! A text points where its words point to on average, rare words more than common ones. Tools are compared with the query
//! and with each of its sentences. It only orders tools that share a word with the query: what a table of words knows is too
//! vague to find a tool by.
//!
//! The vectors are a file beside the Python package, because it has a licence of its own. It is read when tools are first
//! indexed; without the file, search does without. Unpacked, it has the number of words (two bytes, the lower one first); the
//! stems of the words, a line each; the weight of each word (a byte); and [`DIMENSIONS`] values of four bits for each word, the
//! lower half of a byte first, each 8 more than its value.

use super::lexicon::{DataFile, Lexicon};

pub const DIMENSIONS: usize = 128;
/// The file must not be larger than this when it is unpacked.
const MOST_BYTES: u64 = 2_000_000;
/// The length of a [`Direction`], as far as rounding allows.
const LENGTH: f32 = 127.0;

/// The vectors, if there are any.
pub static WORD_VECTORS: DataFile<WordVectors> = DataFile::new(MOST_BYTES, |bytes| WordVectors::read(&bytes));

pub struct WordVectors {
    stems: Lexicon,
    weights: Vec<u8>,
    values: Vec<[i8; DIMENSIONS]>,
}

/// The row of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorRow(u16);

impl WordVectors {
    /// `None` if the bytes are not such a file.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (count, mut rest) = bytes.split_first_chunk::<2>()?;
        let count = usize::from(u16::from_le_bytes(*count));
        let mut stems = Lexicon::default();
        for _ in 0..count {
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            let stem = std::str::from_utf8(&rest[..end]).ok()?;
            if stems.find(stem).is_some() {
                return None;
            }
            stems.add(stem);
            rest = &rest[end + 1..];
        }
        let (weights, packed) = rest.split_at_checked(count)?;
        if packed.len() != count * DIMENSIONS / 2 {
            return None;
        }
        let value = |half: u8| half as i8 - 8;
        let unpack = |row: &[u8]| {
            std::array::from_fn(|at| value(if at % 2 == 0 { row[at / 2] & 15 } else { row[at / 2] >> 4 }))
        };
        let values = packed.chunks_exact(DIMENSIONS / 2).map(unpack).collect();
        Some(WordVectors { stems, weights: weights.to_vec(), values })
    }

    pub fn find(&self, stem: &str) -> Option<VectorRow> {
        self.stems.find(stem).and_then(|number| u16::try_from(number).ok()).map(VectorRow)
    }
}

/// The sum of the words of a text.
#[derive(Clone)]
pub struct VectorSum {
    sum: [f32; DIMENSIONS],
    pub words: usize,
}

impl Default for VectorSum {
    fn default() -> Self {
        VectorSum { sum: [0.0; DIMENSIONS], words: 0 }
    }
}

impl VectorSum {
    pub fn add(&mut self, vectors: &WordVectors, VectorRow(row): VectorRow, times: f32) {
        let row = usize::from(row);
        let times = times * f32::from(vectors.weights[row]);
        self.sum
            .iter_mut()
            .zip(&vectors.values[row])
            .for_each(|(sum, value)| *sum += times * f32::from(*value));
        self.words += 1;
    }

    pub fn add_all(&mut self, other: &VectorSum) {
        self.sum.iter_mut().zip(&other.sum).for_each(|(sum, value)| *sum += value);
        self.words += other.words;
    }

    /// `None` for a text without known words.
    pub fn direction(&self) -> Option<Direction> {
        let length = self.sum.iter().map(|value| value * value).sum::<f32>().sqrt();
        let scaled = |value: f32| (LENGTH * value / length).round() as i8;
        (length > 0.0).then(|| Direction(self.sum.map(scaled)))
    }
}

/// Where the words of a text point to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Direction([i8; DIMENSIONS]);

impl Direction {
    /// From 0 (nothing in common) to 1.
    pub fn likeness(&self, other: &Direction) -> f32 {
        let products = self.0.iter().zip(&other.0).map(|(a, b)| i32::from(*a) * i32::from(*b));
        (products.sum::<i32>() as f32 / (LENGTH * LENGTH)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Words with a vector of one value each, at a place of its own or of another word.
    fn file(words: &[(&str, u8, usize)]) -> Vec<u8> {
        let mut bytes = (words.len() as u16).to_le_bytes().to_vec();
        words.iter().for_each(|(word, ..)| bytes.extend(format!("{word}\n").bytes()));
        bytes.extend(words.iter().map(|(_, weight, _)| weight));
        for (_, _, place) in words {
            let half = |at: usize| if at == *place { 15 } else { 8 };
            bytes.extend((0..DIMENSIONS / 2).map(|at| half(2 * at) | half(2 * at + 1) << 4));
        }
        bytes
    }

    fn direction(vectors: &WordVectors, words: &[&str]) -> Option<Direction> {
        let mut sum = VectorSum::default();
        words.iter().filter_map(|word| vectors.find(word)).for_each(|row| sum.add(vectors, row, 1.0));
        sum.direction()
    }

    #[test]
    fn related_words_point_the_same_way() {
        let vectors =
            WordVectors::read(&file(&[("rain", 200, 0), ("storm", 200, 0), ("tax", 200, 1), ("day", 20, 2)]))
                .unwrap();
        let of = |words: &[&str]| direction(&vectors, words).unwrap();
        assert!(of(&["rain"]).likeness(&of(&["storm"])) > 0.99);
        assert!(of(&["rain"]).likeness(&of(&["tax"])) < 0.01);
        // The weight decides: "day" says little.
        assert!(of(&["rain", "day"]).likeness(&of(&["storm"])) > 0.95);
        assert!(direction(&vectors, &["unknown"]).is_none());
    }

    #[test]
    fn a_damaged_file_is_no_file() {
        let bytes = file(&[("rain", 200, 0), ("tax", 200, 1)]);
        assert!(WordVectors::read(&bytes).is_some());
        for end in 0..bytes.len() {
            assert!(WordVectors::read(&bytes[..end]).is_none(), "{end}");
        }
        assert!(WordVectors::read(&file(&[("rain", 1, 0), ("rain", 1, 1)])).is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = WordVectors::read(&bytes);
        }
    }
}
