//! Anthropic: `<function_calls><invoke name="…"><parameter name="…">…</parameter></invoke></function_calls>`, the
//! same with the prefix of newer models, the older form with `<tool_name>`, and content blocks as JSON.

use super::json_bare;
use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture};
use crate::read::invoke::{self, PLAIN, TagStyle};

pub(super) const ANTHROPIC_XML: CallDialect = CallDialect {
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

const STYLE: TagStyle = TagStyle {
    format: "anthropic_xml",
    wraps: &["<function_calls>"],
    closes: &["</function_calls>"],
    ..PLAIN
};

const PREFIXED: TagStyle = TagStyle {
    format: "anthropic_xml",
    wraps: &["<antml:function_calls>"],
    closes: &["</antml:function_calls>"],
    call: "<antml:invoke",
    call_end: "</antml:invoke>",
    param: "<antml:parameter",
    param_end: "</antml:parameter>",
    ..PLAIN
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(invoke::read(cx, opening, &STYLE))
}

fn prefixed(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(invoke::read(cx, opening, &PREFIXED))
}
