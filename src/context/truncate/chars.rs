//! Characters: the position of the n-th one, scripts, and grapheme clusters.
//!
//! A limit counts Unicode scalar values, as `len()` of a Python `str` does. A grapheme cluster (a flag, an
//! accented letter, a family emoji) is never split.

use super::tokens::TokenCounter;
use unicode_segmentation::GraphemeCursor;

/// The unit of `Unit::Chars`: characters counted as if each were a token, so that one algorithm serves both.
pub(super) struct Chars;

impl TokenCounter for Chars {
    fn count(&self, text: &str) -> usize {
        count(text)
    }

    fn prefix(&self, text: &str, tokens: usize) -> usize {
        index_of(text, tokens)
    }
}

/// The number of characters of a text.
pub(super) fn count(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// The byte index of character number `n`, or the length of the text when it is shorter.
pub(super) fn index_of(text: &str, n: usize) -> usize {
    const STEP: usize = 64;
    if n >= text.len() {
        return text.len();
    }
    let bytes = text.as_bytes();
    if bytes[..n].is_ascii() {
        // `n` bytes are `n` characters, so character number `n` begins here.
        return n;
    }
    // Whole blocks first: a sum of bytes that are 0 or 1 is what compilers vectorise.
    let mut left = n;
    let mut at = 0;
    while let Some(block) = bytes.get(at..at + STEP) {
        let begins = usize::from(block.iter().map(|byte| u8::from(begins_char(*byte))).sum::<u8>());
        if begins > left {
            break;
        }
        left -= begins;
        at += STEP;
    }
    for (offset, &byte) in bytes[at..].iter().enumerate() {
        if begins_char(byte) {
            if left == 0 {
                return at + offset;
            }
            left -= 1;
        }
    }
    text.len()
}

fn begins_char(byte: u8) -> bool {
    (byte as i8) >= -0x40
}

/// The last grapheme boundary at or before `at`, which must be a character boundary. What follows `at`
/// counts: a letter whose accent comes next is not complete.
pub(super) fn floor(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    if at == 0 || at >= bytes.len() {
        return at.min(bytes.len());
    }
    if bytes[at - 1].is_ascii() && bytes[at].is_ascii() {
        // Of two ASCII characters only CR LF belong together.
        return if bytes[at - 1] == b'\r' && bytes[at] == b'\n' { at - 1 } else { at };
    }
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(false) => cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0),
        _ => at,
    }
}

/// The end of the cluster that begins at `at`.
pub(super) fn after_cluster(text: &str, at: usize) -> usize {
    GraphemeCursor::new(at, text.len(), true).next_boundary(text, 0).ok().flatten().unwrap_or(text.len())
}

/// The start of the last cluster of a text: what follows the text may still belong to it.
pub(super) fn last_cluster(text: &str) -> usize {
    GraphemeCursor::new(text.len(), text.len(), true).prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

/// The end of `text[..at]` without trailing white space, still on a grapheme boundary.
pub(super) fn trimmed(text: &str, at: usize) -> usize {
    let mut end = text[..at].trim_end().len();
    loop {
        let whole = floor(text, end);
        let shorter = text[..whole].trim_end().len();
        if shorter == end {
            return end;
        }
        end = shorter;
    }
}

/// Ideographs: Chinese, and the Chinese characters of other languages.
pub(crate) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' | '々' | '〇')
}

pub(super) fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}')
}

/// Scripts that are written without spaces between words, with their full-width punctuation.
pub(super) fn is_wide(c: char) -> bool {
    c >= '\u{2e80}'
        && (is_han(c)
            || is_kana(c)
            || matches!(c, '\u{3000}'..='\u{303f}' | '\u{3100}'..='\u{312f}' | '\u{ff01}'..='\u{ff65}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_nth_character_in_any_script() {
        for text in ["", "plain ascii", "中文字符", "a中b文", "e\u{301}👩‍👩‍👧🇩🇪"] {
            let text = text.repeat(40);
            let mut expected: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            expected.extend([text.len(), text.len()]);
            for (n, at) in expected.iter().enumerate() {
                assert_eq!(index_of(&text, n), *at, "{n} of {text:.20}");
            }
        }
    }

    #[test]
    fn never_breaks_a_cluster() {
        for cluster in ["e\u{301}\u{323}", "👩‍👩‍👧‍👦", "🇩🇪", "\r\n", "각", "क्षि", "👍🏽", "葛\u{e0100}", "\u{600}1"]
        {
            let text = format!("a{cluster}b");
            for at in (1..=text.len() - 1).filter(|at| text.is_char_boundary(*at)) {
                let whole = 1 + cluster.len();
                let expected = if at < whole { 1 } else { whole };
                assert_eq!(floor(&text, at), expected, "{cluster:?} at {at}");
            }
        }
    }

    #[test]
    fn trims_white_space_but_not_half_a_cluster() {
        assert_eq!(trimmed("ab \t\r\n", 6), 2);
        assert_eq!(trimmed("中\u{3000}x", 6), 3);
        // U+0600 joins whatever follows it, so the space cannot go without it.
        assert_eq!(trimmed("a \u{600} b", 5), 1);
    }
}
