//! Apertus: `<|tools_prefix|>[{"get_weather": {…}}]<|tools_suffix|>`.

use crate::parse::context::ReadContext;
use crate::parse::json_calls::CallShape;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::parse::notation::Notation;
use crate::parse::read::json_body::{self, JsonBlock};

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
