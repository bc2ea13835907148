//! The clauses of a query: "list my repositories and delete the oldest one" asks for two things.
//!
//! A sentence is split before a joining word when a verb follows it. Each clause has an action, and an object: the words right
//! behind its verb.

use super::action::{ClauseVerb, asked, negated};
use super::chinese_verbs::{ChineseWish, asked_in_chinese};
use super::stop::is_stop;
use super::verbs::{VerbKind, is_common_verb, is_plural, is_polite};
use super::words::{WordKind, each_wide_run, each_word};

/// One word of the query.
pub struct QueryWord {
    pub text: String,
    pub kind: WordKind,
    pub position: u32,
    /// The number of its clause.
    pub clause: u32,
    pub quoted: bool,
    pub place: Place,
    /// The verb of its clause.
    pub is_head: bool,
}

/// Where a word of a clause stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Anywhere,
    /// The verb, if it changes something.
    Verb,
    /// Part of the object, which comes right behind the verb.
    Object,
    /// A verb that is not to be done.
    Negated,
    /// "on" or "off" that belongs to a verb, or stands for one: "lights off".
    Particle,
}

/// What a clause asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    pub kind: Option<VerbKind>,
    /// Whether its object is several things, if it has one.
    pub several: Option<bool>,
    /// It has a verb of its own.
    pub is_own: bool,
    /// Tools that act may answer it as well.
    pub is_open: bool,
}

impl Wish {
    /// The first verb of a Chinese sentence counts, unless a later part of it acts: then both are asked for.
    fn add_chinese(&mut self, asked: ChineseWish) {
        match self.kind {
            None => {
                (self.kind, self.is_open) = (Some(asked.kind), asked.is_open);
                self.several = asked.lists.then_some(true);
            }
            Some(kind) if kind.is_harmless() && !asked.kind.is_harmless() => self.kind = Some(VerbKind::Act),
            Some(_) => {}
        }
    }
}

pub struct Clauses {
    pub words: Vec<QueryWord>,
    /// By number of the clause.
    pub wishes: Vec<Wish>,
    /// The sentences with words, each with its first clause.
    sentences: Vec<(u32, u32)>,
}

impl Clauses {
    /// The clause of a sentence of Chinese, which is one clause: the joining words are English ones.
    pub fn of_sentence(&self, sentence: u32) -> u32 {
        self.sentences.iter().find(|(known, _)| *known == sentence).map_or(0, |(_, clause)| *clause)
    }
}

/// Words that may join two clauses.
const JOINING: [&str; 7] = ["and", "then", "also", "plus", "afterwards", "or", "but"];
/// The object of a verb ends before these.
const BEHIND_OBJECT: [&str; 24] = [
    "in", "of", "for", "from", "with", "on", "at", "by", "to", "into", "using", "that", "which", "where",
    "when", "between", "within", "about", "under", "via", "and", "or", "as", "based",
];
/// The content words of an object, at most.
const OBJECT_WORDS: usize = 4;

pub fn clauses(text: &str) -> Clauses {
    let mut words: Vec<QueryWord> = Vec::new();
    each_word(unquoted(text), |word| {
        words.push(QueryWord {
            text: word.text.to_owned(),
            kind: word.kind,
            position: word.position,
            clause: word.sentence,
            quoted: word.quoted,
            place: Place::Anywhere,
            is_head: false,
        });
    });
    let sentences = split(&mut words);
    let mut wishes = vec![Wish::default(); words.last().map_or(0, |word| word.clause as usize + 1)];
    for clause in words.chunk_by_mut(|a, b| a.clause == b.clause) {
        wishes[clause[0].clause as usize] = read_clause(clause);
    }
    let mut clauses = Clauses { words, wishes, sentences };
    each_wide_run(text, |run, sentence| {
        let clause = clauses.of_sentence(sentence) as usize;
        if let Some((wish, asked)) = clauses.wishes.get_mut(clause).zip(asked_in_chinese(run)) {
            wish.add_chinese(asked);
        }
    });
    clauses
}

/// The text inside quotation marks that enclose all of it: they do not set anything apart.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inside = |open: char, close: char| {
        text.strip_prefix(open)?.strip_suffix(close).filter(|inner| !inner.contains(close))
    };
    [('"', '"'), ('“', '”'), ('「', '」'), ('\'', '\'')]
        .iter()
        .find_map(|(open, close)| inside(*open, *close))
        .unwrap_or(text)
}

