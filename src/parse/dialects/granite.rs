//! Granite: `<|tool_call|>[{…}]`, and older ones `<tool_call>[{…}]`.

use super::hermes;
use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::notation::Notation;
use crate::read::json_body::{self, JsonBlock};

pub(super) const GRANITE: CallDialect =
    CallDialect { name: "granite", markers: &[Marker::new("<|tool_call|>", read), hermes::MARKER] };

const BLOCK: JsonBlock = JsonBlock {
    format: "granite",
    opens: &[],
    closes: &[],
    ends: &[],
    next: &["<|tool_call|>"],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

/// Granite 20B FC: `<function_call> {…}`, once for each call.
pub(super) const GRANITE_20B_FC: CallDialect =
    CallDialect { name: "granite_20b_fc", markers: &[Marker::new("<function_call>", function_call)] };

const FUNCTION_CALL: JsonBlock =
    JsonBlock { format: "granite_20b_fc", ends: &["</function_call>"], next: &["<function_call>"], ..BLOCK };

fn function_call(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    json_body::reading(cx, opening, &FUNCTION_CALL)
}

pub(super) fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    json_body::reading(cx, opening, &BLOCK)
}
