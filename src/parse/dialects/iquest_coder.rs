//! IQuest Coder V2 and Q1: `<iquestcoder_tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></iquestcoder_tool_call>`; the tag of
//! Q1 is `<iquest_tool_call>`. The first version writes as Qwen3-Coder does.

use std::sync::OnceLock;

use super::{hermes, qwen3_coder};
use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::read::arg_pairs::{self, ArgTags};
use crate::read::common;

pub(super) const IQUEST_CODER: CallDialect = CallDialect {
    name: "iquest_coder",
    markers: &[
        Marker::new("<iquestcoder_tool_call>", coder),
        Marker::new("<iquest_tool_call>", q1),
        Marker::new("</iquestcoder_tool_call>", common::leftover),
        Marker::new("</iquest_tool_call>", common::leftover),
        Marker::new("<tool_call>", qwen3_coder::read),
        Marker::new("<function=", qwen3_coder::read),
        hermes::MARKER,
    ],
};

fn coder(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    static TAGS: OnceLock<ArgTags> = OnceLock::new();
    read(cx, opening, TAGS.get_or_init(|| ArgTags::of("iquestcoder_tool_call", "", "")))
}

fn q1(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    static TAGS: OnceLock<ArgTags> = OnceLock::new();
    read(cx, opening, TAGS.get_or_init(|| ArgTags::of("iquest_tool_call", "", "")))
}

fn read<'a>(cx: &'a ReadContext, opening: Opening, tags: &'static ArgTags) -> ReadFuture<'a> {
    Box::pin(async move {
        match arg_pairs::call(cx, opening.after, tags, "iquest_coder").await {
            Some(end) => ReadOutcome::Block(end),
            None => ReadOutcome::No,
        }
    })
}
