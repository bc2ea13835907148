//! LongCat: `<longcat_tool_call>{…}</longcat_tool_call>`.

use crate::parse::context::ReadContext;
use crate::parse::json_calls::CallShape;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::parse::notation::Notation;
use crate::parse::read::json_body::{self, JsonBlock};

pub(super) const LONGCAT: CallDialect =
    CallDialect { name: "longcat", markers: &[Marker::new("<longcat_tool_call>", read)] };

const BLOCK: JsonBlock = JsonBlock {
    format: "longcat",
    opens: &["<longcat_tool_call>"],
    closes: &["</longcat_tool_call>"],
    ends: &[],
    next: &["<longcat_tool_call>"],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    json_body::reading(cx, opening, &BLOCK)
}
