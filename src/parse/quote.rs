//! Quotation: a call that stands in inline code, in quotation marks or in a block quote is only shown.
//!
//! Where a call begins, the line before it tells whether a quotation is open. If one is, the call is held back (see `hold`)
//! until the rest of its line shows whether the quotation ends there; then all of it is text. A call that is all of its line
//! is a call in spite of the marks around it: models write their answer in backticks, too.
//!
//! Both looks are bounded, so a quotation counts only as far as [`REACH`]. Code in fences and comments: see `read/common`.

/// The number of bytes that are looked at before and behind a call.
pub(super) const REACH: usize = 4096;

/// Marks that open and close a quotation, where the two differ.
const PAIRS: &[(&str, &str)] =
    &[("“", "”"), ("„", "“"), ("‘", "’"), ("«", "»"), ("‹", "›"), ("「", "」"), ("『", "』"), ("《", "》")];

/// A quotation that is open where a call begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenQuote {
    /// A line of a block quote: `> …`.
    Block,
    /// Inline code, between runs of this many backticks.
    Code { run: usize, is_first: bool },
    /// Marks that end with this one.
    Marks { close: &'static str, is_first: bool, is_tight: bool },
}

impl OpenQuote {
    /// The quotation that is open at the end of a part of a line, which may `begin` it.
    pub fn before(line: &[u8], begins: bool) -> Option<Self> {
        if begins && is_block_quote(line) {
            return Some(Self::Block);
        }
        // Most calls have no words before them on their line.
        if !line.iter().any(|byte| matches!(byte, b'`' | b'"' | b'\'') || *byte >= 0x80) {
            return None;
        }
        let is_first = |start: usize| begins && line[..start].trim_ascii().is_empty();
        match code_before(line) {
            Ok((run, start)) => {
                let is_first = is_first(start) && line[start + run..].trim_ascii().is_empty();
                Some(Self::Code { run, is_first })
            }
            Err(plain) => {
                let (close, start, is_tight) = marks_before(line, plain)?;
                Some(Self::Marks { close, is_first: is_tight && is_first(start), is_tight })
            }
        }
    }

    /// True if nothing but the marks is before the call on its line.
    pub fn is_first(self) -> bool {
        match self {
            Self::Block => false,
            Self::Code { is_first, .. } | Self::Marks { is_first, .. } => is_first,
        }
    }

    /// The position behind the closing mark in a line that may have words before it.
    pub fn closing_anywhere(self, line: &[u8]) -> Option<usize> {
        let loose = match self {
            Self::Marks { close, is_first, .. } => Self::Marks { close, is_first, is_tight: false },
            quote => quote,
        };
        loose.closing(line).map(|(_, end)| end)
    }

    /// Where the quotation ends in the rest of a line, behind a call: the positions of its closing mark.
    pub fn closing(self, rest: &[u8]) -> Option<(usize, usize)> {
        match self {
            Self::Block => Some((0, 0)),
            Self::Code { run, .. } => runs(rest).find(|(from, to)| to - from == run),
            Self::Marks { close, is_tight, .. } => {
                let from = if is_tight { end_tags(rest) } else { 0 };
                let found = from + memchr::memmem::find(&rest[from..], close.as_bytes())?;
                // `"<call>."`: the end of the sentence may stand before the mark.
                let is_near = rest[from..found].iter().all(|byte| b".,;:!?'\"".contains(byte));
                (!is_tight || is_near).then_some((found, found + close.len()))
            }
        }
    }
}

/// True if a line begins with `>`, also behind an indent or in a list.
fn is_block_quote(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(b">")
        || list_mark(line).is_some_and(|mark| line[mark..].trim_ascii_start().starts_with(b">"))
}

/// The length of the mark of a list at the start of a line: `-`, `*`, `+`, `1.` or `1)`, and a space.
pub(super) fn list_mark(line: &[u8]) -> Option<usize> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mark = match (digits, line.get(digits)?) {
        (0, b'-' | b'*' | b'+') | (1..=9, b'.' | b')') => digits + 1,
        _ => return None,
    };
    matches!(line.get(mark), Some(b' ' | b'\t')).then_some(mark + 1)
}

/// The runs of backticks: where they start and end.
fn runs(line: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = at + memchr::memchr(b'`', &line[at..])?;
        at = from + line[from..].iter().take_while(|byte| **byte == b'`').count();
        Some((from, at))
    })
}

/// The length and start of the run of backticks whose code is not closed, or the position behind the last code.
fn code_before(line: &[u8]) -> Result<(usize, usize), usize> {
    let mut runs = runs(line);
    let mut plain = 0;
    while let Some((from, to)) = runs.next() {
        match runs.find(|(next, end)| end - next == to - from) {
            Some((_, end)) => plain = end,
            None => return Ok((to - from, from)),
        }
    }
    Err(plain)
}

