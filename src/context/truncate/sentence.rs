//! The ends of sentences, in Chinese and English.
//!
//! Whether a stop ends a sentence depends on what is around it: not in `3.14`, `v1.2.3`, `e.g.`,
//! `Dr. Smith`, `J. R. R. Tolkien`, `example.com` or the `1.` of a list. Closing quotes and brackets belong
//! to it.

use super::chars::is_wide;

/// Abbreviations that never end a sentence. Those with inner dots (`e.g.`, `U.S.`, `Ph.D.`)
/// are recognised by their form.
const TITLES: &[&str] = &[
    "adm", "al", "approx", "assn", "ave", "bros", "capt", "cf", "cmdr", "col", "corp", "dept", "dr", "ed",
    "eds", "esp", "est", "gen", "gov", "hon", "inc", "incl", "jr", "lt", "ltd", "maj", "messrs", "mme", "mr",
    "mrs", "ms", "mt", "ph", "pres", "prof", "rep", "resp", "rev", "sen", "sgt", "sr", "st", "univ", "viz",
    "vs",
];

/// Words that are abbreviations only before a number: `No. 5`, but `He said no. Then he left.`
const BEFORE_NUMBERS: &[&str] = &[
    "apr", "art", "aug", "ca", "ch", "dec", "eq", "eqs", "feb", "fig", "figs", "fri", "jan", "jul", "jun",
    "mar", "mon", "no", "nos", "nov", "nr", "oct", "p", "para", "pp", "sat", "sec", "sep", "sept", "sun",
    "tab", "thu", "tue", "v", "ver", "vol", "wed",
];

/// The longest word that is looked up; longer words are not abbreviations.
const LONGEST: usize = 12;

/// The maximum bytes of a stop with its closing quotes and brackets.
const LONGEST_END: usize = 64;

/// True if a sentence may end with this character.
pub(super) fn is_stop(c: char) -> bool {
    matches!(c, '.' | '!' | '?') || !c.is_ascii() && (is_full_stop(c) || c == '؟')
}

/// Stops that need no space after them and have no other use.
fn is_full_stop(c: char) -> bool {
    // Most characters of a Chinese text are none.
    !('\u{4e00}'..='\u{9fff}').contains(&c) && "。！？；…｡‼⁇⁈⁉।॥۔։።។။".contains(c)
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '”' | '’' | '»' | '«' | '“' | '‘' | '」' | '』' | '＂' | '＇')
}

/// Characters that may close after a stop: quotes, brackets, and Markdown emphasis.
fn is_closer(c: char) -> bool {
    is_quote(c) || ")]}*_）】》〉］〕〗｝›".contains(c)
}

/// The end of the sentence whose stop is at byte `at`, with its closing characters; `None` if the stop does not
/// end a sentence.
pub(super) fn end_at(text: &str, at: usize) -> Option<usize> {
    let stop = text[at..].chars().next()?;
    let mut end = at + stop.len_utf8();
    let (mut last, mut quoted) = (stop, false);
    while let Some(c) = text[end..].chars().next() {
        if is_stop(c) {
            last = c;
        } else if is_closer(c) {
            quoted |= is_quote(c);
        } else {
            break;
        }
        end += c.len_utf8();
        // A line of dots is not a sentence, and must not be scanned once for each dot.
        if end - at > LONGEST_END {
            return None;
        }
    }
    let Some(next) = text[end..].chars().next() else {
        return Some(end);
    };
    let ends = match last {
        // `well…maybe` goes on; `好吧……算了` does not.
        '…' => next.is_whitespace() || is_wide(next) || is_wide(before(text, at)),
        _ if is_full_stop(last) => true,
        '.' if stop == '.' => period_ends(text, at, end, next),
        _ if next.is_whitespace() => !(quoted && goes_on(text, end)),
        _ => is_wide(next),
    };
    ends.then_some(end)
}

/// True if the period at `at` ends a sentence; its closing characters end at `end`, and `next` follows.
fn period_ends(text: &str, at: usize, end: usize, next: char) -> bool {
    let previous = before(text, at);
    if is_wide(next) {
        return is_wide(previous);
    }
    if !next.is_whitespace() || previous.is_whitespace() {
        return false;
    }
    if goes_on(text, end) {
        return false;
    }
    // An ellipsis, or a bracket closed before the stop: not an abbreviation.
    if previous == '.' || is_closer(previous) {
        return true;
    }
    !is_abbreviation(text, at, end)
}

/// True if the word before the period is an abbreviation or a list number.
fn is_abbreviation(text: &str, at: usize, end: usize) -> bool {
    let Some(word) = word_before(text, at) else {
        return false;
    };
    let mut letters = word.chars();
    if let (Some(first), None) = (letters.next(), letters.next()) {
        // An initial: `J. Smith`, `Plan B. Then`. In doubt it is not an end.
        if first.is_uppercase() {
            return true;
        }
    }
    let before_number = text[end..].trim_start().starts_with(|c: char| c.is_ascii_digit());
    // `e.g`, `U.S`, `Ph.D`, but not `example.com`.
    let dotted = word.contains('.')
        && word
            .split('.')
            .all(|part| (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphabetic()));
    let known = |list: &[&str]| list.iter().any(|known| word.eq_ignore_ascii_case(known));
    dotted || known(TITLES) || before_number && known(BEFORE_NUMBERS) || numbers_a_list(text, at, word)
}

