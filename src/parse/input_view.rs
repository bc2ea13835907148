//! A look at the input: the bytes that are there now, and searches that resume where they stopped.

/// Longer indents do not count as indents.
const LONGEST_INDENT: usize = 64;

/// The text that is available now. Positions count from the start of the whole text.
pub(super) struct InputView<'a> {
    pub bytes: &'a [u8],
    /// The position of the first byte.
    pub base: usize,
    /// No more text will come.
    pub ended: bool,
    /// The byte before the first one.
    pub before: Option<u8>,
    /// Everything before this position was released.
    pub head: usize,
}

impl<'a> InputView<'a> {
    /// A look at a text that is all there.
    pub fn whole(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), base: 0, ended: true, before: None, head: 0 }
    }

    pub fn from(&self, at: usize) -> &'a [u8] {
        self.bytes.get(at - self.base..).unwrap_or_default()
    }

    pub fn end(&self) -> usize {
        self.base + self.bytes.len()
    }

    /// The byte before `at`.
    pub fn byte_before(&self, at: usize) -> Option<u8> {
        match at.checked_sub(self.base + 1) {
            Some(index) => self.bytes.get(index).copied(),
            None => self.before,
        }
    }

    /// The number of bytes before `at` on its line, if they are only an indent, or an indent and the mark of a list.
    pub fn indent(&self, at: usize) -> Option<usize> {
        let before = &self.bytes[..at - self.base];
        let start = before.len().saturating_sub(LONGEST_INDENT);
        let line = match memchr::memrchr2(b'\n', b'\r', &before[start..]) {
            Some(end) => &before[start + end + 1..],
            None if start == 0 && self.before.is_none_or(|byte| matches!(byte, b'\n' | b'\r')) => before,
            None => return None,
        };
        let mark = line.trim_ascii_start();
        let is_blank = || list_mark(mark).is_some_and(|length| mark[length..].trim_ascii().is_empty());
        (mark.is_empty() || is_blank()).then_some(line.len())
    }

    /// True if a line begins at `at`.
    pub fn begins_line(&self, at: usize) -> bool {
        self.byte_before(at).is_none_or(|byte| byte == b'\n' || byte == b'\r')
    }
}

/// The length of the mark of a list at the start of a line: `-`, `*`, `+`, `1.` or `1)`, and a space.
fn list_mark(line: &[u8]) -> Option<usize> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mark = match (digits, line.get(digits)?) {
        (0, b'-' | b'*' | b'+') | (1..=9, b'.' | b')') => digits + 1,
        _ => return None,
    };
    matches!(line.get(mark), Some(b' ' | b'\t')).then_some(mark + 1)
}

/// A set of bytes.
#[derive(Default)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    pub fn add(&mut self, byte: u8) {
        self.0[byte as usize / 64] |= 1 << (byte % 64);
    }

    pub fn has(&self, byte: u8) -> bool {
        self.0[byte as usize / 64] & (1 << (byte % 64)) != 0
    }
}

/// A search for the first of several literals.
pub(super) struct LiteralSearch<'a> {
    /// Everything before this position was searched.
    pub next: usize,
    literals: &'a [&'a str],
    /// The byte that all of them begin with, if it is the same one.
    first: Option<u8>,
    /// The bytes that a literal begins with.
    begins: ByteSet,
}

impl<'a> LiteralSearch<'a> {
    pub fn new(from: usize, literals: &'a [&'a str]) -> Self {
        let mut begins = ByteSet::default();
        literals.iter().for_each(|literal| begins.add(literal.as_bytes()[0]));
        let first = literals.first().map(|literal| literal.as_bytes()[0]);
        let first = first.filter(|first| literals.iter().all(|literal| literal.as_bytes()[0] == *first));
        Self { next: from, literals, first, begins }
    }

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
        match self.first {
            Some(first) => memchr::memchr(first, bytes),
            None => bytes.iter().position(|byte| self.begins.has(*byte)),
        }
    }
}
