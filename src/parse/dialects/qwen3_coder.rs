//! Qwen3-Coder: `<tool_call><function=name><parameter=key>…</parameter></function></tool_call>`.

use super::hermes;
use crate::parse::context::ReadContext;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::parse::read::invoke::{self, PLAIN, TagStyle};

pub(super) const QWEN3_CODER: CallDialect = CallDialect {
    name: "qwen3_coder",
    markers: &[Marker::new("<tool_call>", read), Marker::new("<function=", read), hermes::MARKER],
};

pub(super) const STYLE: TagStyle = TagStyle {
    format: "qwen3_coder",
    wraps: &["<tool_call>"],
    closes: &["</tool_call>"],
    call: "<function",
    call_end: "</function>",
    lines: true,
    ..PLAIN
};

pub(super) fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(invoke::read(cx, opening, &STYLE))
}
