//! LongCat: `<longcat_tool_call>{…}</longcat_tool_call>`; the newer models write the name and pairs of `<longcat_arg_key>` and
//! `<longcat_arg_value>` inside.

use std::sync::OnceLock;

use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::notation::Notation;
use crate::read::arg_pairs::{self, ArgTags};
use crate::read::common;
use crate::read::json_body::{self, JsonBlock};

pub(super) const LONGCAT: CallDialect = CallDialect {
    name: "longcat",
    markers: &[
        Marker::new("<longcat_tool_call>", read),
        Marker::new("<longcat_tool_call>", pairs),
        Marker::new("</longcat_tool_call>", common::leftover),
    ],
};

const BLOCK: JsonBlock = JsonBlock {
    format: "longcat",
    opens: &["<longcat_tool_call>"],
    closes: &["</longcat_tool_call>"],
    ends: &[],
    next: &["<longcat_tool_call>"],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    json_body::reading(cx, opening, &BLOCK)
}

fn pairs(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    static TAGS: OnceLock<ArgTags> = OnceLock::new();
    let tags = TAGS.get_or_init(|| ArgTags::of("tool_call", "longcat_", ""));
    Box::pin(async move {
        match arg_pairs::call(cx, opening.after, tags, BLOCK.format).await {
            Some(end) => ReadOutcome::Block(end),
            None => ReadOutcome::No,
        }
    })
}
