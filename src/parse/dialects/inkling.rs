//! Inkling: `<|message_model|>name<|content_invoke_tool_json|>{"name": …, "args": {…}}<|end_message|>`.
//!
//! Each message says what it is: a call, text, or reasoning, which is not meant for the user.

use super::form::between;
use crate::python;
use crate::read::common;
use crate::read::json_body::{self, JsonBlock};
use crate::reader::{Opening, ReadContext, ReadOutcome};

const INVOKE: &str = "<|content_invoke_tool_json|>";
/// What a message is.
const KINDS: &[&str] = &[INVOKE, "<|content_text|>", "<|content_thinking|>"];
/// End reasoning, and the first two a message. The model may call without closing its reasoning.
const ENDS: &[&str] = &["<|end_message|>", "<|content_model_end_sampling|>", "<|message_model|>", INVOKE];

const BLOCK: JsonBlock =
    JsonBlock { format: "inkling", next: &["<|message_model|>"], ..between(&[INVOKE], &["<|end_message|>"]) };

pub(super) async fn read(cx: &ReadContext, opening: Opening) -> ReadOutcome {
    if cx.after_space(opening.after, &["{"]).await.is_some() {
        settle(cx, opening.start);
    }
    json_body::read(cx, opening, &BLOCK).await
}

/// The first message that says what it is: what is before it began in the prompt, as reasoning or text, and was not a call.
fn settle(cx: &ReadContext, at: usize) {
    let state = &mut *cx.state();
    if !std::mem::replace(&mut state.has_message, true) && state.held.undecided {
        state.discard_until(at);
    }
}

pub(super) async fn thought(cx: &ReadContext, opening: Opening) -> ReadOutcome {
    if common::is_mentioned(cx, opening).await {
        return ReadOutcome::No;
    }
    cx.state().advance(opening.after);
    ReadOutcome::Block(cx.find_or_end(opening.after, ENDS).await)
}

/// What is said to the user has no calls.
pub(super) async fn said(cx: &ReadContext, opening: Opening) -> ReadOutcome {
    if common::is_mentioned(cx, opening).await {
        return ReadOutcome::No;
    }
    cx.state().advance(opening.after);
    cx.as_text_until(opening.after, &ENDS[..2]).await
}

/// The name of the tool is in the JSON too, so the header is not needed.
pub(super) async fn header(cx: &ReadContext, opening: Opening) -> ReadOutcome {
    let from = cx.skip_space(opening.after).await;
    let to = cx.skip(from, python::names).await;
    if !cx.has(to, KINDS).await {
        return ReadOutcome::Block(opening.after);
    }
    settle(cx, opening.start);
    ReadOutcome::Block(to)
}
