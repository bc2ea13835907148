//! Places of secrets in a text, and the words of a text.

use super::names::is_secret_name;
use std::ops::Range;

/// Where a text has a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SecretPlace {
    pub range: Range<usize>,
    /// The mark around what takes its place: a number of JSON becomes a text.
    pub quote: Option<char>,
}

/// Whether this is the flag whose value is the next word of a command line: `--token`.
pub fn is_secret_flag(word: &str) -> bool {
    word.starts_with('-') && !word.contains(['=', ' ']) && is_secret_name(word.trim_start_matches('-'))
}

/// The end of the word that begins here.
pub(super) fn word_end(text: &str, at: usize) -> usize {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '，' | '。' | '；' | '、');
    text[at..].find(is_end).map_or(text.len(), |end| at + end)
}

/// A name in quotation marks is not longer.
pub(super) const LONGEST_NAME: usize = 100;
/// So far before a sign a name is looked for.
const NAME_READ: usize = 300;

/// The name that ends here: in quotation marks, or the last word; up to three of a sentence (`api key: …`, `mot de passe : …`).
pub(super) fn name_before(text: &str, at: usize) -> Option<(&str, bool)> {
    let before = text[..at].trim_end_matches([' ', '\t']);
    let inner = before.trim_end_matches(['"', '\'', '`']);
    if inner.len() < before.len() {
        let mark = before.as_bytes()[inner.len()];
        let inner = inner.trim_end_matches('\\');
        let window = inner.len() - inner.len().min(LONGEST_NAME);
        let opening = inner.as_bytes()[window..].iter().rposition(|byte| *byte == mark);
        let name = opening.map(|start| &inner[window + start + 1..]).filter(|name| !name.contains('\n'));
        if let Some(name) = name {
            return Some((name, true));
        }
    }
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let word = |before: &str| {
        let read = before.ceil_char_boundary(before.len().saturating_sub(NAME_READ));
        read + before[read..].trim_end_matches(is_name).len()
    };
    let start = word(inner);
    if start == inner.len() {
        return None;
    }
    let with_earlier = |start: usize| match inner[..start].strip_suffix(' ') {
        Some(earlier) if word(earlier) < earlier.len() && !earlier.ends_with('.') => word(earlier),
        _ => start,
    };
    let start = with_earlier(with_earlier(start));
    Some((&inner[start..], false))
}