/// Gives the clauses numbers in their order. Returns the first one of each sentence.
fn split(words: &mut [QueryWord]) -> Vec<(u32, u32)> {
    let mut sentences = Vec::new();
    let (mut clause, mut sentence) = (0, words.first().map_or(0, |word| word.clause));
    for at in 0..words.len() {
        let is_new_sentence = words[at].clause != sentence;
        sentence = words[at].clause;
        // "and then" is one joint.
        let begins = at > 0 && !words[at].quoted && !is_joining(&words[at - 1]) && joins(&words[at..]);
        clause += u32::from(is_new_sentence || begins);
        if at == 0 || is_new_sentence {
            sentences.push((sentence, clause));
        }
        words[at].clause = clause;
    }
    sentences
}

fn is_joining(word: &QueryWord) -> bool {
    JOINING.contains(&word.text.as_str())
}

/// True at a joining word with a verb behind it.
fn joins(words: &[QueryWord]) -> bool {
    let sentence = words[0].clause;
    if !is_joining(&words[0]) {
        return false;
    }
    let mut rest =
        words[1..].iter().take_while(|word| word.clause == sentence).map(|word| word.text.as_str());
    rest.find(|word| !is_polite(word) && !JOINING.contains(word)).is_some_and(is_common_verb)
}

fn read_clause(words: &mut [QueryWord]) -> Wish {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let (asked, negated) = (asked(&texts), negated(&texts).collect::<Vec<usize>>());
    negated.into_iter().for_each(|at| words[at].place = Place::Negated);
    let last = words.iter().rposition(|word| word.kind == WordKind::Word);
    let head = asked.and_then(|asked| asked.verb);
    for (at, word) in words.iter_mut().enumerate() {
        let is_particle = ["on", "off"].contains(&word.text.as_str());
        if is_particle && (last == Some(at) || head.is_some_and(|head| head + 1 == at)) {
            word.place = Place::Particle;
        }
    }
    let Some(ClauseVerb { kind, verb, is_open }) = asked else { return Wish::default() };
    let Some(verb) = verb else {
        let last = words.iter().rfind(|word| !is_stop(&word.text) && word.kind == WordKind::Word);
        let several = last.filter(|word| is_plural(&word.text)).map(|_| true);
        return Wish { kind: Some(kind), several, is_own: false, is_open };
    };
    let (mut left, mut several) = (OBJECT_WORDS, None);
    words[verb].is_head = true;
    if matches!(kind, VerbKind::Create | VerbKind::Change | VerbKind::Delete)
        && is_common_verb(&words[verb].text)
    {
        words[verb].place = Place::Verb;
    }
    for word in &mut words[verb + 1..] {
        let ends = word.quoted || BEHIND_OBJECT.contains(&word.text.as_str());
        if several.is_some() && ends || left == 0 {
            break;
        }
        if !is_stop(&word.text)
            && !word.quoted
            && word.kind != WordKind::Whole
            && word.place != Place::Negated
        {
            word.place = Place::Object;
            several = Some(is_plural(&word.text));
            left -= 1;
        }
    }
    Wish { kind: Some(kind), several, is_own: true, is_open }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wishes(text: &str) -> Vec<(Option<VerbKind>, Option<bool>)> {
        clauses(text).wishes.iter().map(|wish| (wish.kind, wish.several)).collect()
    }

    fn objects(text: &str) -> Vec<String> {
        let words = clauses(text).words.into_iter().filter(|word| word.place == Place::Object);
        words.map(|word| word.text).collect()
    }

    #[test]
    fn a_clause_has_an_action_and_an_object() {
        let read = Some(VerbKind::Read);
        assert_eq!(wishes("Please show me the open issues of a repository"), [(read, Some(true))]);
        assert_eq!(objects("Please show me the open issues of a repository"), ["open", "issues"]);
        assert_eq!(wishes("I would like to delete the file"), [(Some(VerbKind::Delete), Some(false))]);
        assert_eq!(wishes("set up a server"), [(Some(VerbKind::Create), Some(false))]);
        assert_eq!(wishes("What is the weather?"), [(read, Some(false))]);
        assert_eq!(wishes("the weather in Rome"), [(read, None)]);
        assert_eq!(wishes("删除这个文件"), [(Some(VerbKind::Delete), None)]);
    }

    #[test]
    fn several_things_are_several_clauses() {
        let (read, delete) = (Some(VerbKind::Read), Some(VerbKind::Delete));
        let both = [(read, Some(true)), (delete, Some(false))];
        assert_eq!(wishes("list my branches and then delete the oldest"), both);
        assert_eq!(wishes("list my branches and tags"), [(read, Some(true))]);
        assert_eq!(wishes("\"List my branches. Delete the oldest.\""), both);
    }

    proptest! {
        #[test]
        fn any_text_has_clauses(text in "\\PC{0,60}", joined in "(list|and|the|delete|files|then| |\\.|天气|删除){0,12}") {
            for text in [text, joined] {
                let found = clauses(&text);
                prop_assert!(found.words.iter().all(|word| (word.clause as usize) < found.wishes.len()));
            }
        }
    }
}
