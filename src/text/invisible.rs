//! Invisible characters, in which a foreign text can hide orders or steer a terminal. One list for all that show such
//! texts, to people or to models.

use std::borrow::Cow;

/// A terminal command that does not end within this many bytes is treated as text.
const LONGEST_COMMAND: usize = 4096;

/// Controls, line separators, marks that turn the direction of writing, letters without a shape, selectors of glyphs, tags.
///
/// The two joiners (U+200C, U+200D) and the two selectors of emoji (U+FE0E, U+FE0F) are not among them: Persian and families
/// of emoji are written with them. [`visible`] keeps them only where they do that. Line ends and tabs are controls too;
/// callers that keep them say so.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// The text as it is seen: without commands to terminals and without invisible characters, with its lines and tabs. A
/// carriage return that would let one line be written over another ends the line.
///
/// JSON allows line separators within a string, but no line end: in a text that may be JSON they become spaces.
pub fn visible(text: &str) -> Cow<'_, str> {
    let plain = |b: u8| (b' '..=b'~').contains(&b) || matches!(b, b'\n' | b'\t');
    if text.bytes().fold(true, |all, b| all & plain(b))
        || !text.chars().any(|c| !stays(c) || shapes_its_neighbour(c))
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut ends = EndMarks { bytes: text.as_bytes(), none_before: 0 };
    let separator = if text.trim_start().starts_with(['{', '[', '"']) { ' ' } else { '\n' };
    // The last character that stayed, and a joiner after it that stays if the next one is joined.
    let (mut last, mut joiner) = (None, None);
    while let Some(c) = rest.chars().next() {
        if let Some(length) = command(rest, &mut ends) {
            rest = &rest[length..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        let c = match c {
            '\r' if rest.starts_with('\n') => '\r',
            '\r' | '\u{b}' | '\u{c}' => '\n',
            '\u{85}' | '\u{2028}' | '\u{2029}' => separator,
            '\u{200c}' | '\u{200d}' => {
                // One of several is enough, and letters of ASCII are never joined: a row of them is a message.
                joiner = joiner.or(last.filter(|c| is_joined(*c)).map(|_| c));
                continue;
            }
            '\u{fe0e}' | '\u{fe0f}' if !last.is_some_and(has_emoji_form) => continue,
            c if stays(c) => c,
            _ => continue,
        };
        if let Some(joiner) = joiner.take().filter(|_| is_joined(c)) {
            out.push(joiner);
        }
        out.push(c);
        last = Some(c);
    }
    Cow::Owned(out)
}

/// The joiners and the selectors of emoji, of which a text may have one between two characters.
fn shapes_its_neighbour(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Whether a character may stand beside a joiner: letters of joined scripts, and emoji.
fn is_joined(c: char) -> bool {
    c > '\u{2ff}' && !c.is_whitespace()
}

/// Whether a character may be shown as text or as emoji.
fn has_emoji_form(c: char) -> bool {
    matches!(c, '#' | '*' | '0'..='9' | '©' | '®' | '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}')
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
    shortened(&one_line(text), most).into_owned()
}

/// The text, or its first characters and a `…`.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// JSON with every character that cannot be seen, or that a terminal would obey, written as an escape: two texts that differ
/// never look the same because something was left out.
pub fn visible_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for letter in json.chars() {
        if is_invisible(letter) || shapes_its_neighbour(letter) {
            shown.extend(letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            shown.push(letter);
        }
    }
    shown
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
            ("hi\u{fe00}\u{fe01}\u{e0101}\u{3164}\u{115f}", "hi"),
            ("a\u{fe0f}\u{fe0e}\u{200d}\u{200c}b ❤\u{fe0f}\u{fe0f}", "ab ❤\u{fe0f}"),
            ("می\u{200c}\u{200d}\u{200c}خ", "می\u{200c}خ"),
            ("one\u{2028}two\u{c}three", "one\ntwo\nthree"),
            (" [\"one\u{2028}two\u{85}three\"]", " [\"one two three\"]"),
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
        fn nothing_invisible_is_left_and_twice_is_once(text in "([a-c]|\\PC|[\u{1b}\u{9b}\\[\\]0;m\u{7}\\\\\r\n\t\u{200b}\u{200c}\u{200d}\u{fe0f}❤\u{e0101}]){0,60}") {
            let seen = visible(&text).into_owned();
            prop_assert!(seen.chars().all(|c| c == '\r' || stays(c)), "{seen:?}");
            prop_assert!(!seen.replace("\r\n", "\n").contains('\r'));
            prop_assert_eq!(visible(&seen), seen.as_str());
        }
    }
}
