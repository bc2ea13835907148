//! Inkling: `<|message_model|>name<|content_invoke_tool_json|>{"name": …, "args": {…}}<|end_message|>`.
//!
//! Each message says what it is: a call, text, or reasoning, which is not meant for the user.

use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::notation::Notation;
use crate::python;
use crate::read::common;
use crate::read::json_body::{self, JsonBlock};

pub(super) const INKLING: CallDialect = CallDialect {
    name: "inkling",
    markers: &[
        Marker::new(INVOKE, read),
        Marker::new("<|message_model|>", header),
        Marker::new("<|content_thinking|>", thought),
        Marker::new("<|content_text|>", said),
        Marker::new("<|content_model_end_sampling|>", common::orphan),
        Marker::new("<|end_message|>", common::orphan),
    ],
};

const INVOKE: &str = "<|content_invoke_tool_json|>";
/// What a message is.
const KINDS: &[&str] = &[INVOKE, "<|content_text|>", "<|content_thinking|>"];
/// End a message.
const MESSAGE_ENDS: &[&str] = &["<|end_message|>", "<|content_model_end_sampling|>"];
/// End reasoning. The model may call without closing it.
const ENDS: &[&str] = &["<|end_message|>", "<|content_model_end_sampling|>", "<|message_model|>", INVOKE];

const BLOCK: JsonBlock = JsonBlock {
    format: "inkling",
    opens: &[],
    closes: &["<|end_message|>"],
    ends: &[],
    next: &["<|message_model|>", INVOKE],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let at = cx.input.skip_space(opening.after).await;
        if cx.input.byte(at).await == Some(b'{') {
            settle(cx, opening.start);
        }
        match json_body::quick(cx, opening, &BLOCK) {
            Some(read) => ReadOutcome::Block(read.to),
            None => json_body::read(cx, opening, &BLOCK).await,
        }
    })
}

/// The first message that says what it is: what is before it began in the prompt, as reasoning or text, and was no call.
fn settle(cx: &ReadContext, at: usize) {
    if cx.begin_message() && cx.input.is_undecided() {
        cx.forget(at);
    }
}

fn thought(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        if common::is_mentioned(cx, opening).await {
            return ReadOutcome::No;
        }
        cx.input.drop_to(opening.after);
        match cx.input.find(opening.after, ENDS).await {
            Some((end, _)) => ReadOutcome::Block(end),
            None => ReadOutcome::Block(cx.input.end_so_far()),
        }
    })
}

/// What is said to the user has no calls.
fn said(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        if common::is_mentioned(cx, opening).await {
            return ReadOutcome::No;
        }
        cx.input.drop_to(opening.after);
        match cx.input.text_until(opening.after, MESSAGE_ENDS).await {
            Some((end, _)) => ReadOutcome::Text(end),
            None => ReadOutcome::Text(cx.input.end_so_far()),
        }
    })
}

/// The name of the tool is in the JSON too, so the header is not needed.
fn header(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let from = cx.input.skip_space(opening.after).await;
        let to = cx.input.skip(from, python::names).await;
        match cx.input.literal(to, KINDS).await {
            Some(_) => {
                settle(cx, opening.start);
                ReadOutcome::Block(to)
            }
            None => ReadOutcome::Block(opening.after),
        }
    })
}
