//! Where to cut a text that may be Markdown: fences are closed, tables end between rows, links stay whole.
//!
//! No guess whether a text is Markdown is needed: without its marks a text is prose, and with them it costs
//! little to check whether one is open.

use super::boundary::{self, CutPlan, Gap};
use super::chars::{floor, trimmed};

/// The best place to cut at or before byte `max`, a character boundary, and not before `from` if possible.
pub(super) fn plan(text: &str, from: usize, max: usize) -> CutPlan {
    if !has_signs(&text.as_bytes()[..max]) {
        return boundary::find(text, from, max);
    }
    if let Some(fence) = open_fence(&text[..max]) {
        return in_fence(text, from, max, &fence);
    }
    let cut = boundary::find(text, from, max);
    if let Some(plan) = in_table(text, cut.end) {
        return plan;
    }
    match before_open_span(text, cut.end, from) {
        Some(end) => CutPlan::at(trimmed(text, end), Gap::None),
        None => cut,
    }
}

/// True if the text has a mark that matters here. Without an early exit inside a block this is vectorised.
fn has_signs(text: &[u8]) -> bool {
    text.chunks(64).any(|block| {
        block.iter().fold(false, |found, byte| found | matches!(byte, b'`' | b'~' | b'|' | b'*' | b'['))
    })
}

/// An open code block: the start of its first line, the start of its content, and what closes it.
#[derive(Debug, PartialEq, Eq)]
struct Fence<'a> {
    start: usize,
    body: usize,
    indent: &'a str,
    mark: &'a str,
}

/// The code block that is still open at the end of `text`.
fn open_fence(text: &str) -> Option<Fence<'_>> {
    if !(text.contains('`') || text.contains('~')) {
        return None;
    }
    let mut open: Option<Fence<'_>> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let body = start + line.len();
        if let Some((indent, mark, info)) = fence_line(line) {
            open = match open {
                None => Some(Fence { start, body, indent, mark }),
                Some(fence) if info.is_empty() && mark.starts_with(fence.mark) => None,
                still => still,
            };
        }
        start = body;
    }
    open
}

/// The indentation, the mark and the info string of a line that opens or closes a code block.
fn fence_line(line: &str) -> Option<(&str, &str, &str)> {
    let trimmed = line.trim_start_matches([' ', '\t', '>']);
    let indent = &line[..line.len() - trimmed.len()];
    let sign = trimmed.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let info = trimmed.trim_start_matches(sign);
    let mark = &trimmed[..trimmed.len() - info.len()];
    let is_fence = mark.len() >= 3 && !(sign == '`' && info.contains('`'));
    is_fence.then_some((indent, mark, info.trim()))
}

/// Cuts code after a line and closes the block; drops the block if none of its content fits.
fn in_fence(text: &str, from: usize, max: usize, fence: &Fence<'_>) -> CutPlan {
    let from = from.max(fence.body);
    let max = floor(text, max);
    let line = text[from.min(max)..max].rfind('\n').map(|offset| from + offset);
    let end = if text[max..].starts_with(['\n', '\r']) {
        max
    } else {
        line.unwrap_or_else(|| boundary::word(text, from, max).end)
    };
    let end = trimmed(text, end);
    if end <= fence.body {
        return CutPlan::at(trimmed(text, fence.start), Gap::Space);
    }
    CutPlan { end, close: format!("\n{}{}", fence.indent, fence.mark), gap: Gap::Line }
}

/// A cut inside or right after a table, moved to the end of a row.
fn in_table(text: &str, cut: usize) -> Option<CutPlan> {
    let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let row = line_start(cut);
    let row_end = text[cut..].find('\n').map_or(text.len(), |offset| cut + offset);
    let line = &text[row..row_end];
    if !line.contains('|') {
        return None;
    }
    // Up to the first row: the table is the contiguous block around this line.
    let (mut first, mut rows, mut ruled) = (row, 1, is_rule(line));
    while first > 0 {
        let above = line_start(first - 1);
        let content = &text[above..first];
        if !content.contains('|') {
            break;
        }
        (first, rows, ruled) = (above, rows + 1, ruled || is_rule(content));
    }
    if !(ruled || line.trim_start().starts_with('|')) {
        return None;
    }
    let whole_row = trimmed(text, row + line.len()) <= cut;
    let (end, rows) = if whole_row { (cut, rows) } else { (trimmed(text, row), rows - 1) };
    // A head without its rule is not a table, and a table without rows is useless.
    let plan = if rows > 2 || (rows > 0 && !ruled) {
        CutPlan::at(end, Gap::Paragraph)
    } else {
        CutPlan::at(trimmed(text, first), Gap::Space)
    };
    // A row that is longer than the limit has to be cut.
    (plan.end > 0).then_some(plan)
}

/// The line below the head of a table: `|---|:--:|`.
fn is_rule(line: &str) -> bool {
    line.contains("--") && line.trim().chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'))
}

