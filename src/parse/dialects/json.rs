//! JSON without a marker of its own: bare, in a fence, after a word of Python; JSON that is not a call; and what should be JSON.
//! It is a call only if it has the shape of one, otherwise data; or a message of a chat API.

use serde_json::{Map, Value};
use toolhub_text::repeats_key;

use super::between;
use super::table::JSON_BARE;
use crate::api_message::{ApiMessage, MessageKind, kind_of};
use crate::buffer::MAX_RESCANS;
use crate::certainty::Certainty;
use crate::extent::ValueExtent;
use crate::input::{Found, Opening, ReadContext};
use crate::json_calls::{self, CallShape};
use crate::keys::{ARGUMENT_KEYS, FIRST_KEYS, NAME_KEYS, RESULT_KEYS};
use crate::lenient::{self, MissingClosers, Notation, Repairs, SyntaxRepair};
use crate::parsed::{Draft, ParsedText};
use crate::read::arguments::{FENCES, skip_fence};
use crate::read::common;
use crate::read::json_body::{self, JsonBlock};
use crate::schemas::ToolSchemas;
use crate::stream::parse;

/// `{"name": …, "arguments": {…}}`, a list of them, `{"tool_calls": […]}`, or a text that is a whole message of a chat API.
pub(super) async fn bare(cx: &ReadContext, opening: Opening) -> Option<Found> {
    match message(cx, opening.start).await {
        None => value(cx, opening.start, None).await,
        Some(read) => read,
    }
}

/// Sarashina without its mark. Among all formats, the reader of bare JSON has it.
pub(super) async fn bare_list(cx: &ReadContext, opening: Opening) -> Option<Found> {
    cx.asked?;
    value(cx, opening.start, Some("<|tool_calls|>")).await
}

