//! Step 3: special tokens around `<steptml:invoke name="…">`.

use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::read::invoke::{self, PLAIN, TagStyle};

pub(super) const STEP3: CallDialect = CallDialect {
    name: "step3",
    markers: &[
        Marker::new("<｜tool_calls_begin｜>", read),
        Marker::new("<｜tool_call_begin｜>", read),
        Marker::new("<steptml:invoke", read),
    ],
};

const STYLE: TagStyle = TagStyle {
    format: "step3",
    wraps: &[
        "<｜tool_calls_begin｜>",
        "<｜tool_call_begin｜>",
        "function<｜tool_sep｜>",
        "<｜tool_sep｜>",
        "<｜tool_call_end｜>",
    ],
    closes: &["<｜tool_calls_end｜>"],
    call: "<steptml:invoke",
    call_end: "</steptml:invoke>",
    param: "<steptml:parameter",
    param_end: "</steptml:parameter>",
    ..PLAIN
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(invoke::read(cx, opening, &STYLE))
}
