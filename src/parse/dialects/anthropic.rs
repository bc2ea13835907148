//! Anthropic: `<function_calls><invoke name="…"><parameter name="…">…</parameter></invoke></function_calls>`, the
//! same with the prefix of the newer models, the older form with `<tool_name>`, and content blocks pasted as JSON.

use super::{Dialect, Marker, Opening, Reading, json_bare};
use crate::parse::machine::Cx;
use crate::parse::read::invoke::{self, PLAIN, Style};

pub(super) const ANTHROPIC_XML: Dialect = Dialect {
    name: "anthropic_xml",
    markers: &[
        Marker::new("<function_calls>", read),
        Marker::new("<invoke", read),
        Marker::new("<antml:function_calls>", prefixed),
        Marker::new("<antml:invoke", prefixed),
        json_bare::OBJECT,
        json_bare::LIST,
    ],
};

const STYLE: Style =
    Style { format: "anthropic_xml", wraps: &["<function_calls>"], closes: &["</function_calls>"], ..PLAIN };

const PREFIXED: Style = Style {
    format: "anthropic_xml",
    wraps: &["<antml:function_calls>"],
    closes: &["</antml:function_calls>"],
    call: "<antml:invoke",
    call_end: "</antml:invoke>",
    param: "<antml:parameter",
    param_end: "</antml:parameter>",
    ..PLAIN
};

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(invoke::read(cx, opening, &STYLE))
}

fn prefixed(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(invoke::read(cx, opening, &PREFIXED))
}
