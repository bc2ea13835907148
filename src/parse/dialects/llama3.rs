//! Llama 3: `<|python_tag|>{"name": …, "parameters": {…}}; {…}`, `<|python_tag|>[name(…)]`, without the tag, or `<function=name>{…}</function>`.

use super::{json_bare, qwen3_coder};
use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::notation::Notation;
use crate::read::functions;
use crate::read::json_body::{self, JsonBlock};

pub(super) const LLAMA3_JSON: CallDialect = CallDialect {
    name: "llama3_json",
    markers: &[
        Marker::new("<|python_tag|>", read),
        Marker::new("<function=", qwen3_coder::read),
        json_bare::OBJECT,
        json_bare::LIST,
    ],
};

const BLOCK: JsonBlock = JsonBlock {
    format: "llama3_json",
    opens: &[],
    closes: &[],
    ends: &["<|eom_id|>", "<|eot_id|>"],
    next: &["<|python_tag|>"],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        // In Python: `brave_search.call(query="…")` for a tool that is built in, or a list, as from Llama 3.2.
        match functions::marked(cx, opening, &[], BLOCK.format).await {
            ReadOutcome::No => json_body::read(cx, opening, &BLOCK).await,
            read => read,
        }
    })
}