/// The start of a link, inline code or bold text that the cut would leave open, if it is not before `from`.
fn before_open_span(text: &str, end: usize, from: usize) -> Option<usize> {
    let region = &text.as_bytes()[from.min(end)..end];
    if ![b'`', b'*', b'['].iter().any(|sign| region.contains(sign)) {
        return None;
    }
    let block = text[..end].rfind("\n\n").map_or(0, |at| at + 2);
    let kept = &text[block..end];
    let from = from.saturating_sub(block);
    let bold = (kept.matches("**").count() % 2 == 1).then(|| kept.rfind("**"));
    let spans = [open_code(kept), bold.flatten(), open_link(kept, &text[end..])];
    let start = spans.into_iter().flatten().min()?;
    (start >= from && start > 0).then(|| floor(text, block + start))
}

/// The start of inline code that is open at the end of `kept`. It ends with as many backticks as it starts
/// with; three or more are a fence.
fn open_code(kept: &str) -> Option<usize> {
    let mut open: Option<(usize, usize)> = None;
    let mut at = 0;
    while let Some(offset) = kept[at..].find('`') {
        let start = at + offset;
        let run = kept[start..].bytes().take_while(|byte| *byte == b'`').count();
        open = match open {
            _ if run > 2 => open,
            None => Some((start, run)),
            Some((_, length)) if length == run => None,
            still => still,
        };
        at = start + run;
    }
    open.map(|(start, _)| start)
}

/// The start of a link that is incomplete at the end of `kept`.
fn open_link(kept: &str, rest: &str) -> Option<usize> {
    let start = kept.rfind('[')?;
    let start = start - usize::from(kept[..start].ends_with('!'));
    let inside = &kept[start..];
    match inside.find("](") {
        // The address has started, so it must also end.
        Some(address) => (!inside[address..].contains(')')).then_some(start),
        None if inside.contains(']') => rest.starts_with('(').then_some(start),
        // Still in the link text: a link only if an address follows on this line.
        None => {
            let line = rest.split('\n').next().unwrap_or_default();
            line.find(']').is_some_and(|at| line[at..].starts_with("](")).then_some(start)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_at(text: &str, max: usize) -> CutPlan {
        plan(text, boundary::region(text, max), max)
    }

    fn kept(text: &str, max: usize) -> String {
        let plan = plan_at(text, max);
        format!("{}{}", &text[..plan.end], plan.close)
    }

    #[test]
    fn an_open_fence_is_closed_after_a_line() {
        let text = "Intro.\n\n```python\nfor x in range(3):\n    print(x)\nprint('done')\n```\nEnd.";
        assert_eq!(kept(text, 50), "Intro.\n\n```python\nfor x in range(3):\n    print(x)\n```");
        assert_eq!(plan_at(text, 50).gap, Gap::Line);
        assert_eq!(kept("~~~~\nline one\n```\nline two\n~~~~\n", 22), "~~~~\nline one\n```\n~~~~");
        assert_eq!(kept("> ```\n> one two three four\n", 20), "> ```\n> one two\n> ```");
    }

    #[test]
    fn a_fence_without_content_is_dropped() {
        let text = "Intro text.\n\n```python\nprint(1)\n```\n";
        assert_eq!(kept(text, 23), "Intro text.");
        assert_eq!(kept("```python\nprint(1)\n```\n", 9), "");
    }

    #[test]
    fn a_closed_fence_is_prose_again() {
        let text = "```\ncode\n```\nA sentence here. And another one follows.";
        assert_eq!(kept(text, 35), "```\ncode\n```\nA sentence here.");
        assert_eq!(kept("a ``` in the text is no fence at all", 20), "a ``` in the text is");
    }

    #[test]
    fn a_table_ends_between_rows() {
        let text = "Prices.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n";
        let rows = "Prices.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |";
        for max in rows.len()..rows.len() + 9 {
            assert_eq!(kept(text, max), rows, "{max}");
            assert_eq!(plan_at(text, max).gap, Gap::Paragraph);
        }
        // The head alone is dropped.
        assert_eq!(kept(text, 30), "Prices.");
        let bare = "name | size\n--- | ---\none | 1\ntwo | 2\nthree | 3\n";
        assert_eq!(kept(bare, 35), "name | size\n--- | ---\none | 1");
        // A bar in prose is not a table.
        assert_eq!(kept("use a | b in the shell and then more", 20), "use a | b in the");
    }

    #[test]
    fn spans_are_not_left_open() {
        let text = "See the long guide on [how to do it](https://example.com/guide) now";
        for max in 24..37 {
            assert_eq!(kept(text, max), "See the long guide on", "{max}");
        }
        assert_eq!(kept("Some text that runs `let x = 1;` here", 27), "Some text that runs");
        assert_eq!(kept("Some text that is **very very bold** here", 29), "Some text that is");
        assert_eq!(kept("A picture is here: ![alt text](a.png)", 25), "A picture is here:");
        // Too far back: the span is given up.
        assert_eq!(kept("**bold text that goes on for long", 28), "**bold text that goes on for");
    }
}
