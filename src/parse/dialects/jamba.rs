//! Jamba: `<tool_calls>[{…}]</tool_calls>`.

use crate::parse::context::ReadContext;
use crate::parse::json_calls::CallShape;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::parse::notation::Notation;
use crate::parse::read::json_body::{self, JsonBlock};

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
