//! Turns free text into tokens, the form in which the table is matched.
//!
//! Latin text gives a token for each word: split (snake_case, kebab-case, camelCase), lower-cased
//! and stemmed lightly, so that "date" is not found in "update". Chinese, which has no word
//! boundaries, gives a token for each character, so that phrases match anywhere. The table's
//! phrases and the tools' texts are read by the same code, so they agree.

use super::sections::{Section, SectionTracker};
use std::collections::HashSet;
use toolhub_text::{RunKind, first_run, fold_width, is_hump, is_wide, push_stem};

/// How much of a name and of a description is read. The purpose of a tool is in the first
/// sentences; the rest is about parameters and examples, which mislead.
const NAME_BYTES: usize = 256;
const DESCRIPTION_BYTES: usize = 1_200;

/// Punctuation: no phrase crosses it.
pub(super) const BREAK: char = '|';
/// Around each word, and punctuation.
pub(super) const MARKS: [char; 3] = ['<', '>', BREAK];

/// The tokens of a text: `<search><web>`, with its sections.
pub(super) struct TokenText {
    pub text: String,
    /// Where each section begins, the first one with the text.
    sections: Vec<(usize, Section)>,
}

impl TokenText {
    /// The section of a token.
    pub fn section(&self, at: usize) -> Section {
        let after = self.sections.partition_point(|(from, _)| *from <= at);
        self.sections[after.saturating_sub(1)].1
    }

    /// The tokens of the first clause.
    pub fn lead(&self) -> &str {
        let end = self.sections.iter().find(|(_, section)| *section != Section::Lead).map(|(from, _)| *from);
        &self.text[..end.unwrap_or(self.text.len())]
    }
}

/// A phrase of the table.
pub(super) fn phrase(text: &str, words: &HashSet<String>) -> String {
    let tokens = Tokenizer::new(words, Section::Name).run(text);
    tokens.text.trim_matches(BREAK).to_owned()
}

/// A tool's name, which is one section, or its description, which begins with this one.
pub(super) fn tokens(text: &str, words: &HashSet<String>, section: Section) -> TokenText {
    let limit = if section == Section::Name { NAME_BYTES } else { DESCRIPTION_BYTES };
    let text = text.trim_start();
    Tokenizer::new(words, section).run(&text[..text.floor_char_boundary(limit)])
}

/// `C++` and `C#` are words too.
fn word_len(text: &str, len: usize) -> usize {
    let after = &text[len..];
    match len {
        1 if after.starts_with("++") => 3,
        1 if after.starts_with('#') => 2,
        _ => len,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() && !is_wide(c)
}

struct Tokenizer<'t> {
    /// Those of the table.
    words: &'t HashSet<String>,
    tokens: TokenText,
    tracker: SectionTracker<'t>,
    stem: String,
}

impl<'t> Tokenizer<'t> {
    fn new(words: &'t HashSet<String>, section: Section) -> Self {
        let tokens = TokenText { text: String::new(), sections: vec![(0, section)] };
        Self { words, tokens, tracker: SectionTracker::new(section), stem: String::new() }
    }

    fn run(mut self, text: &'t str) -> TokenText {
        if !text.is_ascii() && text.chars().any(|c| fold_width(c) != c) {
            let folded: String = text.chars().map(fold_width).collect();
            return Tokenizer::new(self.words, self.tracker.section()).run(&folded);
        }
        self.tokens.text.reserve(text.len() * 2);
        let mut rest = text;
        while let Some((kind, len)) = first_run(rest) {
            let len = match kind {
                RunKind::Narrow => {
                    let len = word_len(rest, len);
                    self.word(&rest[..len]);
                    len
                }
                RunKind::Wide => {
                    self.wide(&rest[..len]);
                    len
                }
                RunKind::Mark => self.punctuation(rest),
            };
            rest = &rest[len..];
            if self.tracker.is_over() {
                break;
            }
        }
        self.tokens
    }

    fn push(&mut self, section: Section, write: impl FnOnce(&mut String)) {
        if self.tokens.section(usize::MAX) != section {
            self.tokens.sections.push((self.tokens.text.len(), section));
        }
        write(&mut self.tokens.text);
    }

    fn push_word(&mut self, section: Section, write: impl FnOnce(&mut String)) {
        self.push(section, |text| {
            text.push('<');
            write(text);
            text.push('>');
        });
    }

    fn word(&mut self, word: &'t str) {
        self.tracker.word(word);
        let section = self.tracker.section();
        let bytes = word.as_bytes();
        if !word.is_ascii() {
            self.push_word(section, |text| text.extend(word.chars().flat_map(char::to_lowercase)));
        } else if (1..bytes.len()).any(|i| is_hump(bytes, i)) {
            self.camel(word);
        } else {
            self.push_word(section, |text| push_stem(text, word));
        }
    }

    /// Splits `getGitHubIssues` into get, github, issues: humps that together are a word of the
    /// table stay together.
    fn camel(&mut self, word: &str) {
        let bytes = word.as_bytes();
        let mut start = 0;
        while start < word.len() {
            let mut ends = [word.len(); 3];
            let bounds = (start + 1..=word.len()).filter(|&i| i == word.len() || is_hump(bytes, i));
            let found = bounds.zip(&mut ends).map(|(bound, end)| *end = bound).count();
            let joined = ends[1..found].iter().rev().find(|&&end| {
                self.stem.clear();
                push_stem(&mut self.stem, &word[start..end]);
                self.words.contains(&self.stem)
            });
            let end = joined.copied().unwrap_or(ends[0]);
            self.push_word(self.tracker.section(), |text| push_stem(text, &word[start..end]));
            start = end;
        }
    }

    fn wide(&mut self, run: &'t str) {
        let (before, cut) = (self.tracker.section(), self.tracker.wide(run));
        for (at, c) in run.char_indices() {
            let section = if at < cut { before } else { self.tracker.section() };
            self.push_word(section, |text| text.push(c));
        }
    }

    /// Reads what begins with a character that is not part of a word; returns its length in bytes.
    fn punctuation(&mut self, rest: &str) -> usize {
        let mut chars = rest.chars();
        let Some(c) = chars.next() else { return 0 };
        let (len, after) = (c.len_utf8(), chars.next());
        self.tracker.punctuation(c, after);
        let section = self.tracker.section();
        // Addresses name products that the tool has nothing to do with.
        if c == ':' && rest.starts_with("://") {
            self.push(section, |text| text.push(BREAK));
            return rest.find(char::is_whitespace).unwrap_or(rest.len());
        }
        // `draw.io`, `e-mail`, `read/write`, `it's`: the parts of one expression.
        let joins = match c {
            ' ' | '\t' | '-' | '_' | '/' | '&' | '\'' | '’' | '`' | '"' => true,
            '.' => after.is_some_and(is_word),
            // Wrapped lines: a sentence goes on when the next line begins in lower case.
            '\n' | '\r' => rest.trim_start().starts_with(|c: char| c.is_ascii_lowercase()),
            _ => false,
        };
        if !joins {
            self.push(section, |text| text.push(BREAK));
        }
        let follows_word = self.tokens.text.ends_with('>');
        let possessive = follows_word && matches!(c, '\'' | '’') && after == Some('s');
        if possessive && !rest[len + 1..].starts_with(is_word) { len + 1 } else { len }
    }
}
