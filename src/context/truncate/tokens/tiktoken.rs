//! Tokens of a tiktoken encoding, from its file of `base64 rank` lines.
//!
//! A text is split into pieces by the pattern of the encoding; in a piece the neighbours whose join has the
//! lowest rank are joined until none is left. A heap keeps that fast for a piece of any length: a text
//! without spaces is one piece.

use super::TokenCounter;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fancy_regex::Regex;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The known encodings: a part of the file's name, the maximum number of ranks, and the pattern.
const ENCODINGS: &[(&str, usize, &str)] = &[
    ("50k", 60_000, r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    (
        "cl100k",
        120_000,
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        "qwen",
        160_000,
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        "o200k",
        usize::MAX,
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
            r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
    ),
];

/// Counts with a tiktoken encoding; special tokens are counted as plain text.
pub struct Tiktoken {
    ranks: HashMap<Box<[u8]>, u32>,
    pieces: Regex,
}

impl Tiktoken {
    /// Reads the ranks. The encoding is recognised by the name of the file (`cl100k_base.tiktoken`), or, for the files of
    /// tiktoken's cache, by the number of ranks.
    pub fn from_ranks(name: &str, content: &[u8]) -> Result<Self, String> {
        let mut ranks = HashMap::with_capacity(content.len() / 16);
        for (number, line) in content.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if !line.is_empty() {
                let (token, rank) = entry(line).ok_or_else(|| {
                    format!(
                        "Expected a tiktoken file with `base64 rank` on each line, but line {} is not; give a .tiktoken file or a \
                         tokenizer.json.",
                        number + 1
                    )
                })?;
                ranks.insert(token, rank);
            }
        }
        let bytes = (0..=u8::MAX).filter(|byte| ranks.contains_key(&[*byte][..])).count();
        if bytes < 256 {
            return Err(format!(
                "Expected a tiktoken file that knows all 256 bytes, but it knows {bytes}; give the complete file."
            ));
        }
        let named = ENCODINGS.iter().find(|(part, ..)| name.contains(part));
        let pattern = named.or_else(|| ENCODINGS.iter().find(|(_, most, _)| ranks.len() <= *most));
        let pattern = pattern.map_or("", |(.., pattern)| pattern);
        #[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles each")]
        let pieces = Regex::new(pattern).expect("a pattern of the table");
        Ok(Tiktoken { ranks, pieces })
    }

    /// Calls `visit` with the end of each token, until it returns `false`.
    fn walk(&self, text: &str, mut visit: impl FnMut(usize) -> bool) {
        let mut at = 0;
        while at < text.len() {
            // The patterns match any text. Should the matcher give up, the rest is one piece.
            let end = match self.pieces.find_from_pos(text, at) {
                Ok(Some(piece)) if piece.end() > at => piece.end(),
                _ => text.len(),
            };
            let piece = &text.as_bytes()[at..end];
            if self.ranks.contains_key(piece) {
                if !visit(end) {
                    return;
                }
            } else {
                for token_end in self.tokens(piece) {
                    if !visit(at + token_end) {
                        return;
                    }
                }
            }
            at = end;
        }
    }

    /// The ends of the tokens of one piece.
    fn tokens(&self, piece: &[u8]) -> Vec<usize> {
        // `ends[i]` is the end of the token that starts at `i`, or 0 if none starts there any more.
        let mut ends: Vec<usize> = (1..=piece.len()).collect();
        let mut starts: Vec<usize> = (0..=piece.len()).map(|end| end.saturating_sub(1)).collect();
        let rank = |from: usize, to: usize| self.ranks.get(&piece[from..to]).copied();
        let mut joins: BinaryHeap<Reverse<(u32, usize, usize)>> = (0..piece.len().saturating_sub(1))
            .filter_map(|at| Some(Reverse((rank(at, at + 2)?, at, at + 2))))
            .collect();
        while let Some(Reverse((_, from, to))) = joins.pop() {
            // Stale if one of the two was joined with another meanwhile.
            let middle = ends[from];
            if middle == 0 || middle >= to || ends[middle] != to {
                continue;
            }
            ends[from] = to;
            ends[middle] = 0;
            starts[to] = from;
            if let Some(&next) = ends.get(to)
                && let Some(rank) = rank(from, next)
            {
                joins.push(Reverse((rank, from, next)));
            }
            if from > 0
                && let Some(rank) = rank(starts[from], to)
            {
                joins.push(Reverse((rank, starts[from], to)));
            }
        }
        ends.into_iter().filter(|end| *end > 0).collect()
    }
}

