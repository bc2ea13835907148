//! Finds the table's phrases in a tool's texts and weighs them.
//!
//! From left to right the longest phrase counts, so that "memory usage" hides "memory" and 热搜 hides
//! 搜. Each phrase found adds to the score of its tags, more in the name than in the description and
//! more at its beginning than later. A tag is given when its score reaches a threshold: by one
//! clear word, or by several hints. When no subject is clear, the best supported one is taken.

use super::sections::Section;
use super::table::{Grade, Table};
use super::text::{self, BREAK, TokenText};
use std::collections::HashSet;
use std::sync::Arc;
use toolhub_text::PhraseSet;

/// A tag with a clear word is given from this score on; so is one with hints only when no subject
/// is clear.
const THRESHOLD: u16 = 6;
/// In addition to a clear subject, hints alone give another tag from this score on: name and description
/// agree about it.
const INSISTING: u16 = 11;
/// The best subject is given from this score on when none reaches the threshold.
const GUESS: u16 = 4;
/// Later sentences together never add more than this.
const TAIL_MOST: u16 = 3;
/// A subject with less than 1/RELATIVE of the best score is ignored.
const RELATIVE: u16 = 4;
/// The number of phrases read in one tool.
const EVIDENCE_MOST: usize = 96;

/// What a phrase adds to its tags, by its grade, in the name, the first clause, the rest of the sentence and later ones.
fn weight(grade: Grade, section: Section) -> u16 {
    let by_section = match grade {
        Grade::Sure => [THRESHOLD; 4],
        Grade::Strong => [8, 6, 4, 2],
        Grade::Normal => [6, 4, 2, 1],
        Grade::Weak => [3, 2, 0, 0],
    };
    by_section[section as usize]
}

fn is_clear(grade: Grade, section: Section) -> bool {
    grade == Grade::Sure || (grade == Grade::Strong && matches!(section, Section::Name | Section::Lead))
}

/// What a phrase says: tags (by position in the table) and grades. Nothing, for a stop phrase.
pub(super) type Says = Vec<(usize, Grade)>;

#[derive(Clone, Copy, Default)]
struct Score {
    /// Name and first sentence.
    head: u16,
    tail: u16,
    /// Whether a clear word is where the subject is named.
    clear: bool,
}

impl Score {
    fn total(self) -> u16 {
        self.head + self.tail.min(TAIL_MOST)
    }
}

pub(super) struct Matcher {
    /// All words of the table.
    pub(super) words: HashSet<String>,
    /// The builtin phrases. The user's words are apart, so that no longer builtin phrase hides them, and so are the words of the
    /// finer tags, which are given in addition to the others.
    pub(super) sets: [PhraseSet<Says>; 3],
    pub(super) companions: Vec<Companions>,
    pub(super) table: Arc<Table>,
}

/// Tags that are added to an action whose object is not named.
pub(super) struct Companions {
    pub action: usize,
    pub tags: Vec<usize>,
    /// Words that name no object.
    pub hollow: PhraseSet<()>,
}

impl Matcher {
    /// Which tags the texts carry, by position in the table.
    pub fn tags(&self, name: &str, description: &str) -> Vec<bool> {
        let name = text::tokens(name, &self.words, Section::Name);
        let description = text::tokens(description, &self.words, Section::Lead);
        let mut scores = vec![Score::default(); self.table.tags.len()];
        for phrases in &self.sets {
            let mut seen = Vec::with_capacity(16);
            read(phrases, &name, &mut scores, &mut seen);
            read(phrases, &description, &mut scores, &mut seen);
        }
        let mut given = self.decide(&scores);
        if !given.iter().zip(&self.table.tags).any(|(given, rules)| *given && !rules.fine)
            && let Some(tag) = self.whole_name(&name.text)
        {
            given[tag] = true;
        }
        for companions in &self.companions {
            companions.complete(&mut given, &self.table, &name.text, description.lead());
        }
        given
    }

    /// The tag of a name that is nothing but one phrase of the table ("now", "query"). However weak the phrase, there is
    /// nothing else to go by; of several tags the first in the table is given.
    fn whole_name(&self, name: &str) -> Option<usize> {
        let (place, says) = self.sets[0].find(name).next()?;
        let is_whole = place.start == 0 && is_blank(&name[place.end..]);
        says.iter().map(|(tag, _)| *tag).min().filter(|_| is_whole)
    }

    fn decide(&self, scores: &[Score]) -> Vec<bool> {
        let is_action = |tag: usize| self.table.tags[tag].action;
        let subjects = || (0..scores.len()).filter(|&tag| !is_action(tag));
        let best = subjects().map(|tag| scores[tag].total()).max().unwrap_or(0);
        let clear = |tag: usize| {
            let aside = !is_action(tag) && scores[tag].total() < best / RELATIVE;
            scores[tag].clear && scores[tag].total() >= THRESHOLD && !aside
        };
        let least = if subjects().any(clear) { INSISTING } else { THRESHOLD };
        let hinted = |tag: usize| {
            // Hints point to several subjects; only those near the best supported one count.
            let also_ran = !is_action(tag) && scores[tag].total() < best * 3 / 4;
            scores[tag].total() >= least && !also_ran
        };
        let mut given: Vec<bool> = (0..scores.len()).map(|tag| clear(tag) || hinted(tag)).collect();
        if !subjects().any(|tag| given[tag]) {
            // `rev` because `max_by_key` takes the last of equals: the table's order decides.
            let guess = subjects().rev().max_by_key(|&tag| scores[tag].total());
            if let Some(tag) = guess.filter(|&tag| scores[tag].total() >= GUESS) {
                given[tag] = true;
            }
        }
        given
    }
}

/// Whether tokens are punctuation only.
fn is_blank(tokens: &str) -> bool {
    tokens.chars().all(|token| token == BREAK)
}

/// Adds up what the phrases in the tokens say, each phrase once in each section.
fn read<'a>(
    phrases: &'a PhraseSet<Says>,
    tokens: &'a TokenText,
    scores: &mut [Score],
    seen: &mut Vec<(&'a Says, Section)>,
) {
    for (place, says) in phrases.find(&tokens.text) {
        if seen.len() == EVIDENCE_MOST {
            return;
        }
        let section = tokens.section(place.start);
        if says.is_empty() || seen.iter().any(|&(known, place)| place == section && std::ptr::eq(known, says))
        {
            continue;
        }
        seen.push((says, section));
        for &(tag, grade) in says {
            let score = &mut scores[tag];
            let points = weight(grade, section);
            if section == Section::Tail && grade != Grade::Sure {
                score.tail += points;
            } else {
                score.head += points;
            }
            score.clear |= is_clear(grade, section);
        }
    }
}

impl Companions {
    fn complete(&self, given: &mut [bool], table: &Table, name: &str, lead: &str) {
        // The first companion is where one looks by default; any other subject is an object that
        // was named.
        let other =
            |tag: usize| tag != self.action && self.tags.first() != Some(&tag) && !table.tags[tag].fine;
        if !given[self.action] || (0..given.len()).any(|tag| given[tag] && other(tag)) {
            return;
        }
        if self.covers(name) && self.covers(lead) {
            self.tags.iter().for_each(|&tag| given[tag] = true);
        }
    }

    /// Whether the tokens say nothing else.
    fn covers(&self, tokens: &str) -> bool {
        let mut end = 0;
        let are_side_by_side = self.hollow.find(tokens).all(|(place, ())| {
            let gap = &tokens[end..place.start];
            end = place.end;
            is_blank(gap)
        });
        are_side_by_side && is_blank(&tokens[end..])
    }
}
