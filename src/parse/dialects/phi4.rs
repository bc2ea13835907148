//! Phi-4: `functools[{…}]`, and `<|tool_call|>[{…}]<|/tool_call|>`.

use super::granite;
use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::notation::Notation;
use crate::read::json_body::{self, JsonBlock};

pub(super) const PHI4: CallDialect = CallDialect {
    name: "phi4",
    markers: &[Marker::new("functools[", read), Marker::new("<|tool_call|>", granite::read)],
};

const BLOCK: JsonBlock = JsonBlock {
    format: "phi4",
    opens: &[],
    closes: &[],
    ends: &[],
    next: &["functools["],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let first = cx.input.byte(cx.input.skip_space(opening.after).await).await;
        // In the middle of a line, it is a word of Python or of a text about the format, unless a call follows.
        if !matches!(first, None | Some(b'{' | b'[')) && !cx.input.begins_line(opening.start) {
            return ReadOutcome::No;
        }
        // The bracket belongs to the list.
        json_body::read(cx, Opening { after: opening.after - 1, ..opening }, &BLOCK).await
    })
}
