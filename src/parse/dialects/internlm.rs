//! InternLM: `<|action_start|><|plugin|>{…}<|action_end|>`.

use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::notation::Notation;
use crate::read::json_body::{self, JsonBlock};

pub(super) const INTERNLM: CallDialect =
    CallDialect { name: "internlm", markers: &[Marker::new("<|action_start|>", read)] };

const BLOCK: JsonBlock = JsonBlock {
    format: "internlm",
    opens: &["<|plugin|>"],
    closes: &["<|action_end|>"],
    ends: &[],
    next: &["<|action_start|>"],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    json_body::reading(cx, opening, &BLOCK)
}
