//! Turns free text into tokens, the form in which the table is matched.
//!
//! Latin text gives a token for each word: split (snake_case, kebab-case, camelCase), lower-cased
//! and stemmed lightly, so that "date" is not found in "update". Chinese, which has no word
//! boundaries, gives a token for each character, so that phrases match anywhere. The table's
//! phrases and the tools' texts go through the same door, hence they agree.

use super::stem::push_stem;
use super::vocabulary::{BREAK, Ids};
use super::zone::{Zone, ZoneTracker};

/// How much of a name and of a description is looked at. What a tool does is said in the first
/// sentences; the rest is about parameters and examples, which mislead.
const NAME_BYTES: usize = 256;
const DESCRIPTION_BYTES: usize = 1_200;

/// A word or a Chinese character, by its number in the vocabulary, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub id: u32,
    pub zone: Zone,
}

/// A phrase of the table, as the numbers of its tokens.
pub(super) fn phrase(text: &str, ids: impl Ids) -> Vec<u32> {
    let tokens = Tokenizer::new(ids, Zone::Name).run(text);
    let mut ids: Vec<u32> = tokens.iter().map(|token| token.id).skip_while(|&id| id == BREAK).collect();
    while ids.last() == Some(&BREAK) {
        ids.pop();
    }
    ids
}

/// A tool's name: one zone.
pub(super) fn name(text: &str, ids: impl Ids) -> Vec<Token> {
    Tokenizer::new(ids, Zone::Name).run(prefix(text, NAME_BYTES))
}

/// A tool's description, divided into zones.
pub(super) fn description(text: &str, ids: impl Ids) -> Vec<Token> {
    let mut tokenizer = Tokenizer::new(ids, Zone::Lead);
    tokenizer.tracker = Some(ZoneTracker::default());
    tokenizer.run(prefix(text, DESCRIPTION_BYTES))
}

fn prefix(text: &str, bytes: usize) -> &str {
    let text = text.trim_start();
    &text[..text.floor_char_boundary(bytes)]
}

/// Ideographs, kana and hangul: scripts that are matched by phrase, without word boundaries. They have
/// no upper case.
fn is_wide(c: char) -> bool {
    let script = matches!(
        c,
        '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}'
    );
    script && c.is_alphanumeric()
}

/// Full-width digits and Latin letters, as input methods for Chinese produce them.
fn is_fullwidth(c: char) -> bool {
    matches!(c, '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}')
}

fn fold_width(c: char) -> char {
    if is_fullwidth(c) { char::from_u32(c as u32 - 0xfee0).unwrap_or(c) } else { c }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || (!c.is_ascii() && c.is_alphanumeric() && !is_wide(c))
}

/// The bytes of the word at the beginning; `C++` and `C#` are words too.
fn word_len(text: &str) -> usize {
    let len = text.find(|c| !is_word(c)).unwrap_or(text.len());
    let after = &text[len..];
    match len {
        1 if after.starts_with("++") => 3,
        1 if after.starts_with('#') => 2,
        _ => len,
    }
}

/// Whether a camelCase part begins at `i`: aB, or the last capital of an acronym (`PDFReader`), but
/// not the plural s of one (`PDFs`).
fn is_hump(bytes: &[u8], i: usize) -> bool {
    let (before, here) = (bytes[i - 1], bytes[i]);
    if !here.is_ascii_uppercase() {
        return false;
    }
    if !before.is_ascii_uppercase() {
        return true;
    }
    match bytes.get(i + 1) {
        Some(b's') => bytes.get(i + 2).is_some_and(u8::is_ascii_lowercase),
        Some(next) => next.is_ascii_lowercase(),
        None => false,
    }
}

struct Tokenizer<'t, I> {
    ids: I,
    tokens: Vec<Token>,
    zone: Zone,
    tracker: Option<ZoneTracker<'t>>,
    stem: String,
}

impl<'t, I: Ids> Tokenizer<'t, I> {
    fn new(ids: I, zone: Zone) -> Self {
        Self { ids, tokens: Vec::new(), zone, tracker: None, stem: String::new() }
    }

    fn run(mut self, text: &'t str) -> Vec<Token> {
        if !text.is_ascii() && text.chars().any(is_fullwidth) {
            let folded: String = text.chars().map(fold_width).collect();
            let other = Tokenizer {
                ids: self.ids,
                tokens: self.tokens,
                zone: self.zone,
                tracker: self.tracker.map(|_| ZoneTracker::default()),
                stem: self.stem,
            };
            return other.run(&folded);
        }
        self.tokens.reserve(text.len() / 5 + 2);
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let len = if is_word(c) {
                let len = word_len(rest);
                self.word(&rest[..len]);
                len
            } else if is_wide(c) {
                let len = rest.find(|c| !is_wide(c)).unwrap_or(rest.len());
                self.wide(&rest[..len]);
                len
            } else {
                self.punctuation(c, rest)
            };
            rest = &rest[len..];
            if self.tracker.as_ref().is_some_and(ZoneTracker::is_over) {
                break;
            }
        }
        self.tokens
    }

    fn push(&mut self, id: u32) {
        self.tokens.push(Token { id, zone: self.zone });
    }

    fn word(&mut self, word: &'t str) {
        if let Some(tracker) = &mut self.tracker {
            tracker.word(word);
            self.zone = tracker.zone();
        }
        let bytes = word.as_bytes();
        if !word.is_ascii() {
            self.stem.clear();
            self.stem.extend(word.chars().flat_map(char::to_lowercase));
            let id = self.ids.take(&self.stem);
            self.push(id);
        } else if (1..bytes.len()).any(|i| is_hump(bytes, i)) {
            self.camel(word);
        } else {
            self.plain(word);
        }
    }

    fn plain(&mut self, word: &str) {
        self.stem.clear();
        push_stem(&mut self.stem, word);
        let id = self.ids.take(&self.stem);
        self.push(id);
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
                self.ids.knows(&self.stem)
            });
            let end = joined.copied().unwrap_or(ends[0]);
            self.plain(&word[start..end]);
            start = end;
        }
    }

    fn wide(&mut self, run: &'t str) {
        let (before, cut) = (self.zone, self.tracker.as_mut().map_or(0, |tracker| tracker.wide(run)));
        let after = self.tracker.as_ref().map_or(self.zone, ZoneTracker::zone);
        let mut buffer = [0; 4];
        for (at, c) in run.char_indices() {
            self.zone = if at < cut { before } else { after };
            let id = self.ids.take(c.encode_utf8(&mut buffer));
            self.push(id);
        }
        self.zone = after;
    }

    /// Takes what begins with a character that is no part of a word; gives the bytes it takes.
    fn punctuation(&mut self, c: char, rest: &str) -> usize {
        let len = c.len_utf8();
        let after = rest[len..].chars().next();
        if let Some(tracker) = &mut self.tracker {
            tracker.punctuation(c, after);
            self.zone = tracker.zone();
        }
        // Addresses name products that the tool has nothing to do with.
        if c == ':' && rest.starts_with("://") {
            self.push(BREAK);
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
            self.push(BREAK);
        }
        let possessive = matches!(c, '\'' | '’') && after == Some('s');
        if possessive && !rest[len + 1..].starts_with(is_word) { len + 1 } else { len }
    }
}