/// The mark that closes what is open at the end of the line, the start of the mark that opened it, and whether that one stands
/// right before the end.
fn marks_before(line: &[u8], plain: usize) -> Option<(&'static str, usize, bool)> {
    let tokens = before_tokens(line);
    let last = tokens.len().checked_sub(1)?;
    match tokens[last] {
        b'"' => return Some(("\"", last, true)),
        b'\'' => return Some(("'", last, true)),
        _ => {}
    }
    for (open, close) in PAIRS {
        if let Some(found) = memchr::memmem::rfind(line, open.as_bytes()) {
            let after = found + open.len();
            let is_tight = after == tokens.len();
            // An apostrophe looks like the single mark that closes.
            let is_open = is_tight || *close != "’";
            if is_open && memchr::memmem::find(&line[after..], close.as_bytes()).is_none() {
                return Some((close, found, is_tight));
            }
        }
    }
    double_before(line, plain).map(|start| ("\"", start, false))
}

/// The length of the end tags that a line begins with: they belong to the call before them.
fn end_tags(line: &[u8]) -> usize {
    let mut length = 0;
    while line[length..].starts_with(b"</")
        && let Some(end) = memchr::memchr(b'>', &line[length..])
    {
        length += end + 1;
    }
    length
}

/// The part of a line before the tokens of a chat template at its end, such as `<|message|>`, and a word between them: they
/// belong to the call.
fn before_tokens(line: &[u8]) -> &[u8] {
    let mut line = line;
    loop {
        let word =
            line.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let token =
            line[..line.len() - word].strip_suffix(b"|>").and_then(|line| memchr::memrchr(b'<', line));
        match token {
            Some(token) => line = &line[..token],
            None => return line,
        }
    }
}

/// The start of a quotation in `"` with more words before the call. An inch or a broken string opens none: the mark stands
/// before a word.
fn double_before(line: &[u8], plain: usize) -> Option<usize> {
    let mut open = None;
    for at in memchr::memchr_iter(b'"', &line[plain..]).map(|at| plain + at) {
        let begins_word = || {
            let before = at.checked_sub(1).map(|before| line[before]);
            before.is_none_or(|byte| byte.is_ascii_whitespace() || byte == b'(')
                && line
                    .get(at + 1)
                    .is_some_and(|byte| !byte.is_ascii_whitespace() && !b".,;:!?)".contains(byte))
        };
        open = match open {
            Some(_) => None,
            None => begins_word().then_some(at),
        };
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before(line: &str) -> Option<OpenQuote> {
        OpenQuote::before(line.as_bytes(), true)
    }

    #[test]
    fn quotations_that_are_open() {
        assert_eq!(before("  > He wrote: "), Some(OpenQuote::Block));
        assert_eq!(before("1. > "), Some(OpenQuote::Block));
        assert_eq!(before("Run `ls` and `"), Some(OpenQuote::Code { run: 1, is_first: false }));
        assert_eq!(before("``"), Some(OpenQuote::Code { run: 2, is_first: true }));
        assert_eq!(before("`` a ` b ``, then `x "), Some(OpenQuote::Code { run: 1, is_first: false }));
        let marks = |close, is_first, is_tight| Some(OpenQuote::Marks { close, is_first, is_tight });
        assert_eq!(before("\""), marks("\"", true, true));
        assert_eq!(before("He said \"please run "), marks("\"", false, false));
        assert_eq!(before("他说“请运行 "), marks("”", false, false));
        assert_eq!(before("x = '"), marks("'", false, true));
    }

    #[test]
    fn quotations_that_are_not() {
        for line in [
            "",
            "Let me see. ",
            "I don't know. ",
            "the \"x\" file ",
            "a `b` c ",
            "a 5\" screen ",
            "a > b ",
            "“a” ",
        ] {
            assert_eq!(before(line), None, "{line}");
        }
        assert_eq!(OpenQuote::before(b"> ", false), None);
    }

    #[test]
    fn a_closing_mark_is_the_one_that_fits() {
        let code = OpenQuote::Code { run: 2, is_first: false };
        assert_eq!(code.closing(b"` a `` b"), Some((4, 6)));
        assert_eq!(code.closing(b"` a"), None);
        let tight = OpenQuote::Marks { close: "\"", is_first: false, is_tight: true };
        assert_eq!(tight.closing(b".\" Then"), Some((1, 2)));
        assert_eq!(tight.closing(b" and \"x\""), None);
    }
}
