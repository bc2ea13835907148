//! Compiles a table into a matcher.

use std::collections::HashMap;

use super::matcher::{Companions, Matcher, Says};
use super::table::{Grade, Table};
use super::text;
use super::vocabulary::{Phrases, Vocabulary};

impl Matcher {
    pub fn new(table: &Table) -> Self {
        let mut matcher = Self {
            vocabulary: Vocabulary::default(),
            phrases: Phrases::default(),
            user: Phrases::default(),
            fine: Phrases::default(),
            is_fine: table.tags.iter().map(|rules| rules.fine).collect(),
            companions: Vec::new(),
            action: table.tags.iter().map(|rules| rules.action).collect(),
        };
        let long = matcher.add_words(table);
        for stop in table.tags.iter().filter(|rules| rules.fine).flat_map(|rules| &rules.stops) {
            let phrase = text::phrase(stop, &mut matcher.vocabulary);
            matcher.fine.value_of(&phrase, Says::new);
        }
        let stops = stops(table, &mut matcher.vocabulary);
        matcher.show_inner(&long, &stops);
        matcher.add_stops(stops);
        for stop in &table.stops {
            let phrase = text::phrase(stop, &mut matcher.vocabulary);
            matcher.phrases.value_of(&phrase, Says::new);
        }
        matcher.companions = companions(table, &mut matcher.vocabulary);
        matcher
    }

    /// Adds the words of all tags; returns the builtin phrases of several words.
    fn add_words(&mut self, table: &Table) -> Vec<Vec<u32>> {
        let mut long = Vec::new();
        for (tag, rules) in table.tags.iter().enumerate() {
            for (word, grade) in &rules.words {
                let of_user = *grade == Grade::Sure;
                for phrase in spellings(word, &mut self.vocabulary) {
                    let phrases = match of_user {
                        true => &mut self.user,
                        false if rules.fine => &mut self.fine,
                        false => &mut self.phrases,
                    };
                    say(phrases.value_of(&phrase, Says::new), tag, *grade);
                    if phrase.len() > 1 && !of_user && !rules.fine {
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
    fn show_inner(&mut self, long: &[Vec<u32>], stops: &Stops) {
        let mut shown = Vec::new();
        for phrase in long {
            let own = self.phrases.value_of(phrase, Says::new);
            let is_action = own.iter().all(|(tag, _)| self.action[*tag]);
            let stopped = stops.get(phrase).map_or(&[][..], Vec::as_slice);
            let mut says = inner(&self.phrases, phrase);
            says.retain(|(tag, _)| self.action[*tag] != is_action && !stopped.contains(tag));
            shown.push((phrase, says));
        }
        for (phrase, says) in shown {
            let known = self.phrases.value_of(phrase, Says::new);
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
            self.phrases.value_of(&stop, || says);
        }
    }
}

/// The token sequences of a phrase. `GitHub` may be written in one or in two words.
fn spellings(word: &str, vocabulary: &mut Vocabulary) -> impl Iterator<Item = Vec<u32>> {
    let lower = word.to_lowercase();
    // Split first: once the whole is a known word, it is not split any more.
    let split = (lower != word).then(|| text::phrase(word, &mut *vocabulary));
    let plain = text::phrase(&lower, &mut *vocabulary);
    let split = split.filter(|split| *split != plain);
    [Some(plain), split].into_iter().flatten().filter(|phrase| !phrase.is_empty())
}

/// Forms of one word ("entity", "entities") are one phrase: the best grade counts, once.
fn say(says: &mut Says, tag: usize, grade: Grade) {
    match says.iter_mut().find(|(known, _)| *known == tag) {
        Some((_, known)) => *known = (*known).min(grade),
        None => says.push((tag, grade)),
    }
}

/// Stop phrases, and the tags under which they are listed.
type Stops = HashMap<Vec<u32>, Vec<usize>>;

fn stops(table: &Table, vocabulary: &mut Vocabulary) -> Stops {
    let mut stops = Stops::new();
    for (tag, rules) in table.tags.iter().enumerate().filter(|(_, rules)| !rules.fine) {
        for stop in &rules.stops {
            stops.entry(text::phrase(stop, &mut *vocabulary)).or_default().push(tag);
        }
    }
    stops
}

/// What the parts of a phrase say.
fn inner(phrases: &Phrases<Says>, phrase: &[u32]) -> Says {
    let mut says = Says::new();
    let mut at = 0;
    while at < phrase.len() {
        // Not the phrase itself.
        let end = if at == 0 { phrase.len() - 1 } else { phrase.len() };
        let found = phrases.longest(phrase[at..end].iter().copied());
        found.iter().flat_map(|(_, part)| part.iter()).for_each(|&(tag, grade)| say(&mut says, tag, grade));
        at += found.map_or(1, |(len, _)| len);
    }
    says
}

fn companions(table: &Table, vocabulary: &mut Vocabulary) -> Vec<Companions> {
    let position = |tag: &str| table.tags.iter().position(|rules| rules.tag == tag);
    let mut all = Vec::new();
    for (action, rules) in table.tags.iter().enumerate() {
        let tags: Vec<usize> = rules.alone.iter().filter_map(|tag| position(tag)).collect();
        if tags.is_empty() {
            continue;
        }
        let mut hollow = Phrases::default();
        let own =
            tags.iter().chain([&action]).flat_map(|&tag| table.tags[tag].words.iter().map(|(word, _)| word));
        for word in own.chain(&table.hollow) {
            for phrase in spellings(word, vocabulary) {
                hollow.value_of(&phrase, || ());
            }
        }
        all.push(Companions { action, tags, hollow });
    }
    all
}
