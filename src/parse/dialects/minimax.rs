//! MiniMax M2 (elements as Anthropic's in its own wrapper) and M3 (each tag behind a mark, parameters as elements).

use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::read::common;
use crate::read::invoke::{self, PLAIN, TagStyle};

pub(super) const MINIMAX_M2: CallDialect = CallDialect {
    name: "minimax_m2",
    markers: &[
        Marker::new("<minimax:tool_call>", m2),
        Marker::new("<invoke", m2),
        // What agents show the model as the tags of calls. The tag alone is that of others.
        Marker::new("<tool_call><invoke", m2),
        Marker::new("<tool_call>\n<invoke", m2),
    ],
};
pub(super) const MINIMAX_M3: CallDialect = CallDialect {
    name: "minimax_m3",
    markers: &[
        Marker::new("]<]minimax[>[<tool_call>", m3),
        Marker::new("]<]minimax[>[<invoke", m3),
        Marker::new("]<]minimax[>[</tool_call>", common::orphan),
        Marker::new("]<]minimax[>[</invoke>", common::orphan),
    ],
};

const M2: TagStyle = TagStyle {
    format: "minimax_m2",
    wraps: &["<minimax:tool_call>", "<tool_call>"],
    closes: &["</minimax:tool_call>", "</tool_call>"],
    ..PLAIN
};

const M3: TagStyle = TagStyle {
    format: "minimax_m3",
    wraps: &["]<]minimax[>[<tool_call>"],
    closes: &["]<]minimax[>[</tool_call>"],
    call: "]<]minimax[>[<invoke",
    call_end: "]<]minimax[>[</invoke>",
    elements: Some("]<]minimax[>["),
    ..PLAIN
};

fn m2(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(invoke::read(cx, opening, &M2))
}

fn m3(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(invoke::read(cx, opening, &M3))
}
