//! A text as a reader understands it, with the place that each byte has in the text: in lower case, and with the usual
//! encodings undone. A secret is found in it although the text spells it in another way.

use crate::invisible::is_invisible;

/// Which characters of a text count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Blanks {
    Kept,
    /// A secret that is wrapped at a line end, or interrupted by letters of no width, is still that secret.
    Dropped,
    /// The same for one that is interrupted by commands to a terminal.
    DroppedWithCommands,
}

/// The bytes, and where each begins and ends in the text.
pub(super) struct FoldedText {
    pub bytes: Vec<u8>,
    places: Vec<(u32, u32)>,
    blanks: Blanks,
}

impl FoldedText {
    pub fn new(text: &str, blanks: Blanks) -> Self {
        let mut view = FoldedText::empty(text.len(), blanks);
        let mut chars = text.char_indices();
        while let Some((at, c)) = chars.next() {
            if c == '\u{1b}' && blanks == Blanks::DroppedWithCommands && text[at + 1..].starts_with('[') {
                // A terminal command ends with a letter.
                let _ = chars.find(|(_, c)| matches!(c, '@'..='Z' | '\\'..='~'));
                continue;
            }
            view.push(c, place(at, at + c.len_utf8()));
        }
        view
    }

    fn empty(room: usize, blanks: Blanks) -> Self {
        FoldedText { bytes: Vec::with_capacity(room), places: Vec::with_capacity(room), blanks }
    }

    fn push(&mut self, c: char, place: (u32, u32)) {
        let is_blank = c.is_whitespace() || is_invisible(c) || matches!(c, '\u{200c}' | '\u{200d}');
        if is_blank && self.blanks != Blanks::Kept {
            return;
        }
        let mut utf8 = [0; 4];
        for byte in c.to_ascii_lowercase().encode_utf8(&mut utf8).bytes() {
            self.bytes.push(byte);
            self.places.push(place);
        }
    }

    fn push_byte(&mut self, byte: u8, place: (u32, u32)) {
        match byte.is_ascii() {
            true => self.push(char::from(byte), place),
            false => {
                self.bytes.push(byte);
                self.places.push(place);
            }
        }
    }

    /// The part of the text that some bytes stand for.
    pub fn source(&self, start: usize, end: usize) -> (usize, usize) {
        (self.places[start].0 as usize, self.places[end - 1].1 as usize)
    }

    /// The view with one layer of encoding undone: `%41`, `\u0041`, `\x41`, `\"`, `&#65;`, `&amp;`. `None` when there is
    /// no such layer.
    pub fn decoded(&self) -> Option<FoldedText> {
        memchr::memchr3(b'%', b'\\', b'&', &self.bytes)?;
        let mut view = FoldedText::empty(self.bytes.len(), self.blanks);
        let (mut at, mut is_changed) = (0, false);
        while at < self.bytes.len() {
            let (unit, length) = unit(&self.bytes[at..]);
            let place = (self.places[at].0, self.places[at + length - 1].1);
            match unit {
                Spelled::Byte(byte) => view.push_byte(byte, place),
                Spelled::Char(c) => view.push(c, place),
            }
            is_changed |= length > 1;
            at += length;
        }
        is_changed.then_some(view)
    }
}

fn place(start: usize, end: usize) -> (u32, u32) {
    let short = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    (short(start), short(end))
}

enum Spelled {
    Byte(u8),
    Char(char),
}

/// What the text begins with, and how many bytes spell it.
fn unit(text: &[u8]) -> (Spelled, usize) {
    let hex = |from: usize, digits: usize| {
        let digits = std::str::from_utf8(text.get(from..from + digits)?).ok()?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    let byte = |value: u32| u8::try_from(value).ok().map(Spelled::Byte);
    let char = |value: u32| char::from_u32(value).map(Spelled::Char);
    let found = match text {
        [b'%', ..] => hex(1, 2).and_then(byte).map(|unit| (unit, 3)),
        [b'\\', b'u', ..] => hex(2, 4).and_then(char).map(|unit| (unit, 6)),
        [b'\\', b'x', ..] => hex(2, 2).and_then(byte).map(|unit| (unit, 4)),
        [b'\\', b'n' | b'r' | b't', ..] => Some((Spelled::Byte(b' '), 2)),
        [b'\\', escaped @ (b'"' | b'\'' | b'\\' | b'/'), ..] => Some((Spelled::Byte(*escaped), 2)),
        [b'&', ..] => entity(text),
        _ => None,
    };
    found.unwrap_or((Spelled::Byte(text[0]), 1))
}

/// `&amp;`, `&#65;`, `&#x41;`
fn entity(text: &[u8]) -> Option<(Spelled, usize)> {
    let end = text.iter().take(10).position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(&text[1..end]).ok()?;
    let c = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    };
    Some((Spelled::Char(c), end + 1))
}
