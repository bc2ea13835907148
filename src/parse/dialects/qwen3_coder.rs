//! Qwen3-Coder: `<tool_call><function=name><parameter=key>…</parameter></function></tool_call>`.

use super::{Dialect, Marker, Opening, Reading, hermes};
use crate::parse::machine::Cx;
use crate::parse::read::invoke::{self, PLAIN, Style};

pub(super) const QWEN3_CODER: Dialect = Dialect {
    name: "qwen3_coder",
    markers: &[
        Marker::new("<tool_call>", read),
        Marker::new("<function=", read),
        Marker::new("<tool_call>", hermes::read),
    ],
};

pub(super) const STYLE: Style = Style {
    format: "qwen3_coder",
    wraps: &["<tool_call>"],
    closes: &["</tool_call>"],
    call: "<function",
    call_end: "</function>",
    lines: true,
    ..PLAIN
};

pub(super) fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(invoke::read(cx, opening, &STYLE))
}
