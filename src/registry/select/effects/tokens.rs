//! Names and sentences as tokens: each word is a verb of some kind, a joining word, or any other word.

use super::verbs::*;
use std::collections::HashMap;
use std::sync::LazyLock;
use toolhub_text::is_wide;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameToken {
    /// Changes something, and is hardly ever anything else.
    Acting(Verb),
    /// Changes something, unless it is a noun.
    ActingOrNoun(Verb),
    /// Changes something where a verb is expected, and is a noun or an adjective elsewhere.
    ActingWhenLeading(Verb),
    /// May read and may act.
    Either(Verb),
    Reading(Verb),
    ReadingOrNoun(Verb),
    ReadingWhenLeading(Verb),
    Joining(Verb),
    Preposition,
    Other,
}

/// The words of a kind, and the token of one of them.
type Kind = (&'static [Verb], fn(Verb) -> NameToken);

/// The lists in the order in which they are asked.
const KINDS: &[Kind] = &[
    (READING, NameToken::Reading),
    (READING_OR_NOUN, NameToken::ReadingOrNoun),
    (READING_WHEN_LEADING, NameToken::ReadingWhenLeading),
    (ACTING, NameToken::Acting),
    (ACTING_WIDE, NameToken::Acting),
    (ACTING_OR_NOUN, NameToken::ActingOrNoun),
    (ACTING_OR_NOUN_WIDE, NameToken::ActingOrNoun),
    (ACTING_WHEN_LEADING, NameToken::ActingWhenLeading),
    (EITHER, NameToken::Either),
    (JOINING, NameToken::Joining),
    (PREPOSITIONS, |_| NameToken::Preposition),
];

/// The tokens of words in lower case.
pub fn tokens(words: &[String]) -> Vec<NameToken> {
    let mut tokens = Vec::with_capacity(words.len());
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        if word.starts_with(is_wide) {
            push_wide(word, &mut tokens);
        } else if word == "look" && words.next_if_eq(&"up").is_some() {
            tokens.push(NameToken::Reading("look up"));
        } else {
            tokens.push(token(word));
        }
    }
    tokens
}

pub fn token(word: &str) -> NameToken {
    static KNOWN: LazyLock<HashMap<Verb, NameToken>> = LazyLock::new(|| {
        // The last one stays, so those that are asked first come last.
        KINDS.iter().rev().flat_map(|(list, kind)| list.iter().map(move |verb| (*verb, kind(verb)))).collect()
    });
    KNOWN.get(word).copied().unwrap_or(NameToken::Other)
}

/// A run of characters without spaces, at each place the longest word that is known.
fn push_wide(run: &str, tokens: &mut Vec<NameToken>) {
    let mut rest = run;
    while let Some(next) = rest.chars().next() {
        let known = KINDS.iter().flat_map(|(list, kind)| list.iter().map(move |verb| (*verb, kind)));
        let longest = known.filter(|(verb, _)| rest.starts_with(verb)).max_by_key(|(verb, _)| verb.len());
        let (token, length) = match longest {
            Some((verb, kind)) => (kind(verb), verb.len()),
            None => (NameToken::Other, next.len_utf8()),
        };
        tokens.push(token);
        rest = &rest[length..];
    }
}
