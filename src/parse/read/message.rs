//! A text that is a message of a chat API, written as JSON: the whole of it, not a part. Its calls are those that the message
//! would have as an object, in its fields or in its words.

use serde_json::Value;

use super::bare_json;
use crate::api_message::{ApiMessage, MessageKind, kind_of};
use crate::extent::ValueExtent;
use crate::lenient::Notation;
use crate::reader::{Found, MessageText, ReadContext};
use toolhub_text::repeats_key;

/// Keys that come first in a message, a response or a block. A key comes before its own prefixes.
const FIRST_KEYS: &[&str] = &[
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

/// Reads the value at the bracket if the text begins there. Its calls are made only if nothing follows it.
pub async fn read(cx: &ReadContext, at: usize) -> Option<Found> {
    if !cx.is_first(at) || !bare_json::begins_with(cx, at, FIRST_KEYS).await {
        return None;
    }
    let ValueExtent::Closed(end) = cx.extent(at, Notation::Json, &[]).await else { return None };
    let value = cx.with(at, end, |text| serde_json::from_str::<Value>(text).ok())?;
    let kind = kind_of(&value);
    if kind == MessageKind::Other {
        return None;
    }
    let after = cx.skip_space(end).await;
    if cx.byte(after).await.is_some() {
        return None;
    }
    // Which of two values was meant, nobody knows.
    if cx.with(at, end, repeats_key) {
        return Some(Found::Text(after));
    }
    let ApiMessage { drafts, text, format, is_of_others, is_broken_off, .. } =
        ApiMessage::new(&value, &*cx.tools);
    if is_of_others {
        return Some(Found::Text(after));
    }
    let Some(format) = format else {
        let is_certain = is_certain(&value);
        return Some(Found::Message(MessageText { text, to: after, is_certain, is_broken_off }));
    };
    cx.state().emit_text(&text);
    Some(Found::Block(cx.emit(drafts, after, format)))
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
