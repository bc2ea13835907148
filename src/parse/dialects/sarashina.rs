//! Sarashina: `<|tool_calls|>[{'name': …, 'arguments': {…}}]`, written as Python. The mark is a special token, which a server may
//! have removed: what is left is a bare list.

use super::json_bare;
use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::notation::Notation;
use crate::read::bare_json;
use crate::read::json_body::{self, JsonBlock};

pub(super) const SARASHINA: CallDialect =
    CallDialect { name: "sarashina", markers: &[Marker::new(CALLS, read), LIST] };

const LIST: Marker = Marker { read: bare, ..json_bare::LIST };

const CALLS: &str = "<|tool_calls|>";

const BLOCK: JsonBlock = JsonBlock {
    format: "sarashina",
    opens: &[],
    closes: &[],
    ends: &[],
    next: &[CALLS],
    shape: CallShape::Marked,
    notation: Notation::Python,
};

fn bare(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        // Among all formats, the reader of bare JSON has it.
        match cx.asked {
            Some(_) => bare_json::read(cx, opening, Some(CALLS), "sarashina").await,
            None => ReadOutcome::No,
        }
    })
}

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    json_body::reading(cx, opening, &BLOCK)
}
