//! A text that is a message of a chat API, written as JSON: the whole of it, not a part.

use serde_json::Value;

use super::bare_json;
use crate::parse::api_message::{ApiMessage, MessageKind, kind_of};
use crate::parse::context::ReadContext;
use crate::parse::extent::ValueExtent;
use crate::parse::marker::ReadOutcome;
use crate::parse::notation::Notation;

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
pub async fn read(cx: &ReadContext, at: usize) -> ReadOutcome {
    if !cx.input.is_first(at) || !bare_json::begins_with(cx, at, FIRST_KEYS).await {
        return ReadOutcome::No;
    }
    let ValueExtent::Closed(end) = cx.extent(at, Notation::Json, &[]).await else { return ReadOutcome::No };
    let value = cx.input.with(at, end, |text| serde_json::from_str::<Value>(text));
    let Ok(value) = value else { return ReadOutcome::No };
    let kind = kind_of(&value);
    let found = ApiMessage::new(&value, &*cx.tools);
    let Some(format) = found.format.filter(|_| kind != MessageKind::Other) else { return ReadOutcome::No };
    let after = cx.input.skip_space(end).await;
    if cx.input.byte(after).await.is_some() {
        return ReadOutcome::No;
    }
    if kind == MessageKind::Conversation {
        return ReadOutcome::Text(after);
    }
    cx.input.say(&found.text);
    cx.emit(found.drafts, after, format);
    ReadOutcome::Block(after)
}
