//! Nemotron: `<TOOLCALL>[{…}]</TOOLCALL>`.

use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::notation::Notation;
use crate::read::json_body::{self, JsonBlock};

pub(super) const NEMOTRON: CallDialect =
    CallDialect { name: "nemotron", markers: &[Marker::new("<TOOLCALL>", read)] };

const BLOCK: JsonBlock = JsonBlock {
    format: "nemotron",
    opens: &["<TOOLCALL>"],
    closes: &["</TOOLCALL>"],
    ends: &[],
    next: &["<TOOLCALL>"],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    json_body::reading(cx, opening, &BLOCK)
}
