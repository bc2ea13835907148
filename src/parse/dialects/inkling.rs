//! Inkling: `<|message_model|>name<|content_invoke_tool_json|>{"name": …, "args": {…}}<|end_message|>`.

use crate::parse::context::ReadContext;
use crate::parse::json_calls::CallShape;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::parse::notation::Notation;
use crate::parse::python;
use crate::parse::read::common;
use crate::parse::read::json_body::{self, JsonBlock};

pub(super) const INKLING: CallDialect = CallDialect {
    name: "inkling",
    markers: &[
        Marker::new(INVOKE, read),
        Marker::new("<|message_model|>", header),
        Marker::new("<|end_message|>", common::leftover),
    ],
};

const INVOKE: &str = "<|content_invoke_tool_json|>";

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
    json_body::reading(cx, opening, &BLOCK)
}

/// The name is in the JSON too, so a header before a call is not needed.
fn header(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let from = cx.input.skip_space(opening.after).await;
        let to = cx.input.skip(from, python::names).await;
        match cx.input.literal(to, &[INVOKE]).await {
            Some(_) => ReadOutcome::Block(to),
            None => ReadOutcome::Block(opening.after),
        }
    })
}
