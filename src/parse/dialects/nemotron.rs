//! Nemotron: `<TOOLCALL>[{…}]</TOOLCALL>`.

use crate::parse::context::ReadContext;
use crate::parse::json_calls::CallShape;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::parse::notation::Notation;
use crate::parse::read::json_body::{self, JsonBlock};

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
