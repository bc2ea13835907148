//! The table as data: tags, their phrases, and how much a phrase says; the reader of `table/*.txt`; and how a table becomes a
//! matcher.

use super::matcher::{Companions, Matcher, Says};
use super::text::{self, MARKS};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use toolhub_text::PhraseSet;

/// How much a phrase says about its tag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Grade {
    /// Added by the user: counts in every section.
    Sure,
    /// Hardly ever means anything else: decides alone.
    Strong,
    /// Decides in a name; in a description together with something else, or when nothing else is
    /// found.
    Normal,
    /// Ambiguous: supports others.
    Weak,
}

#[derive(Clone, Debug, Default)]
pub(super) struct TagRules {
    pub tag: String,
    /// An action (search, convert, …) is done to something: it does not tell the subject of the
    /// tool.
    pub action: bool,
    /// It is given in addition to the other tags and does not influence them.
    pub fine: bool,
    /// Tags that are added when the object of the action is not named.
    pub alone: Vec<String>,
    pub words: Vec<(String, Grade)>,
    /// Phrases that are not about this tag, although they contain a word of it ("docker image").
    pub stops: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub tags: Vec<TagRules>,
    /// Phrases that say nothing about any tag.
    pub stops: Vec<String>,
    /// Words that name no subject ("tool", "results", 信息), so that a search for them is a search
    /// for anything.
    pub hollow: Vec<String>,
}

/// The builtin vocabulary. `common.txt` explains the notation.
pub(super) const BUILTIN: &[&str] = &[
    include_str!("table/common.txt"),
    include_str!("table/actions.txt"),
    include_str!("table/information.txt"),
    include_str!("table/work.txt"),
    include_str!("table/technology.txt"),
    include_str!("table/media.txt"),
    include_str!("table/life.txt"),
    include_str!("table/fine.txt"),
];

impl Table {
    /// Reads the notation that `table/common.txt` explains. Lines outside of it are skipped; a test
    /// holds the builtin table to it.
    pub fn parse(texts: &[&str]) -> Self {
        let mut table = Self::default();
        for line in texts.iter().flat_map(|text| text.lines()).map(str::trim) {
            if let Some(head) = line.strip_prefix('[') {
                table.section(head);
                continue;
            }
            let mut chars = line.chars();
            let kind = chars.next();
            let words = chars.as_str().split(',').map(str::trim).filter(|w| !w.is_empty()).map(str::to_owned);
            match (kind, table.tags.last_mut()) {
                (Some('+'), Some(rules)) => rules.words.extend(words.map(|w| (w, Grade::Strong))),
                (Some('='), Some(rules)) => rules.words.extend(words.map(|w| (w, Grade::Normal))),
                (Some('-'), Some(rules)) => rules.words.extend(words.map(|w| (w, Grade::Weak))),
                (Some('!'), Some(rules)) => rules.stops.extend(words),
                (Some('!'), None) => table.stops.extend(words),
                (Some('~'), _) => table.hollow.extend(words),
                _ => {}
            }
        }
        table
    }

    fn section(&mut self, head: &str) {
        let Some((tag, flags)) = head.split_once(']') else { return };
        let mut rules = TagRules { tag: tag.to_owned(), ..TagRules::default() };
        for flag in flags.split_whitespace() {
            match flag.strip_prefix("alone:") {
                Some(tags) => rules.alone.extend(tags.split(',').map(str::to_owned)),
                None => {
                    rules.fine |= flag == "fine";
                    rules.action |= rules.fine || flag == "action";
                }
            }
        }
        self.tags.push(rules);
    }
}

type SaidBy = HashMap<String, Says>;

/// What is known of the table so far.
#[derive(Default)]
struct Compilation {
    words: HashSet<String>,
    phrases: SaidBy,
    user: SaidBy,
    fine: SaidBy,
}

impl Matcher {
    pub fn new(table: &Arc<Table>) -> Self {
        let mut made = Compilation::default();
        let long = made.add_words(table);
        for stop in table.tags.iter().filter(|rules| rules.fine).flat_map(|rules| &rules.stops) {
            let phrase = made.phrase(stop);
            made.fine.entry(phrase).or_default();
        }
        let stops = made.stops(table);
        made.show_inner(table, &long, &stops);
        made.add_stops(stops);
        for stop in &table.stops {
            let phrase = made.phrase(stop);
            made.phrases.entry(phrase).or_default();
        }
        let companions = made.companions(table);
        let Compilation { words, phrases, user, fine } = made;
        Matcher { words, sets: [phrases, user, fine].map(PhraseSet::new), companions, table: table.clone() }
    }
}

impl Compilation {
    /// A phrase of the table, whose words are known from now on.
    fn phrase(&mut self, text: &str) -> String {
        let phrase = text::phrase(text, &self.words);
        let words = phrase.split(MARKS).filter(|word| !word.is_empty());
        self.words.extend(words.map(str::to_owned));
        phrase
    }

    /// The spellings of a phrase. `GitHub` may be written in one or in two words.
    fn spellings(&mut self, word: &str) -> Vec<String> {
        let lower = word.to_lowercase();
        // Split first: once the whole is a known word, it is not split any more.
        let split = (lower != word).then(|| self.phrase(word));
        let plain = self.phrase(&lower);
        let split = split.filter(|split| *split != plain);
        [Some(plain), split].into_iter().flatten().filter(|phrase| !phrase.is_empty()).collect()
    }

