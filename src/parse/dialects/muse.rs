//! Muse Glimmer and Spark: `<atem:function_calls><atem:invoke name="…">`, in messages with a recipient as gpt-oss has them.

use super::harmony;
use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::read::invoke::{self, PLAIN, TagStyle};

pub(super) const MUSE: CallDialect = CallDialect {
    name: "muse",
    markers: &[
        Marker::new("<atem:function_calls>", read),
        Marker::new("<atem:invoke", read),
        Marker::new("<|start|>", harmony::read),
        Marker::new("<|eom|>", harmony::token),
    ],
};

const STYLE: TagStyle = TagStyle {
    format: "muse",
    wraps: &["<atem:function_calls>"],
    closes: &["</atem:function_calls>"],
    call: "<atem:invoke",
    call_end: "</atem:invoke>",
    param: "<atem:parameter",
    param_end: "</atem:parameter>",
    ..PLAIN
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(invoke::read(cx, opening, &STYLE))
}
