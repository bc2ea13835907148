//! Evidence about effects in a tool's name and description.

use super::doubt::is_doubtful;
use super::glued::glued;
use super::verbs::{
    ACTING, ACTING_FOREIGN, ACTING_OR_NOUN, ACTING_PAIRS, ACTING_WHEN_LEADING, BESIDE_INTERPRETERS,
    INTERPRETERS, JOINING, READING, READING_PAIRS, Verb,
};
use super::wide::{READING_WIDE, acting_wide};
use crate::text::{is_wide, name_words, words};

/// A longer description is not read and counts as no evidence.
const DESCRIPTION_BYTES: usize = 20_000;

/// A name, broken into words.
pub struct NameWords {
    words: Vec<String>,
}

impl NameWords {
    pub fn new(name: &str) -> Self {
        NameWords { words: name_words(name) }
    }

    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The reading verb that the name starts with.
    pub fn reading_verb(&self) -> Option<Verb> {
        let first = self.words.first()?;
        if let Some(verb) = find(READING, first) {
            return Some(verb);
        }
        let second = self.words.get(1).map(String::as_str);
        if first == "look" && second == Some("up") {
            return Some("look up");
        }
        READING_WIDE.iter().copied().find(|verb| first.starts_with(verb))
    }

    /// Whether the name may say that something is changed, without an acting verb that is nothing else.
    pub fn is_doubtful(&self) -> bool {
        is_doubtful(&self.words)
    }

    /// The first verb anywhere in the name that changes something.
    pub fn acting_verb(&self) -> Option<Verb> {
        if let Some(interpreter) = self.interpreter() {
            return Some(interpreter);
        }
        let reads = self.reading_verb().is_some();
        let mut joined = false;
        for (at, word) in self.words.iter().enumerate() {
            let expects = match at {
                0 => Expects::Verb,
                _ if joined => Expects::Verb,
                _ if reads => Expects::Object,
                _ => Expects::Either,
            };
            let found = self.pair_at(ACTING_PAIRS, at).or_else(|| acting(word, expects));
            if let Some(verb) = found.filter(|_| self.pair_at(READING_PAIRS, at).is_none()) {
                return Some(verb);
            }
            joined |= JOINING.contains(&&**word);
        }
        None
    }

    /// The interpreter that the name is: `python`, `sql_query`, but not `search_python_docs`.
    fn interpreter(&self) -> Option<Verb> {
        let known =
            |word: &String| find(INTERPRETERS, word).or_else(|| find(BESIDE_INTERPRETERS, word)).is_some();
        if !self.words.iter().all(known) {
            return None;
        }
        self.words.iter().find_map(|word| find(INTERPRETERS, word))
    }

    fn pair_at(&self, pairs: &[(Verb, Verb)], at: usize) -> Option<Verb> {
        let (word, next) = (self.words.get(at)?, self.words.get(at + 1)?);
        pairs.iter().find(|(a, b)| word == a && next == b).map(|(verb, _)| *verb)
    }
}

/// What is expected at a position in a name.
#[derive(Clone, Copy, PartialEq)]
enum Expects {
    /// At the start, or after a joining word.
    Verb,
    /// After a reading verb.
    Object,
    Either,
}

/// The acting verb that a word is or contains.
fn acting(word: &str, expects: Expects) -> Option<Verb> {
    if word.starts_with(is_wide) {
        return acting_wide(word, expects == Expects::Object);
    }
    let or_noun = || match expects {
        Expects::Object => None,
        _ => find(ACTING_OR_NOUN, word).or_else(|| third_person(word)),
    };
    let leading = || if expects == Expects::Verb { find(ACTING_WHEN_LEADING, word) } else { None };
    let always = find(ACTING, word).or_else(|| find(ACTING_FOREIGN, word));
    always.or_else(or_noun).or_else(leading).or_else(|| glued(word, expects == Expects::Verb))
}

/// `sends`, `creates`: a verb, where a noun is not expected.
fn third_person(word: &str) -> Option<Verb> {
    let stem = word.strip_suffix('s')?;
    find(ACTING, stem).or_else(|| find(ACTING, stem.strip_suffix('e')?))
}

/// True when a description mentions a change: any acting verb at the start of a sentence, or anywhere an acting verb that
/// is never a noun.
pub fn description_acts(description: &str) -> bool {
    if description.len() > DESCRIPTION_BYTES {
        return true;
    }
    let sentences = description.split(['.', '!', '?', ';', '\n', '。', '！', '？', '；']);
    sentences.into_iter().any(|sentence| {
        let words = words(sentence);
        let opens = words.first().is_some_and(|word| opens_acting(word));
        let joins = words
            .windows(2)
            .any(|pair| JOINING.contains(&&*pair[0]) && acting(&pair[1], Expects::Verb).is_some());
        let mut rest = words.iter().skip(1);
        opens
            || joins
            || rest.any(|word| acting(word, Expects::Object).or_else(|| third_person(word)).is_some())
    })
}

/// Whether a sentence that begins with this word speaks of a change: `Start`, `Starts`, `Starting`.
fn opens_acting(word: &str) -> bool {
    let stems = [Some(word), word.strip_suffix('s'), word.strip_suffix("es"), word.strip_suffix("ing")];
    stems.into_iter().flatten().any(|stem| acting(stem, Expects::Verb).is_some())
}

fn find(list: &'static [Verb], word: &str) -> Option<Verb> {
    list.iter().copied().find(|verb| *verb == word)
}
