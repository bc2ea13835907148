//! Hermes, Qwen, and the house format: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.

use crate::context::ReadContext;
use crate::draft::Draft;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, QuickRead, ReadFuture, ReadOutcome};
use crate::notation::Notation;
use crate::python;
use crate::read::arguments::{self, CallStops, NamedCall};
use crate::read::json_body::{self, JsonBlock};
use crate::repair::SyntaxRepair;

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

fn quick(cx: &ReadContext, opening: Opening) -> Option<QuickRead> {
    json_body::quick(cx, opening, &BLOCK)
}

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        match by_equals_sign(cx, opening.after).await {
            Some(end) => ReadOutcome::Block(end),
            None => json_body::read(cx, opening, &BLOCK).await,
        }
    })
}

/// Reads `{"name="read", "arguments": {…}}`, with an equals sign in place of a quote and a colon, and returns its end.
async fn by_equals_sign(cx: &ReadContext, after: usize) -> Option<usize> {
    let brace = cx.input.skip_space(after).await;
    cx.input.literal(brace, &["{"]).await?;
    let key = cx.input.skip_space(brace + 1).await;
    cx.input.literal(key, &[NAME_EQUALS]).await?;
    let from = key + NAME_EQUALS.len();
    let to = cx.input.skip(from, |byte| python::names(byte) || matches!(byte, b'/' | b':')).await;
    cx.input.literal(to, &["\""]).await.filter(|_| to > from)?;
    let comma = cx.input.skip_space(to + 1).await;
    cx.input.literal(comma, &[","]).await?;
    let key = cx.input.skip_space(comma + 1).await;
    let index = cx.input.literal(key, ARGUMENTS).await?;
    let colon = cx.input.skip_space(key + ARGUMENTS[index].len()).await;
    cx.input.literal(colon, &[":"]).await?;
    let name = cx.input.slice(from, to);
    let stops = CallStops { ends: BLOCK.closes, next: BLOCK.next };
    let mut end = arguments::read(cx, colon + 1, NamedCall::new(&name, BLOCK.format), stops).await;
    for part in ["}", BLOCK.closes[0]] {
        let next = cx.input.skip_space(end).await;
        if cx.input.literal(next, &[part]).await.is_some() {
            end = next + part.len();
        }
    }
    cx.input.extend(end, Some(SyntaxRepair::TornKey));
    Some(end)
}

const NAME_EQUALS: &str = "\"name=\"";
const ARGUMENTS: &[&str] = &["\"arguments\"", "\"parameters\"", "\"args\""];

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
