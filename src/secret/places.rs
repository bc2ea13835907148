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
