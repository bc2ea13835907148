//! Where does a value end? Brackets and strings are followed, so that a bracket or a tag inside a string is nothing.
//!
//! This only finds the end; [`lenient`](super::lenient) reads what is there. It goes on where it stopped, so that a
//! long value costs the same in one piece and in a thousand.

use super::draft::ARGUMENT_KEYS;
use super::tape::View;

/// How strings and brackets are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    /// JSON, and what models take for it.
    Json,
    /// JSON whose strings stand between two of this token, without escapes.
    Quoted(&'static str),
    /// Python: parentheses and triple quotes too.
    Python,
}

/// Where a value ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All brackets are closed; behind the last one.
    Closed(usize),
    /// Brackets are open, but what ends the call came; at it.
    Stopped(usize),
    /// The text has ended, inside a string or not.
    Cut { in_string: bool },
}

/// The search for the end, beginning at an opening bracket.
pub(super) struct Scan<'a> {
    next: usize,
    notation: Notation,
    /// The bytes that mean something outside of strings.
    matters: Bytes,
    stops: &'a [&'a str],
    open: Vec<u8>,
    /// How many of each bracket are open, so that a surplus one is known without a search.
    counts: [usize; 3],
    inside: Inside,
}

/// A set of bytes, small enough to be carried around.
#[derive(Default)]
struct Bytes([u64; 4]);

impl Bytes {
    fn add(&mut self, byte: u8) {
        self.0[byte as usize / 64] |= 1 << (byte % 64);
    }

