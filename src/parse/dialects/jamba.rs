//! Jamba: `<tool_calls>[{…}]</tool_calls>`.

use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::notation::Notation;
use crate::read::json_body::{self, JsonBlock};

pub(super) const JAMBA: CallDialect =
    CallDialect { name: "jamba", markers: &[Marker::new("<tool_calls>", read)] };

const BLOCK: JsonBlock = JsonBlock {
    format: "jamba",
    opens: &["<tool_calls>"],
    closes: &["</tool_calls>"],
    ends: &[],
    next: &["<tool_calls>"],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    json_body::reading(cx, opening, &BLOCK)
}