impl TokenCounter for Tiktoken {
    fn count(&self, text: &str) -> usize {
        let mut count = 0;
        self.walk(text, |_| {
            count += 1;
            true
        });
        count
    }

    fn prefix(&self, text: &str, tokens: usize) -> usize {
        let (mut end, mut left) = (0, tokens);
        self.walk(text, |token_end| {
            if left > 0 && text.is_char_boundary(token_end) {
                end = token_end;
            }
            left = left.saturating_sub(1);
            left > 0
        });
        end
    }
}

/// The token and the rank of one line.
fn entry(line: &[u8]) -> Option<(Box<[u8]>, u32)> {
    let space = line.iter().position(|byte| *byte == b' ')?;
    let rank = std::str::from_utf8(&line[space + 1..]).ok()?.parse().ok()?;
    let token = STANDARD.decode(&line[..space]).ok().filter(|token| !token.is_empty())?;
    Some((token.into_boxed_slice(), rank))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All bytes, and the joins of `the`, ` the` and `aa`, `aaaa`.
    fn ranks() -> Vec<u8> {
        let single = (0..=u8::MAX).map(|byte| format!("{} {byte}\n", STANDARD.encode([byte])));
        let joined = [
            "dGg= 256\n",
            "dGhl 257\n",
            "IHRoZQ== 258\n",
            "YWE= 259\n",
            "YWFhYQ== 260\n",
            "IHQ= 261\n",
            "IHRo 262\n",
        ];
        single.chain(joined.map(String::from)).collect::<String>().into_bytes()
    }

    #[test]
    fn joins_by_rank() -> Result<(), String> {
        let counter = Tiktoken::from_ranks("cl100k_base.tiktoken", &ranks())?;
        for (text, tokens) in [
            ("", 0),
            ("the", 1),
            (" the", 1),
            ("the the", 2),
            ("xthe", 2),
            ("aaaaaaa", 3),
            ("é", 2),
            ("1234", 4),
        ] {
            assert_eq!(counter.count(text), tokens, "{text}");
        }
        assert_eq!(counter.prefix("the the the", 2), "the the".len());
        assert_eq!([counter.prefix("éé", 0), counter.prefix("éé", 1), counter.prefix("éé", 3)], [0, 0, 2]);
        Ok(())
    }

    #[test]
    fn a_long_text_without_a_space_takes_linear_time() -> Result<(), String> {
        let counter = Tiktoken::from_ranks("", &ranks())?;
        assert_eq!(counter.count(&"a".repeat(1 << 17)), 1 << 15);
        Ok(())
    }

    #[test]
    fn broken_files_are_refused_with_their_line() {
        for (content, why) in [
            (&b"AA== 0\nrubbish"[..], "but line 2 is not"),
            (b"AA== x", "but line 1 is not"),
            (b"AA== 0\nAQ== 1\n", "but it knows 2;"),
            (b"", "but it knows 0;"),
        ] {
            let error = Tiktoken::from_ranks("x", content).err();
            assert!(error.is_some_and(|error| error.contains(why)), "{why}");
        }
    }

    #[test]
    fn every_pattern_compiles() {
        for (name, _, pattern) in ENCODINGS {
            assert!(Regex::new(pattern).is_ok(), "{name}");
        }
    }
}
