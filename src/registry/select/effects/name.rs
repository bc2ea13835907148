//! What the name of a tool says about its effects. Names and sentences are read as tokens: each word is a verb of some kind, a
//! joining word, or any other word.

use super::verbs::*;
use std::collections::HashMap;
use std::sync::LazyLock;
use toolhub_text::invisible::visible;
use toolhub_text::{NAME_BYTES, is_wide, name_words};
use toolhub_types::model::{Effects, Evidence};

/// Reads a name of any style: it may act if it has an acting verb, and is harmless if it has a reading verb and no other. A word is
/// a noun where a verb that only reads stands beside it, and a verb in all other places where it can be one.
pub fn read_name(name: &str) -> Effects {
    let words = name_words(&visible(name));
    let tokens = tokens(&words);
    // The first verb that reads, and whether it is also a noun.
    let mut reads: Option<(Verb, bool)> = None;
    let is_about_several = words.last().is_some_and(|last| is_plural(last));
    let mut doubt = words.last().and_then(|last| ending(last)).map(Evidence::SecondVerb);
    for (at, &token) in tokens.iter().enumerate() {
        let joined = match at.checked_sub(1).map(|before| tokens[before]) {
            Some(NameToken::Joining(word)) => Some(word),
            _ => None,
        };
        let is_object = reads.is_some() && joined.is_none();
        let is_noun = is_before_reading(&tokens[at + 1..]);
        let is_last = is_object && at + 1 == tokens.len() && !matches!(tokens[at - 1], NameToken::Other);
        let may_be_noun = matches!(reads, Some((_, true)));
        match token {
            NameToken::Acting(verb) => return Effects::may_act(Evidence::ActingVerb(verb)),
            NameToken::Reading(verb) => reads = reads.or(Some((verb, false))),
            NameToken::ReadingOrNoun(verb) => reads = reads.or(Some((verb, true))),
            NameToken::ReadingWhenLeading(verb) if at == 0 => reads = Some((verb, false)),
            // `get_lock`, `get_reset_password`, `list_set_value`: the word may be what is done.
            NameToken::ActingOrNoun(verb)
                if is_object && !is_about_several && !may_be_noun && is_verb_first(verb) =>
            {
                doubt = doubt.or(Some(Evidence::SecondVerb(verb)));
            }
            NameToken::ActingOrNoun(verb) | NameToken::ActingWhenLeading(verb) | NameToken::Either(verb)
                if is_object && !is_about_several && may_be_noun && !(is_last && NOUNS.contains(&verb)) =>
            {
                doubt = doubt.or(Some(Evidence::SecondVerb(verb)));
            }
            _ if is_object || is_noun => {}
            NameToken::ActingOrNoun(verb) => return Effects::may_act(Evidence::ActingVerb(verb)),
            NameToken::ActingWhenLeading(verb) if at == 0 || joined.is_some() => {
                return Effects::may_act(Evidence::ActingVerb(verb));
            }
            NameToken::ActingWhenLeading(verb) | NameToken::Either(verb) => {
                doubt = doubt.or(Some(Evidence::SecondVerb(verb)));
            }
            _ => {}
        }
        // `find_and_frobnicate`: what is joined may be any verb.
        if let Some(word) =
            joined.filter(|_| !matches!(token, NameToken::Reading(_) | NameToken::ReadingOrNoun(_)))
        {
            doubt = doubt.or(Some(Evidence::Joined(word)));
        }
    }
    if let Some((verb, true)) = reads
        && !reads_several(&words, verb)
    {
        doubt = doubt.or(Some(Evidence::Noun(verb)));
    }
    match (reads, doubt) {
        (Some(_), Some(evidence)) => Effects::unknown(evidence),
        (Some((verb, _)), None) if name.len() <= NAME_BYTES => Effects::harmless(Evidence::ReadingVerb(verb)),
        _ => Effects::unknown(Evidence::None),
    }
}

/// Whether a verb that only reads follows, before anything is joined: what stands before it is a noun (`issue_get`).
fn is_before_reading(rest: &[NameToken]) -> bool {
    rest.iter()
        .take_while(|token| !matches!(token, NameToken::Joining(_)))
        .any(|token| matches!(token, NameToken::Reading(_)))
}

/// Whether something follows that a verb of several things can read, or it stands last. Beside another reading verb it is a noun.
fn reads_several(words: &[String], verb: Verb) -> bool {
    let mut after = words.iter().skip_while(|word| *word != verb).skip(1).peekable();
    let is_read = |word: &String| {
        let is_wide = word.starts_with(is_wide);
        let ends = SEVERAL_ENDINGS.iter().any(|end| word.ends_with(end));
        let is_reading = matches!(token(word), NameToken::Reading(_) | NameToken::ReadingOrNoun(_));
        is_wide || is_plural(word) || ends || is_reading || SEVERAL.contains(&word.as_str())
    };
    !OF_SEVERAL.contains(&verb) || after.peek().is_none() || after.any(is_read)
}

/// `get_push_events`, `list_pull_requests`: several things are read, and the words before them say which.
fn is_plural(word: &str) -> bool {
    word.ends_with('s') && !["is", "ss", "us"].iter().any(|end| word.ends_with(end))
}

fn is_verb_first(verb: Verb) -> bool {
    verb.is_ascii() && !NOUNS.contains(&verb) && !GETTABLE.contains(&verb)
}

/// The end of a name that speaks of something being done: `get_order_shipped`, `get_it_sent`, `count_down`.
fn ending(word: &str) -> Option<Verb> {
    ENDINGS.iter().copied().find(|end| *end == word).or_else(|| word.ends_with("ed").then_some("…ed"))
}

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
