//! Cohere Command: `<|START_ACTION|>[{"tool_name": …, "parameters": {…}}]<|END_ACTION|>`.

use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::notation::Notation;
use crate::read::json_body::{self, JsonBlock};

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
