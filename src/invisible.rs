//! Invisible characters, in which a foreign text can hide orders or steer a terminal. One list for all that show such
//! texts, to people or to models.

use std::borrow::Cow;

/// A terminal command that does not end within this many bytes is treated as text.
const LONGEST_COMMAND: usize = 4096;

/// Controls, marks that turn the direction of writing, letters of no width, tags.
///
/// The two joiners (U+200C, U+200D) are not among them: Persian and families of emoji are written with them. Line ends and
/// tabs are controls too; callers that keep them say so.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text as it is seen: without commands to terminals and without invisible characters, with its lines and tabs. A
/// carriage return that would let one line be written over another ends the line.
pub fn visible(text: &str) -> Cow<'_, str> {
    let plain = |b: u8| (b' '..=b'~').contains(&b) || matches!(b, b'\n' | b'\t');
    if text.bytes().fold(true, |all, b| all & plain(b)) || !text.chars().any(|c| !stays(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut ends = EndMarks { bytes: text.as_bytes(), none_before: 0 };
    while let Some(c) = rest.chars().next() {
        if let Some(length) = command(rest, &mut ends) {
            rest = &rest[length..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '\r' if rest.starts_with('\n') => out.push('\r'),
            '\r' => out.push('\n'),
            c if stays(c) => out.push(c),
            _ => {}
        }
    }
    Cow::Owned(out)
}

/// The visible text as one line, with single spaces between words.
pub fn one_line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The visible text with a space for each line end and tab, and otherwise as it is.
pub fn line(text: &str) -> Cow<'_, str> {
    let breaks = |c: char| matches!(c, '\n' | '\r' | '\t' | '\u{85}' | '\u{2028}' | '\u{2029}');
    match visible(text) {
        clean if clean.contains(breaks) => Cow::Owned(clean.replace(breaks, " ")),
        clean => clean,
    }
}

/// The text of an error as every error is shown: one visible line of at most `most` characters.
pub fn error_line(text: &str, most: usize) -> String {
    let mut line = one_line(text);
    if let Some((end, _)) = line.char_indices().nth(most) {
        line.truncate(end);
        line.push('…');
    }
    line
}

fn stays(c: char) -> bool {
    matches!(c, '\n' | '\t') || !is_invisible(c)
}

/// The length of the command to a terminal (ECMA-48) that the text begins with.
fn command(text: &str, ends: &mut EndMarks<'_>) -> Option<usize> {
    let (introduced, kind) = match text.as_bytes() {
        [0x1b, kind, ..] => (2, *kind),
        // The same introductions as one character, which has two bytes.
        [0xc2, 0x9b, ..] => (2, b'['),
        [0xc2, 0x90 | 0x98 | 0x9d..=0x9f, ..] => (2, b']'),
        _ => return None,
    };
    let body = &text.as_bytes()[introduced..];
    let length = match kind {
        b'[' => {
            let arguments =
                body.iter().take(LONGEST_COMMAND).take_while(|b| (0x20..0x40).contains(*b)).count();
            let ends = body.get(arguments).is_some_and(|b| (0x40..0x7f).contains(b));
            arguments + usize::from(ends)
        }
        b']' | b'P' | b'X' | b'^' | b'_' => ends.after(body)?,
        // ESC and a space announce something in these five forms only; otherwise the space is text.
        b' ' if !matches!(body.first(), Some(b'F' | b'G' | b'L'..=b'N')) => return None,
        0x20..0x30 => {
            let between = body.iter().take(LONGEST_COMMAND).take_while(|b| (0x20..0x30).contains(*b)).count();
            between + usize::from(body.get(between).is_some_and(|b| (0x30..0x7f).contains(b)))
        }
        0x30..0x7f => 0,
        _ => return None,
    };
    Some(introduced + length)
}

/// The marks that end the text of a command. Each place is looked at once, however many commands have no end.
struct EndMarks<'a> {
    bytes: &'a [u8],
    none_before: usize,
}

impl EndMarks<'_> {
    /// How far the next mark reaches into `body`, which is an end of the text; None when there is none near.
    fn after(&mut self, body: &[u8]) -> Option<usize> {
        let begin = self.bytes.len() - body.len();
        let far = self.bytes.len().min(begin + LONGEST_COMMAND);
        for at in self.none_before.max(begin)..far {
            match &self.bytes[at..] {
                [0x07, ..] => return Some(at + 1 - begin),
                [0x1b, b'\\', ..] | [0xc2, 0x9c, ..] => return Some(at + 2 - begin),
                _ => {}
            }
        }
        self.none_before = self.none_before.max(far);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_steers_or_hides_is_invisible_and_what_is_written_is_not() {
        for hidden in ['\u{1b}', '\n', '\u{85}', '\u{200b}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{e0041}']
        {
            assert!(is_invisible(hidden), "{hidden:?}");
        }
        for seen in ['a', ' ', '中', 'é', '🙂', '\u{200c}', '\u{200d}', '\u{fe0f}', '\u{3000}'] {
            assert!(!is_invisible(seen), "{seen:?}");
        }
    }

    #[test]
    fn a_text_is_shown_as_it_is_seen() {
        for (given, seen) in [
            ("a\tb\r\nc\n", "a\tb\r\nc\n"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{9b}31mred", "red"),
            ("\u{1b}]0;title\u{7}x\u{1b}]8;;http://h\u{1b}\\link\u{1b}]8;;\u{1b}\\", "xlink"),
            ("\u{1b}(Bx\u{1b}7y\u{1b}Pq\u{1b}\\z", "xyz"),
            ("10 %\r20 %\rdone", "10 %\n20 %\ndone"),
            ("b\u{200b}\u{202e}\u{e0041}", "b"),
            ("نمی\u{200c}خواهم 👨\u{200d}👩", "نمی\u{200c}خواهم 👨\u{200d}👩"),
            // A command that does not end takes no text with it.
            ("\u{1b}]0;all that follows", "]0;all that follows"),
            ("\u{1b}[31", ""),
            ("\u{1b}", ""),
            ("\u{1b}é", "é"),
            ("no\u{1b} disk", "no disk"),
            ("\u{1b} Fx", "x"),
        ] {
            assert_eq!(visible(given), seen, "{given:?}");
        }
    }

    #[test]
    fn floods_of_commands_without_an_end_take_linear_time() {
        let flood = "\u{1b}]".repeat(500_000);
        assert_eq!(visible(&flood).len(), 500_000);
    }

    proptest! {
        #[test]
        fn nothing_invisible_is_left_and_twice_is_once(text in "([a-c]|\\PC|[\u{1b}\u{9b}\\[\\]0;m\u{7}\\\\\r\n\t\u{200b}]){0,60}") {
            let seen = visible(&text).into_owned();
            prop_assert!(seen.chars().all(|c| c == '\r' || stays(c)), "{seen:?}");
            prop_assert!(!seen.replace("\r\n", "\n").contains('\r'));
            prop_assert_eq!(visible(&seen), seen.as_str());
        }
    }
}
