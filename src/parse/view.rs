//! A look at the input: the bytes that are there now, and searches that resume where they stopped.

use super::quote::list_mark;

/// Longer indents are no indents.
const LONGEST_INDENT: usize = 64;

/// The text that is available now. Positions count from the start of the whole text.
pub(super) struct InputView<'a> {
    pub bytes: &'a [u8],
    /// The position of the first byte.
    pub base: usize,
    /// No more text will come.
    pub ended: bool,
}

impl<'a> InputView<'a> {
    pub fn from(&self, at: usize) -> &'a [u8] {
        self.bytes.get(at - self.base..).unwrap_or_default()
    }

    pub fn end(&self) -> usize {
        self.base + self.bytes.len()
    }
}

/// What is known about the text before a view, and about the part of it that was released.
pub(super) struct ByteBefore {
    /// The byte before the first byte of the view.
    pub at_base: Option<u8>,
    /// Everything before this position was released.
    pub head: usize,
}

impl ByteBefore {
    pub fn byte(&self, view: &InputView<'_>, at: usize) -> Option<u8> {
        match at.checked_sub(view.base + 1) {
            Some(index) => view.bytes.get(index).copied(),
            None => self.at_base,
        }
    }

    /// The number of bytes before `at` on its line, if they are only an indent, or an indent and the mark of a list.
    pub fn indent(&self, view: &InputView<'_>, at: usize) -> Option<usize> {
        let before = &view.bytes[..at - view.base];
        let start = before.len().saturating_sub(LONGEST_INDENT);
        let line = match memchr::memrchr2(b'\n', b'\r', &before[start..]) {
            Some(end) => &before[start + end + 1..],
            None if start == 0 && self.at_base.is_none_or(|byte| matches!(byte, b'\n' | b'\r')) => before,
            None => return None,
        };
        let mark = line.trim_ascii_start();
        let is_blank = || list_mark(mark).is_some_and(|length| mark[length..].trim_ascii().is_empty());
        (mark.is_empty() || is_blank()).then_some(line.len())
    }

    /// True if a line begins at `at`.
    pub fn begins_line(&self, view: &InputView<'_>, at: usize) -> bool {
        self.byte(view, at).is_none_or(|byte| byte == b'\n' || byte == b'\r')
    }
}

/// For this many literals a table of their first bytes is faster than a look at each.
const MANY: usize = 8;

/// A search for the first of several literals.
pub(super) struct LiteralSearch<'a> {
    /// Everything before this position was searched.
    pub next: usize,
    pub literals: &'a [&'a str],
}

impl LiteralSearch<'_> {
    /// The position and index of the first literal, `Some(None)` if the text ended without one, `None` to wait.
    pub fn resume(&mut self, view: &InputView<'_>) -> Option<Option<(usize, usize)>> {
        let rest = view.from(self.next);
        let mut from = 0;
        while let Some(found) = self.candidate(&rest[from..]) {
            let at = &rest[from + found..];
            for (index, literal) in self.literals.iter().enumerate() {
                if at.starts_with(literal.as_bytes()) {
                    self.next += from + found;
                    return Some(Some((self.next, index)));
                }
                if !view.ended && literal.as_bytes().starts_with(at) {
                    self.next += from + found;
                    return None;
                }
            }
            from += found + 1;
        }
        self.next = view.end();
        view.ended.then_some(None)
    }

    /// The next byte that one of the literals starts with.
    fn candidate(&self, bytes: &[u8]) -> Option<usize> {
        let first = |index: usize| self.literals.get(index).map(|literal| literal.as_bytes()[0]);
        match (first(0), first(1)) {
            (None, _) => None,
            (Some(a), _) if self.literals.iter().all(|literal| literal.as_bytes()[0] == a) => {
                memchr::memchr(a, bytes)
            }
            _ if self.literals.len() < MANY => {
                bytes.iter().position(|byte| self.literals.iter().any(|l| l.as_bytes()[0] == *byte))
            }
            _ => {
                let mut begins = [false; 256];
                self.literals.iter().for_each(|literal| begins[usize::from(literal.as_bytes()[0])] = true);
                bytes.iter().position(|byte| begins[usize::from(*byte)])
            }
        }
    }
}
