//! The tokenizer: splits snake_case, kebab-case, camelCase and digits; Chinese becomes characters and pairs.

use toolhub_text::{RunKind, first_run, fold_width, humps, is_wide};

/// The kind of a word; it decides the weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    Word,
    Number,
    /// One character of a script without spaces.
    Character,
    /// Two such characters side by side: most Chinese words, without a dictionary.
    Pair,
    /// A camelCase word in addition to its parts, so that `github` finds `GitHub`.
    Whole,
}

impl WordKind {
    pub fn has_forms(self) -> bool {
        matches!(self, WordKind::Word | WordKind::Whole)
    }
}

/// One lower-cased word and its position.
#[derive(Clone, Copy, Debug)]
pub struct Word<'t> {
    pub text: &'t str,
    pub kind: WordKind,
    /// Adjacent words have consecutive positions.
    pub position: u32,
    pub sentence: u32,
    /// Inside quotation marks: usually an argument, not a description of the tool.
    pub quoted: bool,
}

/// Longer runs are keys or encoded data, not words.
const LONGEST: usize = 64;
/// A quotation mark that is not closed within this many bytes is an apostrophe.
const LONGEST_QUOTE: usize = 400;
/// Chinese function characters; dropped as single characters, kept in pairs.
const GRAMMAR: &str = "的了和是在有我你他她它们这那个请帮想要能可以吗呢吧啊把被给对与及或并也都就还又很最一些什么怎样如何为从到用于中上下里将会需该其所之得着过";

/// The beginning of the text, at most `bytes` long, cut at a character boundary.
pub fn start_of(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Calls `take` with each run of characters of a script without spaces, and its sentence.
pub fn each_wide_run<'t>(text: &'t str, mut take: impl FnMut(&'t str, u32)) {
    let (mut rest, mut sentence) = (text, 0);
    while let Some((kind, len)) = first_run(rest) {
        let (run, after) = rest.split_at(len);
        rest = after;
        match kind {
            RunKind::Wide => take(run, sentence),
            RunKind::Mark if ends_sentence(run.chars().next().unwrap_or(' '), rest) => sentence += 1,
            RunKind::Mark | RunKind::Narrow => {}
        }
    }
}

fn ends_sentence(mark: char, after: &str) -> bool {
    match mark {
        '.' | '!' | '?' | ';' => !after.starts_with(char::is_alphanumeric),
        '。' | '！' | '？' | '；' | '\n' => true,
        _ => false,
    }
}

/// Calls `take` with each word, in order.
pub fn each_word(text: &str, take: impl FnMut(Word<'_>)) {
    let mut reader = Reader { take, buffer: String::new(), position: 0, sentence: 0, closing: None };
    let mut rest = text;
    let mut before = ' ';
    while let Some((kind, len)) = first_run(rest) {
        let run = &rest[..len];
        rest = &rest[len..];
        let last = run.chars().next_back().unwrap_or(' ');
        match kind {
            RunKind::Wide => reader.wide(run),
            RunKind::Narrow => reader.narrow(run),
            RunKind::Mark => reader.mark(last, before, rest),
        }
        before = last;
    }
}

struct Reader<F> {
    take: F,
    buffer: String,
    position: u32,
    sentence: u32,
    /// The mark that closes the current quotation.
    closing: Option<char>,
}

impl<F: FnMut(Word<'_>)> Reader<F> {
    fn give(&mut self, text: &str, kind: WordKind) {
        let (position, sentence, quoted) = (self.position, self.sentence, self.closing.is_some());
        (self.take)(Word { text, kind, position, sentence, quoted });
    }

    fn wide(&mut self, run: &str) {
        for (at, c) in run.char_indices() {
            let one = c.len_utf8();
            if !GRAMMAR.contains(c) {
                self.give(&run[at..at + one], WordKind::Character);
            }
            if let Some(next) = run[at + one..].chars().next() {
                self.give(&run[at..at + one + next.len_utf8()], WordKind::Pair);
            }
            self.position += 1;
        }
    }

    fn narrow(&mut self, run: &str) {
        let mut parts = 0;
        let mut begin = 0;
        for end in humps(run).chain([run.len()]) {
            let digits = run.as_bytes()[begin].is_ascii_digit();
            self.lowered(&run[begin..end], if digits { WordKind::Number } else { WordKind::Word });
            self.position += 1;
            begin = end;
            parts += 1;
        }
        // With more parts the whole is a key or a long name that users do not type in one piece.
        if (2..=4).contains(&parts) {
            self.lowered(run, WordKind::Whole);
        }
    }

    fn lowered(&mut self, text: &str, kind: WordKind) {
        if text.len() > LONGEST {
            return;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        if text.is_ascii() {
            buffer.push_str(text);
            buffer.make_ascii_lowercase();
        } else {
            buffer.extend(text.chars().flat_map(char::to_lowercase).map(fold_width));
        }
        self.give(&buffer, kind);
        self.buffer = buffer;
    }

    fn mark(&mut self, c: char, before: char, after: &str) {
        self.sentence += u32::from(ends_sentence(c, after));
        match self.closing {
            Some(closing) => {
                let ends = !after.starts_with(|c: char| c.is_alphanumeric() && !is_wide(c));
                if c == closing && ends {
                    self.closing = None;
                }
            }
            None => {
                let closing = match c {
                    // Inside a word it is an apostrophe.
                    '"' | '\'' if !before.is_alphanumeric() || is_wide(before) => c,
                    '“' => '”',
                    '‘' => '’',
                    '「' => '」',
                    '《' => '》',
                    // A placeholder: `<file name>`.
                    '<' if after.starts_with(|c: char| c.is_alphanumeric()) => '>',
                    _ => return,
                };
                self.closing = start_of(after, LONGEST_QUOTE).contains(closing).then_some(closing);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each_word(text, |word| words.push(word.text.to_owned()));
        words
    }

    #[test]
    fn names_of_any_style_come_apart() {
        assert_eq!(words("read_file"), ["read", "file"]);
        assert_eq!(words("read-file"), ["read", "file"]);
        assert_eq!(words("readPDFFile"), ["read", "pdf", "file", "readpdffile"]);
        assert_eq!(words("exportPDFs"), ["export", "pdfs", "exportpdfs"]);
        assert_eq!(words("GitHub"), ["git", "hub", "github"]);
        assert_eq!(words("s3bucket"), ["s", "3", "bucket", "s3bucket"]);
        assert_eq!(words("ＡＢＣ１"), ["abc1"]);
    }

    #[test]
    fn chinese_gives_characters_and_pairs() {
        assert_eq!(words("查天气"), ["查", "查天", "天", "天气", "气"]);
        assert_eq!(words("我的mcp工具"), ["我的", "mcp", "工", "工具", "具"]);
    }

    #[test]
    fn quotations_and_sentences_are_known() {
        let mut seen = Vec::new();
        each_word("Don't send 'good day' yet. Please", |word| {
            seen.push((word.text.to_owned(), word.quoted, word.sentence));
        });
        let quoted: Vec<_> = seen.iter().filter(|word| word.1).map(|word| word.0.as_str()).collect();
        assert_eq!(quoted, ["good", "day"]);
        assert_eq!(seen.last().map(|word| word.2), Some(1));
    }

    #[test]
    fn overlong_runs_are_ignored() {
        assert!(words(&"a".repeat(100)).is_empty());
        assert!(words("🦀🦀 … !").is_empty());
    }
}
