//! Granite: `<|tool_call|>[{…}]`, and older ones `<tool_call>[{…}]`.

use super::hermes;
use crate::parse::context::ReadContext;
use crate::parse::json_calls::CallShape;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::parse::read::json_body::{self, JsonBlock};

pub(super) const GRANITE: CallDialect = CallDialect {
    name: "granite",
    markers: &[Marker::new("<|tool_call|>", read), Marker::new("<tool_call>", hermes::read)],
};

const BLOCK: JsonBlock = JsonBlock {
    format: "granite",
    opens: &[],
    closes: &[],
    stops: &["<|tool_call|>"],
    shape: CallShape::Marked,
};

pub(super) fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    json_body::reading(cx, opening, &BLOCK)
}
