//! Finds the end of a value. It tracks brackets and strings, so a bracket or a tag inside a string does not count.
//!
//! This only finds the end; [`lenient`](super::lenient) reads the value. The scan resumes where it stopped, so a long
//! value costs the same in one delta and in a thousand.

use super::buffer::BufferState;
use super::keys::swallows_brace;
use super::lenient::Notation;

/// Where a value ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueExtent {
    /// All brackets are closed: the position after the last one.
    Closed(usize),
    /// Brackets are open, but the end of the call came: its position.
    Stopped(usize),
    /// The text ended first, inside a string or not.
    Cut { in_string: bool },
}

/// A scan for the end of the value, from its opening bracket.
pub(super) struct ExtentScan<'a> {
    next: usize,
    notation: Notation,
    /// Bytes with a meaning outside of strings.
    special: [bool; 256],
    stops: &'a [&'a str],
    open: Vec<u8>,
    /// The number of open brackets of each kind: tells a surplus closing bracket without a search.
    counts: [usize; 3],
    state: ScanState,
}

#[derive(Clone, Copy, PartialEq)]
enum ScanState {
    Value,
    /// In a string with this quote, single or triple; `from` is where its text starts.
    String {
        quote: u8,
        triple: bool,
        from: usize,
    },
    /// In a comment, or in a string between tokens, up to this.
    Until {
        end: &'static str,
        is_string: bool,
    },
}

/// The result of one step.
enum ScanStep {
    On,
    Wait,
    End(ValueExtent),
}

impl<'a> ExtentScan<'a> {
    pub fn new(at: usize, notation: Notation, stops: &'a [&'a str]) -> Self {
        let (token, comments) = match notation {
            Notation::Quoted(token) => (token, ""),
            _ => ("", "#/"),
        };
        let firsts = stops.iter().copied().chain([token]).filter_map(|text| text.bytes().next());
        let mut special = [false; 256];
        for byte in firsts.chain(comments.bytes()).chain(*b"\"'{}[]()") {
            special[usize::from(byte)] = true;
        }
        Self { next: at, notation, special, stops, open: Vec::new(), counts: [0; 3], state: ScanState::Value }
    }

    pub fn look(&mut self, view: &BufferState) -> Option<ValueExtent> {
        loop {
            if view.from(self.next).is_empty() {
                let in_string =
                    !matches!(self.state, ScanState::Value | ScanState::Until { is_string: false, .. });
                return view.ended.then_some(ValueExtent::Cut { in_string });
            }
            let step = match self.state {
                ScanState::Value => self.value(view),
                ScanState::String { quote, triple, from } => self.string(view, quote, triple, from),
                ScanState::Until { end, .. } => self.until(view, end),
            };
            match step {
                ScanStep::On => {}
                ScanStep::Wait if view.ended => self.next += 1,
                ScanStep::Wait => return None,
                ScanStep::End(extent) => return Some(extent),
            }
        }
    }

    /// Outside of strings and comments.
    fn value(&mut self, view: &BufferState) -> ScanStep {
        let rest = view.from(self.next);
        let plain = rest.iter().position(|byte| self.special[usize::from(*byte)]).unwrap_or(rest.len());
        self.next += plain;
        let rest = &rest[plain..];
        let Some(&byte) = rest.first() else { return ScanStep::On };
        for stop in self.stops.iter().filter(|stop| stop.as_bytes().first() == Some(&byte)) {
            if rest.starts_with(stop.as_bytes()) {
                return ScanStep::End(ValueExtent::Stopped(self.next));
            }
            if !view.ended && stop.as_bytes().starts_with(rest) {
                return ScanStep::Wait;
            }
        }
        if let Notation::Quoted(token) = self.notation {
            if rest.starts_with(token.as_bytes()) {
                self.next += token.len();
                self.state = ScanState::Until { end: token, is_string: true };
                return ScanStep::On;
            }
            if !view.ended && token.as_bytes().starts_with(rest) {
                return ScanStep::Wait;
            }
        }
        match byte {
            b'"' | b'\'' => return self.open_string(view, byte),
            b'{' | b'[' => self.push(byte),
            b'(' if self.notation == Notation::Python || *self.open.first().unwrap_or(&byte) == byte => {
                self.push(byte);
            }
            b'}' | b']' | b')' => {
                self.close(byte);
                if self.open.is_empty() {
                    return ScanStep::End(ValueExtent::Closed(self.next + 1));
                }
            }
            b'#' | b'/' if matches!(self.notation, Notation::Quoted(_)) => {}
            b'#' => self.state = ScanState::Until { end: "\n", is_string: false },
            b'/' => match rest.get(1) {
                None if !view.ended => return ScanStep::Wait,
                Some(b'/') => self.state = ScanState::Until { end: "\n", is_string: false },
                Some(b'*') => self.state = ScanState::Until { end: "*/", is_string: false },
                _ => {}
            },
            _ => {}
        }
        self.next += 1;
        ScanStep::On
    }

    fn open_string(&mut self, view: &BufferState, quote: u8) -> ScanStep {
        let rest = view.from(self.next);
        let triple = self.notation == Notation::Python && {
            if !view.ended && rest.len() < 3 && rest.iter().all(|byte| *byte == quote) {
                return ScanStep::Wait;
            }
            rest.starts_with(&[quote; 3])
        };
        self.next += if triple { 3 } else { 1 };
        self.state = ScanState::String { quote, triple, from: self.next };
        ScanStep::On
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

    fn string(&mut self, view: &BufferState, quote: u8, triple: bool, from: usize) -> ScanStep {
        let rest = view.from(self.next);
        let Some(found) = memchr::memchr2(quote, b'\\', rest) else {
            self.next = view.end();
            return ScanStep::On;
        };
        self.next += found;
        let rest = &rest[found..];
        if rest[0] == b'\\' {
            if rest.len() < 2 {
                return ScanStep::Wait;
            }
            self.next += 2;
        } else if triple {
            if rest.len() < 3 && !view.ended && rest.iter().all(|byte| *byte == quote) {
                return ScanStep::Wait;
            }
            let closes = rest.starts_with(&[quote; 3]);
            self.next += if closes { 3 } else { 1 };
            if closes {
                self.state = ScanState::Value;
            }
        } else {
            let text = &view.from(from)[..self.next - from];
            self.next += 1;
            if swallows_brace(text) {
                // `"arguments {"`: its quote and colon are missing, and this quote opens the next key.
                self.push(b'{');
                self.state = ScanState::String { quote, triple, from: self.next };
            } else {
                self.state = ScanState::Value;
            }
        }
        ScanStep::On
    }

    fn until(&mut self, view: &BufferState, token: &str) -> ScanStep {
        let rest = view.from(self.next);
        if let Some(found) = memchr::memmem::find(rest, token.as_bytes()) {
            self.next += found + token.len();
            self.state = ScanState::Value;
        } else if view.ended {
            self.next = view.end();
        } else {
            self.next += rest.len().saturating_sub(token.len() - 1);
            return ScanStep::Wait;
        }
        ScanStep::On
    }
}

fn kind(bracket: u8) -> usize {
    match bracket {
        b'{' | b'}' => 0,
        b'[' | b']' => 1,
        _ => 2,
    }
}
