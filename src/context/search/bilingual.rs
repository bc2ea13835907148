//! The other language: English glosses of Chinese words, and Chinese words for English ones.
//!
//! The dictionary is a file beside the Python package, because it has a licence of its own. It is read when a query first
//! needs it; without the file, search does without. A line is a Chinese word, its frequency (0 to 9, 0 for the most frequent)
//! and its glosses: `删除⇥1⇥delete;cancel`. Lines are sorted by bytes.

use super::lexicon::DataFile;
use std::sync::OnceLock;

/// The file must not be larger than this when it is unpacked.
const MOST_BYTES: u64 = 4_000_000;
/// The characters of the longest word.
const LONGEST: usize = 5;
/// What a character costs that belongs to no word; a word costs about 1. The cheapest way to split a text wins.
const UNKNOWN: f32 = 2.5;
const RARE: f32 = 0.05;
/// The Chinese words that stand for an English one, the most frequent ones.
const TRANSLATIONS: usize = 3;

/// The dictionary, if there is one.
pub static DICTIONARY: DataFile<Bilingual> =
    DataFile::new(MOST_BYTES, |bytes| String::from_utf8(bytes).ok().map(Bilingual::of));

pub struct Bilingual {
    text: String,
    /// Where each line begins.
    lines: Vec<u32>,
    /// The lines of English words: the hash of a gloss of one word, and its line; sorted. Made for the first English query
    /// among tools that are described in Chinese.
    english: OnceLock<Vec<(u64, u32)>>,
}

/// A Chinese word in a text.
#[derive(Debug, PartialEq)]
pub struct ChineseWord<'d> {
    frequency: u8,
    glosses: &'d str,
}

impl<'d> ChineseWord<'d> {
    /// Each English word of its glosses.
    pub fn english(&self) -> impl Iterator<Item = &'d str> {
        self.glosses.split([';', ' '])
    }
}

impl Bilingual {
    fn of(text: String) -> Self {
        let begins = text.match_indices('\n').map(|(at, _)| at as u32 + 1);
        let lines: Vec<u32> =
            std::iter::once(0).chain(begins).filter(|at| (*at as usize) < text.len()).collect();
        Bilingual { text, lines, english: OnceLock::new() }
    }

    fn english(&self) -> &[(u64, u32)] {
        self.english.get_or_init(|| {
            let mut english = Vec::new();
            for number in 0..self.lines.len() {
                let (_, word) = self.line(number);
                let single = word.glosses.split(';').filter(|gloss| !gloss.contains(' '));
                english.extend(single.map(|gloss| (hash(gloss), number as u32)));
            }
            english.sort_unstable();
            english
        })
    }

    fn line(&self, number: usize) -> (&str, ChineseWord<'_>) {
        let from = self.lines[number] as usize;
        let line = self.text[from..].lines().next().unwrap_or_default();
        let mut fields = line.split('\t');
        let word = fields.next().unwrap_or_default();
        let frequency = fields.next().and_then(|digit| digit.parse().ok()).unwrap_or(9);
        (word, ChineseWord { frequency, glosses: fields.next().unwrap_or_default() })
    }

    pub fn find(&self, word: &str) -> Option<ChineseWord<'_>> {
        let at = self.lines.partition_point(|from| {
            let line = &self.text[*from as usize..];
            line.split('\t').next().unwrap_or_default() < word
        });
        let (found, entry) = (at < self.lines.len()).then(|| self.line(at))?;
        (found == word).then_some(entry)
    }

    /// The known words of a run of Chinese characters, split in the most likely way.
    pub fn split<'d>(&'d self, run: &str) -> Vec<ChineseWord<'d>> {
        let ends: Vec<usize> = run.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
        // For each character: the least cost of all up to it, the number of characters of the last word, and that word.
        let mut best: Vec<(f32, usize, Option<ChineseWord<'d>>)> = Vec::with_capacity(ends.len());
        for last in 0..ends.len() {
            let before = |len: usize| if last + 1 == len { 0.0 } else { best[last - len].0 };
            let mut cheapest = (before(1) + UNKNOWN, 1, None);
            for len in 1..=LONGEST.min(last + 1) {
                let from = if last + 1 == len { 0 } else { ends[last - len] };
                let Some(word) = self.find(&run[from..ends[last]]) else { continue };
                let cost = before(len) + 1.0 + RARE * f32::from(word.frequency);
                if cost < cheapest.0 {
                    cheapest = (cost, len, Some(word));
                }
            }
            best.push(cheapest);
        }
        let (mut words, mut left) = (Vec::new(), best.len());
        while left > 0 {
            let (_, len, word) = &mut best[left - 1];
            words.extend(word.take());
            left -= *len;
        }
        words.reverse();
        words
    }

    /// The Chinese words that an English one stands for.
    pub fn chinese(&self, word: &str) -> impl Iterator<Item = &str> {
        let wanted = hash(word);
        let english = self.english();
        let from = english.partition_point(|(hash, _)| *hash < wanted);
        let lines = english[from..].iter().take_while(|(hash, _)| *hash == wanted);
        let mut found: Vec<(u8, &str)> = lines
            .map(|(_, number)| self.line(*number as usize))
            // A rare collision of hashes is not a translation.
            .filter(|(_, entry)| entry.glosses.split(';').any(|gloss| gloss == word))
            .map(|(chinese, entry)| (entry.frequency, chinese))
            .collect();
        found.sort_unstable();
        found.into_iter().take(TRANSLATIONS).map(|(_, chinese)| chinese)
    }
}

/// Fixed keys: the list is sorted by it.
fn hash(word: &str) -> u64 {
    use std::hash::BuildHasher;
    foldhash::fast::FixedState::default().hash_one(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn small() -> Bilingual {
        let mut lines = [
            "天气\t1\tweather",
            "天\t0\tday;sky",
            "气\t1\tgas;air",
            "查询\t3\tcheck;inquire",
            "数据\t2\tdata",
            "数据库\t3\tdatabase",
            "库\t2\twarehouse",
            "文件\t1\tdocument;file",
            "档案\t4\tfile;record",
            "汇率\t4\texchange rate",
        ];
        lines.sort_unstable();
        Bilingual::of(lines.join("\n"))
    }

    fn glosses(text: &str) -> Vec<String> {
        let dictionary = small();
        dictionary.split(text).iter().map(|word| word.glosses.to_owned()).collect()
    }

    #[test]
    fn the_longest_words_are_found() {
        assert_eq!(glosses("查询天气"), ["check;inquire", "weather"]);
        assert_eq!(glosses("数据库文件"), ["database", "document;file"]);
        assert_eq!(glosses("我查询汇率吗"), ["check;inquire", "exchange rate"]);
        assert!(glosses("").is_empty());
    }

    #[test]
    fn english_leads_to_chinese_by_frequency() {
        let dictionary = small();
        assert_eq!(dictionary.chinese("file").collect::<Vec<_>>(), ["文件", "档案"]);
        assert_eq!(dictionary.chinese("exchange").count(), 0);
        let rate = dictionary.find("汇率").unwrap();
        assert_eq!(rate.english().collect::<Vec<_>>(), ["exchange", "rate"]);
    }

    proptest! {
        #[test]
        fn any_text_is_split(text in "[天气查询数据库文件档案汇率我a ]{0,30}") {
            small().split(&text);
        }

        #[test]
        fn any_file_is_read(text in "[天a\t\n0-9;]{0,60}") {
            let dictionary = Bilingual::of(text);
            dictionary.split("天天a");
            let _ = dictionary.chinese("a").count();
        }
    }
}
