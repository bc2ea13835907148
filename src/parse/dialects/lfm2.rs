//! LFM2: `<|tool_call_start|>[get_weather(city="Paris")]<|tool_call_end|>`.

use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::notation::Notation;
use crate::read::functions;
use crate::read::json_body::{self, JsonBlock};

pub(super) const LFM2: CallDialect =
    CallDialect { name: "lfm2", markers: &[Marker::new("<|tool_call_start|>", read)] };

const CLOSES: &[&str] = &["<|tool_call_end|>"];
/// The model writes JSON instead on request.
const BLOCK: JsonBlock = JsonBlock {
    format: "lfm2",
    opens: &[],
    closes: CLOSES,
    ends: &[],
    next: &["<|tool_call_start|>"],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        match functions::marked(cx, opening, CLOSES, "lfm2").await {
            ReadOutcome::No => json_body::read(cx, opening, &BLOCK).await,
            read => read,
        }
    })
}