/// JSON in a code fence. In a fence of a programming language it is code.
pub(super) async fn fenced(cx: &ReadContext, opening: Opening) -> Option<Found> {
    let (at, fence) = skip_fence(cx, opening.start).await;
    if !cx.with(opening.after, at, common::holds_data) {
        return None;
    }
    let mut end = match value(cx, at, fence).await {
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
        && let Some(Found::Block(next)) = value(cx, close, fence).await
    {
        end = next;
        close = cx.skip_space(end).await;
    }
    let surplus = cx.skip(close, |byte| matches!(byte, b'}' | b']')).await;
    let mark = cx.skip_space(surplus).await;
    if !ends_fence(cx, mark, fence).await {
        return Some(Found::Block(end));
    }
    let after = mark + fence.map_or(0, str::len);
    cx.state().extend(after, (surplus > close).then_some(SyntaxRepair::SurplusBrackets));
    Some(Found::Block(after))
}

/// Phi-4: `functools[{…}]`.
pub(super) async fn functools(cx: &ReadContext, opening: Opening) -> Option<Found> {
    const BLOCK: JsonBlock = between(&["functools["], &[]);
    let first = cx.byte(cx.skip_space(opening.after).await).await;
    // In the middle of a line, it is a word of Python or of a text about the format, unless a call follows.
    if !matches!(first, None | Some(b'{' | b'[')) && !cx.state().begins_line(opening.start) {
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
    Some(Found::Block(cx.emit(vec![draft], end)))
}

/// What ends a block that no dialect can read; the last one only if it started in the middle of a line.
const UNREADABLE_ENDS: &[&str] = &["</tool_call>", "<tool_call>", "\n\n"];

/// A block that no dialect can read. In the middle of a line the tags may only be mentioned: then they are quoted, or the
/// text between them is spaced like prose, has no words, or spans paragraphs.
pub(super) async fn unreadable(cx: &ReadContext, opening: Opening) -> Option<Found> {
    let begins_line = cx.state().begins_line(opening.start);
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
    Some(Found::Block(cx.emit(vec![draft], end)))
}

/// Reads the value at the bracket, which ends before `stop`: the mark of its fence, or what begins the next call. Its first key
/// decides early, so other data is not held back: JSON that is not a call is text.
pub(super) async fn value(cx: &ReadContext, at: usize, stop: Option<&str>) -> Option<Found> {
    if begins_with(cx, at, RESULT_KEYS).await {
        return Some(Found::Text(match cx.extent(at, Notation::Json, stop.as_slice()).await {
            ValueExtent::Closed(end) | ValueExtent::Stopped(end) => end,
            ValueExtent::Cut { .. } => cx.end_so_far(),
        }));
    }
    if !begins_with(cx, at, &FIRST_KEYS).await {
        return None;
    }
    let extent = cx.extent(at, Notation::Json, stop.as_slice()).await;
    let (mut end, missing) = match extent {
        ValueExtent::Closed(end) => (end, MissingClosers::NONE),
        ValueExtent::Stopped(end) if ends_fence(cx, end, stop).await => (end, MissingClosers::ALL),
        ValueExtent::Stopped(end) => (end, MissingClosers::OUTERMOST),
        // Only the outermost bracket may be missing: everything inside is complete.
        ValueExtent::Cut { .. } => (cx.end_so_far(), MissingClosers::OUTERMOST),
    };
    let bare = CallShape::Bare;
    let drafts = cx.with(at, end, |text| {
        json_calls::read(text, Notation::Json, missing, bare, Repairs::default(), &*cx.tools).ok()?
    });
    let drafts = match drafts {
        None if stop.is_some() => {
            // Without an end of its own, it ends with its fence: the calls after it are not lost with it.
            let to = match extent {
                ValueExtent::Cut { .. } => cx.find_or_end(at, stop.as_slice()).await,
                _ => end,
            };
            // Between fences, a call of a known tool that cannot be read is not taken for data.
            let broken = cx.with(at, to, |text| broken_call(text, missing, &*cx.tools));
            end = if broken.is_some() { to } else { end };
            broken
        }
        drafts => drafts,
    };
    match drafts {
        Some(drafts) => Some(Found::Block(cx.emit(drafts, end))),
        // The inside may be rescanned, a limited number of times.
        None if missing > MissingClosers::NONE && cx.take_rescan() => None,
        None => Some(Found::Text(end)),
    }
}

/// True if the mark at `at` ends a fence. With a word after it, it opens the next one.
async fn ends_fence(cx: &ReadContext, at: usize, fence: Option<&str>) -> bool {
    let Some(fence) = fence.filter(|fence| FENCES.contains(fence)) else { return false };
    cx.has(at, &[fence]).await
        && !cx.byte(at + fence.len()).await.is_some_and(|byte| byte.is_ascii_alphanumeric())
}

/// The entry for a text that clearly is a call, because it names a known tool and has arguments, but is not JSON or has
/// arguments of another type.
fn broken_call(text: &str, missing: MissingClosers, tools: &dyn ToolSchemas) -> Option<Vec<Draft>> {
    let why = match lenient::read(text, Notation::Json, missing) {
        Ok(reading) if reading.dangling > 0 => "the text ends before its arguments do".into(),
        Ok(reading) => {
            let drafts = json_calls::calls(reading.value, reading.repairs, CallShape::Marked, tools)?;
            let are_known = drafts.iter().all(|draft| tools.parameters(&draft.name).is_some());
            let is_wrong = drafts.iter().any(|draft| draft.error.is_some());
            return (are_known && is_wrong).then_some(drafts);
        }
        Err(why) => why,
    };
    ARGUMENT_KEYS.iter().find_map(|key| value_of(text, key))?;
    let name = NAME_KEYS.iter().find_map(|key| {
        let value = value_of(text, key)?;
        let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''))?;
        value[1..].split_once(quote).map(|(name, _)| name.trim())
    })?;
    tools.parameters(name)?;
    Some(vec![Draft::unreadable(name, why)])
}

/// What follows the first occurrence of a quoted key and its colon.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let after = |quote: char| text.split_once(&format!("{quote}{key}{quote}")).map(|(_, after)| after);
    let after = after('"').or_else(|| after('\''))?;
    after.trim_start().strip_prefix(':').map(str::trim_start)
}

