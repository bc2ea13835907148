//! Where to cut a text: after a sentence, otherwise after a word, otherwise after a grapheme cluster.
//!
//! Only the last 40 % before the limit are searched, backwards, so the typical cost is half a sentence.

use super::chars::{count, floor, index_of, is_wide, trimmed};
use super::sentence::{end_at, is_stop};

/// A position to cut at, and what follows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CutPlan {
    pub(super) end: usize,
    /// The end of a code block that the cut left open.
    pub(super) close: String,
    /// What separates the notice.
    pub(super) gap: Gap,
}

impl CutPlan {
    pub(super) fn at(end: usize, gap: Gap) -> Self {
        CutPlan { end, close: String::new(), gap }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// The cut is inside a sentence.
    None,
    Space,
    Line,
    /// A line right after a table would become a row of it.
    Paragraph,
}

/// The maximum bytes of a stop with its closing quotes, except in unusual texts.
const CLOSERS: usize = 16;

/// The first byte of the last 40 % of the characters of `text[..max]`.
pub(super) fn region(text: &str, max: usize) -> usize {
    region_of(text, count(&text[..max]))
}

/// The same for the first `chars` characters.
pub(super) fn region_of(text: &str, chars: usize) -> usize {
    index_of(text, (chars * 3).div_ceil(5))
}

/// The best place to cut at or before byte `max`, a character boundary, and not before `from` if possible.
/// It also reads what follows `max`: a stop can only be judged with what comes after it.
pub(super) fn find(text: &str, from: usize, max: usize) -> CutPlan {
    let max = floor(text, max);
    sentence(text, from, max).unwrap_or_else(|| word(text, from, max))
}

/// The last end of a sentence or line in `from..=max`.
fn sentence(text: &str, from: usize, max: usize) -> Option<CutPlan> {
    let cut = |end: usize, gap: Gap| {
        let end = trimmed(text, end);
        (end >= from && end > 0).then(|| CutPlan::at(end, gap))
    };
    if text[max..].starts_with(['\n', '\r']) {
        return cut(max, Gap::Line);
    }
    // The stop of a sentence may be just before the region, and its closing quotes inside.
    let mut start = from.min(max).saturating_sub(CLOSERS);
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    for (offset, c) in text[start..max].char_indices().rev() {
        let at = start + offset;
        if is_line_end(c) {
            // If the white space before it starts outside the region, there is no nearer end either.
            return cut(at, Gap::Line);
        }
        if is_stop(c)
            && let Some(end) = end_at(text, at)
            && end <= max
            && floor(text, end) == end
        {
            return cut(end, Gap::Space);
        }
    }
    None
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The last end of a word in `from..=max`; `max` itself, which is a grapheme boundary, when there is none.
pub(super) fn word(text: &str, from: usize, max: usize) -> CutPlan {
    let cluster = CutPlan::at(trimmed(text, max), Gap::None);
    let from = from.min(max);
    let mut next = text[max..].chars().next().unwrap_or(' ');
    let mut at = max;
    for previous in text[from..max].chars().rev() {
        if breaks_between(previous, next) && floor(text, at) == at {
            let end = trimmed(text, at);
            return if end >= from && end > 0 { CutPlan::at(end, Gap::None) } else { cluster };
        }
        next = previous;
        at -= previous.len_utf8();
    }
    cluster
}

/// True if a line may break here: at white space, and between characters of scripts without spaces, unless
/// punctuation binds them.
fn breaks_between(previous: char, next: char) -> bool {
    if previous.is_whitespace() || next.is_whitespace() {
        return true;
    }
    if previous.is_ascii() && next.is_ascii() || !(is_wide(previous) || is_wide(next)) {
        return false;
    }
    let opens = "（「『《〈【［〔“‘([".contains(previous);
    let closes = "、，。．：；！？）」』》〉】］〕”’…—ー々％,.:;!?)]%".contains(next);
    !(opens || closes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, max: usize) -> (&str, Gap) {
        let max = index_of(text, max);
        let cut = find(text, region(text, max), max);
        (&text[..cut.end], cut.gap)
    }

    #[test]
    fn a_sentence_in_the_last_forty_percent_is_taken() {
        // The stop is the 6th of 10 characters: the last four begin after it.
        assert_eq!(cut("abcde. Fghij klm", 10), ("abcde.", Gap::Space));
        assert_eq!(cut("abcd. Efghi jklm", 10), ("abcd. Efgh", Gap::None));
        assert_eq!(cut("一二三四五。七八九十十一", 10), ("一二三四五。", Gap::Space));
        assert_eq!(cut("一二三四。六七八九十十一", 10), ("一二三四。六七八九十", Gap::None));
        assert_eq!(cut("ab. 中文中文。中文中文中文", 12), ("ab. 中文中文。", Gap::Space));
    }

    #[test]
    fn the_last_sentence_wins_even_when_it_ends_at_the_limit() {
        assert_eq!(cut("One two. Three. Four", 15), ("One two. Three.", Gap::Space));
        // The limit falls into `3.14`: what looks like a stop is none.
        assert_eq!(cut("The value is 3.14159", 15), ("The value is", Gap::None));
    }

    #[test]
    fn a_line_end_is_an_end() {
        assert_eq!(cut("first line\r\nsecond line", 15), ("first line", Gap::Line));
        assert_eq!(cut("first line\nsecond", 10), ("first line", Gap::Line));
        assert_eq!(cut("第一行文字\n第二行", 7), ("第一行文字", Gap::Line));
    }

    #[test]
    fn then_a_word_then_a_cluster() {
        assert_eq!(cut("some words without any stop", 12), ("some words", Gap::None));
        assert_eq!(cut("x aaaaaaaaaaaaaaaaaaaaaaaaa", 20), ("x aaaaaaaaaaaaaaaaaa", Gap::None));
        assert_eq!(cut("see https://example.com/a/b", 12), ("see https://", Gap::None));
        assert_eq!(cut("他说《红楼梦》很好看啊", 7), ("他说《红楼梦》", Gap::None));
        assert_eq!(cut("他说很好《红楼梦》", 5), ("他说很好", Gap::None));
    }

    #[test]
    fn clusters_stay_whole() {
        let family = "👩‍👩‍👧‍👦";
        let text = family.repeat(3);
        assert_eq!(cut(&text, 13).0, family);
        assert_eq!(cut("ab。\u{fe00}cdefghij", 3).0, "ab");
        assert_eq!(cut("🇩🇪🇫🇷🇬🇧", 3).0, "🇩🇪");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 3).0, "e\u{301}");
    }
}
