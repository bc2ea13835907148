//! Bytes into lines, with a bound: a line that is too long is refused once and skipped to its end.

/// What one piece of input brought.
#[derive(Debug, PartialEq)]
pub enum Line<'a> {
    Whole(&'a [u8]),
    /// The beginning of a line that is longer than allowed. The rest of it follows in pieces.
    TooLong(&'a [u8]),
    Skipped(&'a [u8]),
}

/// Keeps what has no end yet.
pub struct Lines {
    limit: usize,
    rest: Vec<u8>,
    skipping: bool,
}

impl Lines {
    pub fn new(limit: usize) -> Self {
        Lines { limit, rest: Vec::new(), skipping: false }
    }

    /// Calls `take` for each line that `bytes` completes, and for one that gets too long.
    pub fn feed(&mut self, mut bytes: &[u8], mut take: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            bytes = rest;
            if std::mem::take(&mut self.skipping) {
                take(Line::Skipped(line));
                continue;
            }
            let size = self.rest.len() + line.len();
            if size > self.limit {
                take(Line::TooLong(&self.rest));
                take(Line::Skipped(line));
            } else if self.rest.is_empty() {
                take(Line::Whole(trimmed(line)));
            } else {
                self.rest.extend_from_slice(line);
                take(Line::Whole(trimmed(&self.rest)));
            }
            self.forget();
        }
        if self.skipping {
            return take(Line::Skipped(bytes));
        }
        if self.rest.len() + bytes.len() > self.limit {
            take(Line::TooLong(&self.rest));
            take(Line::Skipped(bytes));
            self.forget();
            self.skipping = true;
        } else {
            self.rest.extend_from_slice(bytes);
        }
    }

    pub fn is_between_lines(&self) -> bool {
        self.rest.is_empty()
    }

    /// There is no more input: what is left is a line without an end.
    pub fn end(&mut self, mut take: impl FnMut(Line<'_>)) {
        if !self.rest.is_empty() {
            take(Line::Whole(trimmed(&self.rest)));
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.rest.clear();
        // Release the memory of a huge message.
        self.rest.shrink_to(64 * 1024);
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn collect(limit: usize, pieces: &[&[u8]]) -> Vec<(bool, Vec<u8>)> {
        let mut lines = Lines::new(limit);
        let mut found = Vec::new();
        for piece in pieces {
            lines.feed(piece, |line| match line {
                Line::Whole(text) => found.push((true, text.to_vec())),
                Line::TooLong(text) => found.push((false, text.to_vec())),
                Line::Skipped(text) => found.last_mut().unwrap().1.extend_from_slice(text),
            });
        }
        found
    }

    #[test]
    fn a_line_over_the_limit_is_refused_once_and_the_next_is_whole() {
        let found = collect(8, &[b"12345", b"6789", b"0000\nok\r\n", b"x"]);
        assert_eq!(found, vec![(false, b"1234567890000".to_vec()), (true, b"ok".to_vec())]);
    }

    proptest! {
        #[test]
        fn how_the_bytes_are_cut_does_not_matter(
            lines in prop::collection::vec("[a-z{}:\", ]{0,30}", 0..20),
            cuts in prop::collection::vec(1usize..40, 0..40),
        ) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let (mut pieces, mut rest) = (Vec::new(), text.as_bytes());
            for cut in cuts {
                let (piece, more) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = more;
            }
            pieces.push(rest);
            let found = collect(1000, &pieces);
            let expected: Vec<_> = lines.iter().map(|line| (true, line.clone().into_bytes())).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