/// True if the first key of the object at the bracket, or of the first one in a list, is one of these.
async fn begins_with(cx: &ReadContext, at: usize, keys: &[&str]) -> bool {
    let mut at = at;
    if cx.byte(at).await == Some(b'[') {
        at = cx.skip_space(at + 1).await;
    }
    if cx.byte(at).await != Some(b'{') {
        return false;
    }
    let at = cx.skip_space(at + 1).await;
    let Some(quote @ (b'"' | b'\'')) = cx.byte(at).await else { return false };
    match cx.literal(at + 1, keys).await {
        Some(key) => cx.byte(at + 1 + keys[key].len()).await == Some(quote),
        None => false,
    }
}

// A text that is a message of a chat API, written as JSON: the whole of it, not a part. Its calls are those that the message would
// have as an object, in its fields or in its words.

/// Keys that come first in a message, a response or a block. A key comes before its own prefixes.
const MESSAGE_KEYS: &[&str] = &[
    "role",
    "content",
    "choices",
    "candidates",
    "message",
    "output",
    "parts",
    "id",
    "type",
    "object",
    "model",
    "created_at",
    "created",
];

/// Reads the value at the bracket if the text begins there; `None` if it is not a message. Its calls are made only if nothing
/// follows it.
async fn message(cx: &ReadContext, at: usize) -> Option<Option<Found>> {
    if !cx.is_first(at) || !begins_with(cx, at, MESSAGE_KEYS).await {
        return None;
    }
    let ValueExtent::Closed(end) = cx.extent(at, Notation::Json, &[]).await else { return None };
    let value = cx.with(at, end, |text| serde_json::from_str::<Value>(text).ok())?;
    if kind_of(&value) == MessageKind::Other {
        return None;
    }
    let after = cx.skip_space(end).await;
    if cx.byte(after).await.is_some() {
        return None;
    }
    let said = ApiMessage::new(&value, &*cx.tools);
    // Which of two values was meant, nobody knows.
    if said.is_of_others || cx.with(at, end, repeats_key) {
        return Some(Some(Found::Text(after)));
    }
    let Some(format) = said.format else {
        let is_message = words(cx, &said, after) || is_certain(&value);
        return Some(is_message.then_some(Found::Text(after)));
    };
    cx.state().emit_text(&said.text);
    cx.state().form.format = format;
    Some(Some(Found::Block(cx.emit(said.drafts, after))))
}

/// Reads the words of a message that is all of the text, up to `to`. True if they have calls, which are then those of the text.
fn words(cx: &ReadContext, said: &ApiMessage<'_>, to: usize) -> bool {
    let ParsedText { mut calls, text, format } = parse(&said.text, &cx.options);
    if calls.is_empty() {
        return false;
    }
    let is_sure = !said.is_broken_off && calls.iter().all(|call| call.certainty == Some(Certainty::Sure));
    // An id that was made is made again, beside those of the calls before it.
    calls.iter_mut().filter(|call| !call.id_from_model).for_each(|call| call.id.clear());
    let state = &mut *cx.state();
    state.emit_text(&text);
    state.forms.pass(&text, state.calls.len());
    state.form.format = format.unwrap_or(JSON_BARE);
    state.emit(calls, to);
    if !is_sure {
        state.forms.doubt(state.calls.len());
    }
    true
}

/// True for a value that is certainly a message, a response or a list of blocks, because it, or each of its parts, says what
/// it is. Another object with such keys may be one that a model made up around a call.
fn is_certain(value: &Value) -> bool {
    let says =
        |value: &Value| ["role", "type"].iter().any(|key| value.get(*key).is_some_and(Value::is_string));
    let all_say = |value: &Value| value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(says));
    let has_parts = |key: &&str| value.get(*key).is_some_and(all_say);
    let has_alternatives = |key: &&str| value.get(*key).is_some_and(Value::is_array);
    value.get("role").is_some_and(Value::is_string)
        || all_say(value)
        || ["output", "content"].iter().any(has_parts)
        || ["parts", "choices", "candidates"].iter().any(has_alternatives)
}
