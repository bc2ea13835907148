//! Step 3: special tokens around `<steptml:invoke name="…">`.

use super::{Dialect, Marker, Opening, Reading};
use crate::parse::machine::Cx;
use crate::parse::read::invoke::{self, PLAIN, Style};

pub(super) const STEP3: Dialect = Dialect {
    name: "step3",
    markers: &[
        Marker::new("<｜tool_calls_begin｜>", read),
        Marker::new("<｜tool_call_begin｜>", read),
        Marker::new("<steptml:invoke", read),
    ],
};

const STYLE: Style = Style {
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

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(invoke::read(cx, opening, &STYLE))
}