    /// Adds the words of all tags; returns the builtin phrases of several words.
    fn add_words(&mut self, table: &Table) -> Vec<String> {
        let mut long = Vec::new();
        for (tag, rules) in table.tags.iter().enumerate() {
            for (word, grade) in &rules.words {
                let of_user = *grade == Grade::Sure;
                for phrase in self.spellings(word) {
                    let phrases = match of_user {
                        true => &mut self.user,
                        false if rules.fine => &mut self.fine,
                        false => &mut self.phrases,
                    };
                    say(phrases.entry(phrase.clone()).or_default(), tag, *grade);
                    if starts(&phrase).len() > 1 && !of_user && !rules.fine {
                        long.push(phrase);
                    }
                }
            }
        }
        long
    }

    /// A phrase of a subject hides other subjects in it, but not what is done ("image search" is a
    /// search), and a phrase of an action hides other actions only ("to pdf" is about documents).
    /// Unless a tag has the phrase as a stop: 热搜 is not a search.
    fn show_inner(&mut self, table: &Table, long: &[String], stops: &Stops) {
        let mut shown = Vec::new();
        for phrase in long {
            let own = self.phrases.entry(phrase.clone()).or_default();
            let is_action = own.iter().all(|(tag, _)| table.tags[*tag].action);
            let stopped = stops.get(phrase).map_or(&[][..], Vec::as_slice);
            let mut says = inner(&self.phrases, phrase);
            says.retain(|(tag, _)| table.tags[*tag].action != is_action && !stopped.contains(tag));
            shown.push((phrase, says));
        }
        for (phrase, says) in shown {
            let known = self.phrases.entry(phrase.clone()).or_default();
            says.into_iter().for_each(|(tag, grade)| say(known, tag, grade));
        }
    }

    /// Enters the stop phrases. One that is listed under a tag says nothing about that tag; what
    /// else its words say stays: "drug database" is not a hint at databases, but at health. A tag
    /// that lists the phrase as its own has it.
    fn add_stops(&mut self, stops: Stops) {
        let mut entries = Vec::with_capacity(stops.len());
        for (stop, tags) in stops {
            let mut says = inner(&self.phrases, &stop);
            says.retain(|(tag, _)| !tags.contains(tag));
            entries.push((stop, says));
        }
        for (stop, says) in entries {
            self.phrases.entry(stop).or_insert(says);
        }
    }

    fn stops(&mut self, table: &Table) -> Stops {
        let mut stops = Stops::new();
        for (tag, rules) in table.tags.iter().enumerate().filter(|(_, rules)| !rules.fine) {
            for stop in &rules.stops {
                stops.entry(self.phrase(stop)).or_default().push(tag);
            }
        }
        stops
    }

    fn companions(&mut self, table: &Table) -> Vec<Companions> {
        let position = |tag: &str| table.tags.iter().position(|rules| rules.tag == tag);
        let mut all = Vec::new();
        for (action, rules) in table.tags.iter().enumerate() {
            let tags: Vec<usize> = rules.alone.iter().filter_map(|tag| position(tag)).collect();
            if tags.is_empty() {
                continue;
            }
            let own = tags.iter().chain([&action]).flat_map(|&tag| &table.tags[tag].words);
            let words = own.map(|(word, _)| word).chain(&table.hollow);
            let hollow: HashSet<String> = words.flat_map(|word| self.spellings(word)).collect();
            let hollow = PhraseSet::new(hollow.into_iter().map(|phrase| (phrase, ())));
            all.push(Companions { action, tags, hollow });
        }
        all
    }
}

/// Forms of one word ("entity", "entities") are one phrase: the best grade counts, once.
fn say(says: &mut Says, tag: usize, grade: Grade) {
    match says.iter_mut().find(|(known, _)| *known == tag) {
        Some((_, known)) => *known = (*known).min(grade),
        None => says.push((tag, grade)),
    }
}

/// Stop phrases, and the tags under which they are listed.
type Stops = HashMap<String, Vec<usize>>;

/// Where the tokens of a phrase begin.
fn starts(phrase: &str) -> Vec<usize> {
    phrase.match_indices(MARKS).map(|(at, _)| at).filter(|at| !phrase[*at..].starts_with('>')).collect()
}

/// What the parts of a phrase say.
fn inner(phrases: &SaidBy, phrase: &str) -> Says {
    let (mut says, starts, mut at) = (Says::new(), starts(phrase), 0);
    let end = |token: usize| starts.get(token).copied().unwrap_or(phrase.len());
    while at < starts.len() {
        // Not the phrase itself.
        let most = if at == 0 { starts.len() - 1 } else { starts.len() };
        let part = |end_at: usize| Some((end_at, phrases.get(&phrase[starts[at]..end(end_at)])?));
        let found = (at + 1..=most).rev().find_map(part);
        found.iter().flat_map(|(_, part)| part.iter()).for_each(|&(tag, grade)| say(&mut says, tag, grade));
        at = found.map_or(at + 1, |(next, _)| next);
    }
    says
}
