//! JSON without a marker of its own: bare, in a fence, after a word of Python; JSON that is not a call; and what should be JSON.

use serde_json::{Map, Value};

use super::form::between;
use super::table::JSON_BARE;
use crate::buffer::MAX_RESCANS;
use crate::input::{Found, Opening, ReadContext};
use crate::lenient::{self, MissingClosers, Notation, SyntaxRepair};
use crate::parsed::Draft;
use crate::read::arguments::skip_fence;
use crate::read::bare_json;
use crate::read::common;
use crate::read::json_body::{self, JsonBlock};

/// `{"name": …, "arguments": {…}}`, a list of them, `{"tool_calls": […]}`, or a text that is a whole message of a chat API.
pub(super) async fn bare(cx: &ReadContext, opening: Opening) -> Option<Found> {
    match bare_json::message(cx, opening.start).await {
        None => bare_json::value(cx, opening.start, None, JSON_BARE).await,
        read => read,
    }
}

/// Sarashina without its mark. Among all formats, the reader of bare JSON has it.
pub(super) async fn bare_list(cx: &ReadContext, opening: Opening) -> Option<Found> {
    cx.asked?;
    bare_json::value(cx, opening.start, Some("<|tool_calls|>"), "sarashina").await
}

/// JSON in a code fence. In a fence of a programming language it is code.
pub(super) async fn fenced(cx: &ReadContext, opening: Opening) -> Option<Found> {
    const FORMAT: &str = "json_fence";
    let (at, fence) = skip_fence(cx, opening.start).await;
    if !cx.with(opening.after, at, common::holds_data) {
        return None;
    }
    let mut end = match bare_json::value(cx, at, fence, FORMAT).await {
        Some(Found::Block(end)) => end,
        Some(Found::Text(end)) => {
            if let Some((line, end)) = common::fence_line(cx, opening).await {
                cx.state().pass_fence(line, end);
            }
            return Some(Found::Text(end));
        }
        other => return other,
    };
    // One call per line is a list, too.
    let mut close = cx.skip_space(end).await;
    while cx.byte(close).await == Some(b'{')
        && let Some(Found::Block(next)) = bare_json::value(cx, close, fence, FORMAT).await
    {
        end = next;
        close = cx.skip_space(end).await;
    }
    let surplus = cx.skip(close, |byte| matches!(byte, b'}' | b']')).await;
    let mark = cx.skip_space(surplus).await;
    if !bare_json::ends_fence(cx, mark, fence).await {
        return Some(Found::Block(end));
    }
    let after = mark + fence.map_or(0, str::len);
    cx.state().extend(after, (surplus > close).then_some(SyntaxRepair::SurplusBrackets));
    Some(Found::Block(after))
}

/// Phi-4: `functools[{…}]`.
pub(super) async fn functools(cx: &ReadContext, opening: Opening) -> Option<Found> {
    const BLOCK: JsonBlock = JsonBlock { format: "phi4", ..between(&["functools["], &[]) };
    let first = cx.byte(cx.skip_space(opening.after).await).await;
    // In the middle of a line, it is a word of Python or of a text about the format, unless a call follows.
    if !matches!(first, None | Some(b'{' | b'[')) && !cx.begins_line(opening.start) {
        return None;
    }
    // The bracket belongs to the list.
    json_body::read(cx, Opening { after: opening.after - 1, ..opening }, &BLOCK).await
}

/// The name of documents as calls: a recipient of a message has no space.
pub(crate) const DOCUMENT: &str = "a document";

/// JSON that is not a call: a plan, or the arguments that a model was asked for. It is read by the same machine as calls, so
/// nothing that was only thought of is read. Each value becomes a draft with a name that no tool of a text can have.
pub(super) async fn document(cx: &ReadContext, opening: Opening) -> Option<Found> {
    // Only the end of the text shows which closing brackets are missing.
    cx.wait(|view| view.ended.then_some(())).await;
    if cx.state().rescans >= MAX_RESCANS {
        return None;
    }
    let read = |text: &str| lenient::read(text, Notation::Json, MissingClosers::ALL);
    let Ok(reading) = cx.with(opening.start, cx.end_so_far(), read) else {
        cx.take_rescan();
        return None;
    };
    let mut fields = Map::from_iter([("value".to_owned(), reading.value)]);
    fields.extend(reading.cut.map(|cut| ("cut".to_owned(), Value::String(cut.why.into_owned()))));
    let end = opening.start + reading.end;
    let draft = Draft::new(DOCUMENT, Ok(Value::Object(fields)), reading.repairs);
    Some(Found::Block(cx.emit(vec![draft], end, DOCUMENT)))
}

/// What ends a block that no dialect can read; the last one only if it started in the middle of a line.
const UNREADABLE_ENDS: &[&str] = &["</tool_call>", "<tool_call>", "\n\n"];

/// A block that no dialect can read. In the middle of a line the tags may only be mentioned: then they are quoted, or the
/// text between them is spaced like prose, has no words, or spans paragraphs.
pub(super) async fn unreadable(cx: &ReadContext, opening: Opening) -> Option<Found> {
    let begins_line = cx.begins_line(opening.start);
    if !begins_line && (common::follows_quote(cx, opening) || cx.byte(opening.after).await == Some(b' ')) {
        return None;
    }
    let stops = if begins_line { &UNREADABLE_ENDS[..2] } else { UNREADABLE_ENDS };
    let Some((to, 0)) = cx.find(opening.after, stops).await else { return None };
    let has_words = |text: &str| match begins_line {
        true => !text.trim().is_empty(),
        false => text.contains(char::is_alphanumeric),
    };
    if !cx.with(opening.after, to, has_words) {
        return None;
    }
    let end = to + UNREADABLE_ENDS[0].len();
    let draft = Draft::unreadable("", "there is no JSON object");
    Some(Found::Block(cx.emit(vec![draft], end, "hermes")))
}
