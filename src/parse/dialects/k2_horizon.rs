//! K2 Horizon: `<ifm|tool_calls><ifm|tool_call>name<ifm|arg_key>k</ifm|arg_key><ifm|arg_value>v</ifm|arg_value></ifm|tool_call></ifm|tool_calls>`.
//!
//! The prompt chooses one of three forms: pairs, pairs with the type of each value (`<ifm|arg_type>`), or a JSON object between the tags.

use std::sync::OnceLock;

use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::notation::Notation;
use crate::read::arg_pairs::{self, ArgTags};
use crate::read::common;
use crate::read::json_body::{self, JsonBlock};

pub(super) const K2_HORIZON: CallDialect = CallDialect {
    name: FORMAT,
    markers: &[
        Marker::new("<ifm|tool_calls>", wrap),
        Marker::new(OPEN, call),
        Marker::new("</ifm|tool_calls>", common::leftover),
        Marker::new("</ifm|tool_call>", common::leftover),
    ],
};

const FORMAT: &str = "k2_horizon";
const OPEN: &str = "<ifm|tool_call>";

const BLOCK: JsonBlock = JsonBlock {
    format: FORMAT,
    opens: &[OPEN],
    closes: &["</ifm|tool_call>"],
    ends: &["</ifm|tool_calls>"],
    next: &[OPEN],
    shape: CallShape::Marked,
    notation: Notation::Json,
};

/// The tag around the calls.
fn wrap(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let start = cx.input.skip_space(opening.after).await;
        match cx.input.literal(start, &[OPEN]).await {
            Some(_) => read(cx, Opening { after: start + OPEN.len(), ..opening }).await,
            None => ReadOutcome::No,
        }
    })
}

fn call(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(read(cx, opening))
}

async fn read(cx: &ReadContext, opening: Opening) -> ReadOutcome {
    static TAGS: OnceLock<ArgTags> = OnceLock::new();
    let tags = TAGS.get_or_init(|| ArgTags::of("tool_call", "ifm|", ""));
    match arg_pairs::call(cx, opening.after, tags, FORMAT).await {
        Some(end) => ReadOutcome::Block(end),
        None => json_body::read(cx, opening, &BLOCK).await,
    }
}