    fn has(&self, byte: u8) -> bool {
        self.0[byte as usize / 64] & (1 << (byte % 64)) != 0
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Value,
    /// In a string with this quote, so many times; where its text began.
    String {
        quote: u8,
        triple: bool,
        from: usize,
    },
    Token(&'static str),
    LineComment,
    BlockComment,
}

/// What one look came to: go on, wait for more text, or the end.
enum Step {
    On,
    Wait,
    End(Extent),
}

impl<'a> Scan<'a> {
    pub fn new(at: usize, notation: Notation, stops: &'a [&'a str]) -> Self {
        let mut matters = Bytes::default();
        b"\"'{}[]()".iter().for_each(|byte| matters.add(*byte));
        let comments = if matches!(notation, Notation::Quoted(_)) { "" } else { "#/" };
        let token = if let Notation::Quoted(token) = notation { token } else { "" };
        for first in
            stops.iter().chain(&[token]).filter_map(|text| text.bytes().next()).chain(comments.bytes())
        {
            matters.add(first);
        }
        Self { next: at, notation, matters, stops, open: Vec::new(), counts: [0; 3], inside: Inside::Value }
    }

    pub fn look(&mut self, view: &View<'_>) -> Option<Extent> {
        loop {
            if view.from(self.next).is_empty() {
                let in_string = matches!(self.inside, Inside::String { .. } | Inside::Token(_));
                return view.ended.then_some(Extent::Cut { in_string });
            }
            let step = match self.inside {
                Inside::Value => self.value(view),
                Inside::String { quote, triple, from } => self.string(view, quote, triple, from),
                Inside::Token(token) => self.until(view, token),
                Inside::LineComment => self.until(view, "\n"),
                Inside::BlockComment => self.until(view, "*/"),
            };
            match step {
                Step::On => {}
                Step::Wait if view.ended => self.next += 1,
                Step::Wait => return None,
                Step::End(extent) => return Some(extent),
            }
        }
    }

    /// Outside of strings and comments.
    fn value(&mut self, view: &View<'_>) -> Step {
        let rest = view.from(self.next);
        let dull = rest.iter().position(|byte| self.matters.has(*byte)).unwrap_or(rest.len());
        self.next += dull;
        let rest = &rest[dull..];
        let Some(&byte) = rest.first() else { return Step::On };
        for stop in self.stops.iter().filter(|stop| stop.as_bytes().first() == Some(&byte)) {
            if rest.starts_with(stop.as_bytes()) {
                return Step::End(Extent::Stopped(self.next));
            }
            if !view.ended && stop.as_bytes().starts_with(rest) {
                return Step::Wait;
            }
        }
        if let Notation::Quoted(token) = self.notation {
            if rest.starts_with(token.as_bytes()) {
                self.next += token.len();
                self.inside = Inside::Token(token);
                return Step::On;
            }
            if !view.ended && token.as_bytes().starts_with(rest) {
                return Step::Wait;
            }
        }
        match byte {
            b'"' | b'\'' => return self.open_string(view, byte),
            b'{' | b'[' => self.push(byte),
            b'(' if self.notation == Notation::Python => self.push(byte),
            b'}' | b']' | b')' => {
                self.close(byte);
                if self.open.is_empty() {
                    return Step::End(Extent::Closed(self.next + 1));
                }
            }
            b'#' | b'/' if matches!(self.notation, Notation::Quoted(_)) => {}
            b'#' => self.inside = Inside::LineComment,
            b'/' => match rest.get(1) {
                None if !view.ended => return Step::Wait,
                Some(b'/') => self.inside = Inside::LineComment,
                Some(b'*') => self.inside = Inside::BlockComment,
                _ => {}
            },
            _ => {}
        }
        self.next += 1;
        Step::On
    }

    fn open_string(&mut self, view: &View<'_>, quote: u8) -> Step {
        let rest = view.from(self.next);
        let triple = self.notation == Notation::Python && {
            if !view.ended && rest.len() < 3 && rest.iter().all(|byte| *byte == quote) {
                return Step::Wait;
            }
            rest.starts_with(&[quote; 3])
        };
        self.next += if triple { 3 } else { 1 };
        self.inside = Inside::String { quote, triple, from: self.next };
        Step::On
    }

    fn push(&mut self, bracket: u8) {
        self.open.push(bracket);
        self.counts[kind(bracket)] += 1;
    }

    /// A closing bracket also closes what was left open inside; a surplus one closes nothing.
    fn close(&mut self, bracket: u8) {
        if self.counts[kind(bracket)] == 0 {
            return;
        }
        while let Some(open) = self.open.pop() {
            self.counts[kind(open)] -= 1;
            if kind(open) == kind(bracket) {
                break;
            }
        }
    }

    fn string(&mut self, view: &View<'_>, quote: u8, triple: bool, from: usize) -> Step {
        let rest = view.from(self.next);
        let Some(found) = memchr::memchr2(quote, b'\\', rest) else {
            self.next = view.end();
            return Step::On;
        };
        self.next += found;
        let rest = &rest[found..];
        if rest[0] == b'\\' {
            if rest.len() < 2 {
                return Step::Wait;
            }
            self.next += 2;
        } else if triple {
            if rest.len() < 3 && !view.ended && rest.iter().all(|byte| *byte == quote) {
                return Step::Wait;
            }
            let closes = rest.starts_with(&[quote; 3]);
            self.next += if closes { 3 } else { 1 };
            if closes {
                self.inside = Inside::Value;
            }
        } else {
            let text = &view.from(from)[..self.next - from];
            self.next += 1;
            if swallows_bracket(text) {
                // `"arguments {"`: the quote and the colon were forgotten, and this quote opens the next key.
                self.push(b'{');
                self.inside = Inside::String { quote, triple, from: self.next };
            } else {
                self.inside = Inside::Value;
            }
        }
        Step::On
    }

    fn until(&mut self, view: &View<'_>, token: &str) -> Step {
        let rest = view.from(self.next);
        if let Some(found) = memchr::memmem::find(rest, token.as_bytes()) {
            self.next += found + token.len();
            self.inside = Inside::Value;
        } else if view.ended {
            self.next = view.end();
        } else {
            self.next += rest.len().saturating_sub(token.len() - 1);
            return Step::Wait;
        }
        Step::On
    }
}

fn kind(bracket: u8) -> usize {
    match bracket {
        b'{' | b'}' => 0,
        b'[' | b']' => 1,
        _ => 2,
    }
}

/// Whether strict JSON holds a string that would be taken for such a key.
pub(super) fn looks_torn(json: &[u8]) -> bool {
    memchr::memchr_iter(b'{', json).filter(|at| json.get(at + 1) == Some(&b'"')).any(|at| {
        let string = memchr::memrchr(b'"', &json[..at]).map_or(0, |quote| quote + 1);
        swallows_bracket(&json[string..=at])
    })
}

/// Whether the text of a key is `arguments {`: a key whose closing quote and colon were forgotten.
pub(super) fn swallows_bracket(text: &[u8]) -> bool {
    let Some(key) = text.strip_suffix(b"{") else { return false };
    let key = key.trim_ascii_end();
    let key = key.strip_suffix(b":").unwrap_or(key).trim_ascii();
    ARGUMENT_KEYS.iter().any(|known| known.as_bytes() == key)
}
