//! Hermes, Qwen, and the house format: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.

use crate::parse::context::ReadContext;
use crate::parse::draft::Draft;
use crate::parse::json_calls::CallShape;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::parse::notation::Notation;
use crate::parse::read::json_body::{self, JsonBlock};

pub(super) const HERMES: CallDialect = CallDialect { name: "hermes", markers: &[MARKER] };

/// Other families write this format too.
pub(super) const MARKER: Marker = Marker::new("<tool_call>", read).quickly(quick);

const BLOCK: JsonBlock = JsonBlock {
    format: "hermes",
    opens: &["<tool_call>"],
    closes: &["</tool_call>"],
    ends: &[],
    next: &["<tool_call>"],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

/// Ends a block that no dialect can read.
const AT_LINE: &[&str] = &["</tool_call>", "<tool_call>"];
/// The same for one that started in the middle of a line.
const IN_LINE: &[&str] = &["</tool_call>", "<tool_call>", "\n\n"];

fn quick(cx: &ReadContext, opening: Opening) -> Option<usize> {
    json_body::quick(cx, opening, &BLOCK)
}

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(json_body::read(cx, opening, &BLOCK))
}

/// A block that no dialect can read. In the middle of a line the tags may only be mentioned: then they are quoted, or the
/// text between them is spaced like prose, has no words, or spans paragraphs.
pub(super) fn unreadable(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let begins_line = cx.input.begins_line(opening.start);
        if !begins_line && (is_quoted(cx, opening) || cx.input.byte(opening.after).await == Some(b' ')) {
            return ReadOutcome::No;
        }
        let stops = if begins_line { AT_LINE } else { IN_LINE };
        let Some((to, 0)) = cx.input.find(opening.after, stops).await else { return ReadOutcome::No };
        if !cx.input.with(opening.after, to, |text| match begins_line {
            true => !text.trim().is_empty(),
            false => text.contains(char::is_alphanumeric),
        }) {
            return ReadOutcome::No;
        }
        let end = to + BLOCK.closes[0].len();
        cx.emit(
            vec![Draft::failed("", "The call cannot be read: there is no JSON object.")],
            end,
            BLOCK.format,
        );
        ReadOutcome::Block(end)
    })
}

/// A tag in quotes or parentheses is only mentioned.
pub(super) fn is_quoted(cx: &ReadContext, opening: Opening) -> bool {
    cx.input.byte_before(opening.start).is_some_and(|byte| b"`\"'(".contains(&byte))
}
