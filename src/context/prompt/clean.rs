//! Makes untrusted text safe for a line of the prompt.

use super::vendor::vendor_name;
use std::borrow::Cow;
use std::fmt::Write;
use toolhub_text::invisible::{is_invisible, visible};
use toolhub_types::model::Lang;

/// A text on one line: runs of white space become one space, invisible characters are removed. A text of more than
/// `limit` characters is truncated after a word, with a note of how much is missing.
pub fn line(text: &str, limit: usize, lang: Lang) -> Cow<'_, str> {
    let text = text.trim();
    if text.len() <= limit && is_plain(text) {
        return Cow::Borrowed(text);
    }
    let (text, mut out) = (&*visible(text), String::new());
    // The start of the last word, in the output and in the text.
    let (mut shown, mut word, mut between) = (0, (0, 0), false);
    for (at, c) in text.char_indices() {
        if c.is_whitespace() {
            between = shown > 0;
            continue;
        }
        if is_invisible(c) {
            continue;
        }
        if between {
            word = (out.len(), at);
            out.push(' ');
            shown += 1;
            between = false;
        }
        if shown >= limit {
            let near = out.len() - word.0 < out.len() / 4;
            let mut cut = at;
            if word.0 > 0 && near {
                out.truncate(word.0);
                cut = word.1;
            }
            let more = text[cut..].chars().count();
            let _ = match lang {
                Lang::En => write!(out, "… [{more} more characters]"),
                Lang::Zh => write!(out, "… [还有 {more} 个字符]"),
            };
            break;
        }
        out.push(c);
        shown += 1;
    }
    Cow::Owned(out)
}

/// A text with its lines, without invisible characters, truncated to `limit` characters.
pub fn paragraphs(text: &str, limit: usize) -> String {
    const NOTICE: &str = "… [cut]";
    let seen = |c: &char| *c == '\n' || *c == '\t' || !is_invisible(*c);
    let mut out: String = visible(text).trim().chars().filter(seen).take(limit + 1).collect();
    if out.chars().count() > limit {
        let room = limit.saturating_sub(NOTICE.chars().count());
        let end = out.char_indices().nth(room).map_or(out.len(), |(at, _)| at);
        out.truncate(end);
        out.push_str(NOTICE);
    }
    out
}

/// A text without terminal escape sequences and invisible characters.
pub fn plain(text: &str) -> Cow<'_, str> {
    match visible(text) {
        seen if seen.contains('\r') => Cow::Owned(seen.replace('\r', "")),
        seen => seen,
    }
}

/// True if a name can be shown in a prompt unchanged.
fn is_printable(name: &str) -> bool {
    let plain = |c: char| c == ' ' || !(c.is_whitespace() || is_invisible(c));
    !name.is_empty() && name.trim() == name && !name.contains("**") && name.chars().all(plain)
}

/// A name that would break the line is shown as the APIs get it; both can be called.
pub fn shown_name(name: &str) -> Cow<'_, str> {
    if is_printable(name) { Cow::Borrowed(name) } else { Cow::Owned(vendor_name(name)) }
}

/// True if a text needs no cleaning inside a line.
fn is_plain(text: &str) -> bool {
    // Without an early exit, the compiler vectorises the comparison.
    let bytes = text.as_bytes();
    let printable = bytes.iter().fold(true, |all, b| all & (b' '..=b'~').contains(b));
    printable && bytes.windows(2).fold(true, |all, pair| all & (pair[0] | pair[1] != b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_leave_its_line() {
        let text = " Reads.\r\n\n2. **evil**\u{2028}  x\u{1b}[31m\u{202e}\u{e0041} ";
        assert_eq!(line(text, 100, Lang::En), "Reads. 2. **evil** x");
    }

    #[test]
    fn commands_to_terminals_go_as_a_whole() {
        for (given, seen) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{9b}1;31m red", "red"),
            ("a \u{1b}]8;;http://h\u{7}link\u{1b}]8;;\u{7} b", "a link b"),
            // What separates words without an escape sequence still does.
            ("page\u{c}page", "page page"),
        ] {
            assert_eq!(line(given, 100, Lang::En), seen, "{given:?}");
        }
        assert_eq!(line("\u{1b}[31msome words are here", 12, Lang::En), "some words… [8 more characters]");
        assert_eq!(paragraphs("\u{1b}[1mTitle\u{1b}[0m\n\ttext", 100), "Title\n\ttext");
    }

    #[test]
    fn a_long_text_is_cut_after_a_word_and_says_so() {
        assert_eq!(line("some words are here", 12, Lang::En), "some words… [8 more characters]");
        assert_eq!(line("没有空格的文字", 4, Lang::Zh), "没有空格… [还有 3 个字符]");
        assert_eq!(line("exactly", 7, Lang::En), "exactly");
        let long = "x".repeat(1 << 20);
        assert!(line(&long, 100, Lang::En).len() < 200);
    }

    #[test]
    fn paragraphs_keep_lines_and_their_limit() {
        assert_eq!(paragraphs("a\n\tb\u{0}c", 100), "a\n\tbc");
        assert_eq!(paragraphs(&"é".repeat(50), 20).chars().count(), 20);
    }
}
