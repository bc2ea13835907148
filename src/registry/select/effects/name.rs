//! What the name of a tool says about its effects.

use super::tokens::{NameToken, token, tokens};
use super::verbs::{ENDINGS, GETTABLE, NOUNS, OF_SEVERAL, SEVERAL, SEVERAL_ENDINGS, Verb};
use toolhub_text::invisible::visible;
use toolhub_text::{NAME_BYTES, is_wide, name_words};
use toolhub_types::model::Evidence;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameVerdict {
    /// It has an acting verb.
    Acts(Verb),
    /// It has a reading verb and no other.
    Reads(Verb),
    /// Neither, or a reading verb beside a word that may be another verb.
    Unclear(Evidence),
}

/// Reads a name of any style. A word is a noun where a verb that only reads stands beside it, and a verb in all other places
/// where it can be one.
pub fn read_name(name: &str) -> NameVerdict {
    let words = name_words(&visible(name));
    let tokens = tokens(&words);
    let mut reads: Option<NameToken> = None;
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
        let may_be_noun = matches!(reads, Some(NameToken::ReadingOrNoun(_)));
        match token {
            NameToken::Acting(verb) => return NameVerdict::Acts(verb),
            NameToken::Reading(_) | NameToken::ReadingOrNoun(_) => reads = reads.or(Some(token)),
            NameToken::ReadingWhenLeading(_) if at == 0 => reads = Some(token),
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
            NameToken::ActingOrNoun(verb) => return NameVerdict::Acts(verb),
            NameToken::ActingWhenLeading(verb) if at == 0 || joined.is_some() => {
                return NameVerdict::Acts(verb);
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
    if let Some(NameToken::ReadingOrNoun(verb)) = reads
        && !reads_several(&words, verb)
    {
        doubt = doubt.or(Some(Evidence::Noun(verb)));
    }
    match (reads, doubt) {
        (Some(_), Some(evidence)) => NameVerdict::Unclear(evidence),
        (
            Some(
                NameToken::Reading(verb)
                | NameToken::ReadingOrNoun(verb)
                | NameToken::ReadingWhenLeading(verb),
            ),
            None,
        ) if name.len() <= NAME_BYTES => NameVerdict::Reads(verb),
        _ => NameVerdict::Unclear(Evidence::None),
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