/// `1. First`, `a. First` or `iv. First` at the start of a line.
fn numbers_a_list(text: &str, at: usize, word: &str) -> bool {
    let number = word.bytes().all(|byte| byte.is_ascii_digit())
        || word.len() == 1
        || word.bytes().all(|byte| matches!(byte.to_ascii_lowercase(), b'i' | b'v' | b'x'));
    let marks = |c: char| matches!(c, ' ' | '\t' | '#' | '>' | '-' | '*' | '+' | '_');
    let line = text[..at - word.len()].trim_end_matches(marks);
    number && (line.is_empty() || line.ends_with(['\n', '\r']))
}

/// The word that ends at `at`; `None` if it is too long for an abbreviation.
fn word_before(text: &str, at: usize) -> Option<&str> {
    let mut start = at;
    for c in text[..at].chars().rev().take(LONGEST + 1) {
        if !(c.is_alphanumeric() && !is_wide(c) || c == '.') {
            return Some(&text[start..at]);
        }
        start -= c.len_utf8();
    }
    (start == 0).then_some(&text[..at])
}

/// True if the text after `end` continues the sentence: it starts in lower case.
fn goes_on(text: &str, end: usize) -> bool {
    for c in text[end..].chars().take(8) {
        if c == '\n' || c == '\r' {
            return false;
        }
        if !(c.is_whitespace() || is_quote(c) || matches!(c, '(' | '[' | '*' | '_' | '—' | '–' | '-')) {
            return c.is_lowercase();
        }
    }
    false
}

fn before(text: &str, at: usize) -> char {
    text[..at].chars().next_back().unwrap_or(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text up to each end that is found.
    fn ends(text: &str) -> Vec<&str> {
        let mut ends: Vec<&str> = text
            .char_indices()
            .filter(|(_, c)| is_stop(*c))
            .filter_map(|(at, _)| end_at(text, at).map(|end| &text[..end]))
            .collect();
        ends.dedup();
        ends
    }

    #[test]
    fn plain_ends() {
        assert_eq!(ends("One. Two! Three? Four"), ["One.", "One. Two!", "One. Two! Three?"]);
        assert_eq!(
            ends("第一句。第二句！第三句？分号；结尾"),
            ["第一句。", "第一句。第二句！", "第一句。第二句！第三句？", "第一句。第二句！第三句？分号；"]
        );
        assert_eq!(ends("你好!世界.再见"), ["你好!", "你好!世界."]);
        assert_eq!(ends("यह एक वाक्य है। दूसरा"), ["यह एक वाक्य है।"]);
        assert_eq!(ends("هل هذا سؤال؟ نعم"), ["هل هذا سؤال؟"]);
        assert_eq!(ends("End."), ["End."]);
    }

    #[test]
    fn closing_quotes_and_brackets_belong_to_the_sentence() {
        assert_eq!(ends("He said \"Go.\" She went."), ["He said \"Go.\"", "He said \"Go.\" She went."]);
        assert_eq!(ends("(All of it.) Then"), ["(All of it.)"]);
        assert_eq!(ends("她说：“走吧。”然后"), ["她说：“走吧。”"]);
        assert_eq!(ends("（全部。）然后"), ["（全部。）"]);
        assert_eq!(ends("**Bold.** Next"), ["**Bold.**"]);
        assert_eq!(ends("It is over (really). Next"), ["It is over (really)."]);
        assert_eq!(ends("Really?! Yes"), ["Really?!"]);
    }

    #[test]
    fn these_are_not_ends() {
        for text in [
            "Pi is 3.14 and v1.2.3 is out",
            "see https://example.com/a.b?c=d!e for more",
            "mail me@example.org or open file.tar.gz now",
            "Dr. Smith met Mr. Jones vs. Prof. Xi",
            "fruit, e.g. apples, i.e. Red ones",
            "the U.S. Army and the U.K. Navy",
            "J. R. R. Tolkien",
            "see No. 5, Fig. 3 and pp. 12",
            "Smith et al. Found it",
            "it cost approx. five",
            "well... maybe",
            "wait…what",
            "\"Why?\" he asked",
            "1. First item",
            "a list\n2. Second\n  iv. Fourth\n- b. Letter",
            "Ph.D. Students",
            "x .. y",
        ] {
            assert_eq!(ends(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn a_line_of_dots_is_not_walked_for_each_dot() {
        assert_eq!(end_at(&".".repeat(100), 0), None);
        assert_eq!(end_at(&".".repeat(9), 0), Some(9));
    }

    #[test]
    fn doubtful_words_are_read_by_what_follows() {
        assert_eq!(ends("He said no. Then he left"), ["He said no."]);
        assert_eq!(ends("in 1999. Next"), ["in 1999."]);
        assert_eq!(ends("It ended... Then"), ["It ended..."]);
        assert_eq!(ends("Visit example.com. Then"), ["Visit example.com."]);
        assert_eq!(ends("等等……然后"), ["等等……"]);
    }
}
