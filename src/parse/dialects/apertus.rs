//! Apertus: `<|tools_prefix|>[{"get_weather": {…}}]<|tools_suffix|>`.

use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::notation::Notation;
use crate::read::json_body::{self, JsonBlock};

pub(super) const APERTUS: CallDialect =
    CallDialect { name: "apertus", markers: &[Marker::new("<|tools_prefix|>", read)] };

const BLOCK: JsonBlock = JsonBlock {
    format: "apertus",
    opens: &[],
    closes: &["<|tools_suffix|>"],
    ends: &[],
    next: &["<|tools_prefix|>"],
    shape: CallShape::Keyed,
    notation: Notation::Json,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    json_body::reading(cx, opening, &BLOCK)
}
