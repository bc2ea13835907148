//! Hermes, Qwen, and the house format: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.

use crate::parsed::Draft;
use crate::read::common;
use crate::reader::{Opening, ReadContext, ReadOutcome};

/// What ends a block that no dialect can read; the last one only if it started in the middle of a line.
const ENDS: &[&str] = &["</tool_call>", "<tool_call>", "\n\n"];

/// A block that no dialect can read. In the middle of a line the tags may only be mentioned: then they are quoted, or the
/// text between them is spaced like prose, has no words, or spans paragraphs.
pub(super) async fn unreadable(cx: &ReadContext, opening: Opening) -> ReadOutcome {
    let begins_line = cx.begins_line(opening.start);
    if !begins_line && (common::follows_quote(cx, opening) || cx.byte(opening.after).await == Some(b' ')) {
        return ReadOutcome::No;
    }
    let stops = if begins_line { &ENDS[..2] } else { ENDS };
    let Some((to, 0)) = cx.find(opening.after, stops).await else { return ReadOutcome::No };
    let has_words = |text: &str| match begins_line {
        true => !text.trim().is_empty(),
        false => text.contains(char::is_alphanumeric),
    };
    if !cx.with(opening.after, to, has_words) {
        return ReadOutcome::No;
    }
    let end = to + ENDS[0].len();
    cx.emit(vec![Draft::unreadable("", "there is no JSON object")], end, "hermes");
    ReadOutcome::Block(end)
}
