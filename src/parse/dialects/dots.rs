//! Dots: `<dots_function_call>` around `<invoke name="…">`, or around JSON.

use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::notation::Notation;
use crate::read::invoke::{self, PLAIN, TagStyle};
use crate::read::json_body::{self, JsonBlock};

pub(super) const DOTS: CallDialect =
    CallDialect { name: "dots", markers: &[Marker::new("<dots_function_call>", read)] };

const STYLE: TagStyle = TagStyle {
    format: "dots",
    wraps: &["<dots_function_call>"],
    closes: &["</dots_function_call>"],
    ..PLAIN
};

const BLOCK: JsonBlock = JsonBlock {
    format: "dots",
    opens: &["<dots_function_call>"],
    closes: &["</dots_function_call>"],
    ends: &[],
    next: &["<dots_function_call>"],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        match invoke::read(cx, opening, &STYLE).await {
            ReadOutcome::No => json_body::read(cx, opening, &BLOCK).await,
            read => read,
        }
    })
}
