//! Cohere Command: `<|START_ACTION|>[{"tool_name": …, "parameters": {…}}]<|END_ACTION|>`.

use crate::parse::context::ReadContext;
use crate::parse::json_calls::CallShape;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::parse::notation::Notation;
use crate::parse::read::json_body::{self, JsonBlock};

pub(super) const COHERE: CallDialect =
    CallDialect { name: "cohere", markers: &[Marker::new("<|START_ACTION|>", read)] };

const BLOCK: JsonBlock = JsonBlock {
    format: "cohere",
    opens: &[],
    closes: &["<|END_ACTION|>"],
    ends: &[],
    next: &["<|START_ACTION|>"],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    json_body::reading(cx, opening, &BLOCK)
}
