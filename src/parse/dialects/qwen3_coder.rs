//! Qwen3-Coder: `<tool_call><function=name><parameter=key>…</parameter></function></tool_call>`.

use super::hermes;
use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::read::invoke::{self, PLAIN, TagStyle};

pub(super) const QWEN3_CODER: CallDialect = CallDialect {
    name: "qwen3_coder",
    markers: &[
        Marker::new(WRAP, read),
        Marker::new("<function=", read),
        Marker::new("<function ", read),
        Marker::new(WRAP, by_parameter),
        Marker::new("<parameter=", by_parameter),
        hermes::MARKER,
    ],
};

const WRAP: &str = "<tool_call>";

pub(super) const STYLE: TagStyle = TagStyle {
    format: "qwen3_coder",
    wraps: &[WRAP],
    closes: &["</tool_call>"],
    call: "<function",
    call_end: "</function>",
    lines: true,
    ..PLAIN
};

/// A call that begins with `<parameter=name>` in place of `<function=name>`.
fn by_parameter(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let wrapped = cx.input.literal(opening.start, &[WRAP]).await;
        let at = cx.input.skip_space(opening.start + wrapped.map_or(0, |_| WRAP.len())).await;
        match invoke::by_parameter_tag(cx, at, &STYLE).await {
            Some(end) => ReadOutcome::Block(end),
            None => ReadOutcome::No,
        }
    })
}

pub(super) fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(invoke::read(cx, opening, &STYLE))
}
