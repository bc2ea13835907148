//! Sarashina: `<|tool_calls|>[{'name': …, 'arguments': {…}}]`, written as Python. The mark is a special token, which a server may
//! have removed: what is left is a bare list.

use super::json_bare;
use crate::parse::context::ReadContext;
use crate::parse::json_calls::CallShape;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::parse::notation::Notation;
use crate::parse::read::json_body::{self, JsonBlock};

pub(super) const SARASHINA: CallDialect =
    CallDialect { name: "sarashina", markers: &[Marker::new(CALLS, read), json_bare::LIST] };

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

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    json_body::reading(cx, opening, &BLOCK)
}
