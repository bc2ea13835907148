//! GigaChat 3: `function call<|role_sep|>` and a JSON object, or `<|function_call|>` before it.

use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::notation::Notation;
use crate::read::json_body::{self, JsonBlock};

pub(super) const GIGACHAT3: CallDialect = CallDialect {
    name: "gigachat3",
    markers: &[
        Marker::new("function call<|role_sep|>", read),
        Marker::new("<|function_call|>", read),
        Marker::new("<|message_sep|>", separator),
    ],
};

const BLOCK: JsonBlock = JsonBlock {
    format: "gigachat3",
    opens: &[],
    closes: &[],
    ends: &[],
    next: &["<|message_sep|>", "<|function_call|>", "function call<|role_sep|>"],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    json_body::reading(cx, opening, &BLOCK)
}

fn separator(_: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move { ReadOutcome::Block(opening.after) })
}
