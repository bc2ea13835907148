//! Compiles a table into a matcher.

use super::matcher::{Companions, Matcher, Says};
use super::table::{Grade, Table};
use super::text::{self, MARKS};
use std::collections::{HashMap, HashSet};
use toolhub_text::PhraseSet;

type SaidBy = HashMap<String, Says>;

/// What is known of the table so far.
#[derive(Default)]
struct Compilation {
    words: HashSet<String>,
    phrases: SaidBy,
    user: SaidBy,
    fine: SaidBy,
    /// By tag, as in the table.
    action: Vec<bool>,
}

impl Matcher {
    pub fn new(table: &Table) -> Self {
        let action = table.tags.iter().map(|rules| rules.action).collect();
        let mut made = Compilation { action, ..Compilation::default() };
        let long = made.add_words(table);
        for stop in table.tags.iter().filter(|rules| rules.fine).flat_map(|rules| &rules.stops) {
            let phrase = made.phrase(stop);
            made.fine.entry(phrase).or_default();
        }
        let stops = made.stops(table);
        made.show_inner(&long, &stops);
        made.add_stops(stops);
        for stop in &table.stops {
            let phrase = made.phrase(stop);
            made.phrases.entry(phrase).or_default();
        }
        let companions = made.companions(table);
        let Compilation { words, phrases, user, fine, action } = made;
        Matcher {
            words,
            sets: [phrases, user, fine].map(PhraseSet::new),
            is_fine: table.tags.iter().map(|rules| rules.fine).collect(),
            companions,
            action,
        }
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
    fn show_inner(&mut self, long: &[String], stops: &Stops) {
        let mut shown = Vec::new();
        for phrase in long {
            let own = self.phrases.entry(phrase.clone()).or_default();
            let is_action = own.iter().all(|(tag, _)| self.action[*tag]);
            let stopped = stops.get(phrase).map_or(&[][..], Vec::as_slice);
            let mut says = inner(&self.phrases, phrase);
            says.retain(|(tag, _)| self.action[*tag] != is_action && !stopped.contains(tag));
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
