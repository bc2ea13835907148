//! Phi-4: `functools[{…}]`, and `<|tool_call|>[{…}]<|/tool_call|>`.

use super::granite;
use crate::parse::context::ReadContext;
use crate::parse::json_calls::CallShape;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::parse::notation::Notation;
use crate::parse::read::json_body::{self, JsonBlock};

pub(super) const PHI4: CallDialect = CallDialect {
    name: "phi4",
    markers: &[Marker::new("functools[", read), Marker::new("<|tool_call|>", granite::read)],
};

const BLOCK: JsonBlock = JsonBlock {
    format: "phi4",
    opens: &[],
    closes: &[],
    ends: &[],
    next: &["functools["],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    // The bracket belongs to the list.
    let opening = Opening { after: opening.after - 1, ..opening };
    json_body::reading(cx, opening, &BLOCK)
}
