//! Anthropic: `<function_calls><invoke name="…"><parameter name="…">…</parameter></invoke></function_calls>`, the
//! older form with `<tool_name>`, and content blocks pasted as JSON.

use super::{Dialect, Marker, Opening, Reading, json_bare};
use crate::parse::machine::Cx;
use crate::parse::read::invoke::{self, PLAIN, Style};

pub(super) const ANTHROPIC_XML: Dialect = Dialect {
    name: "anthropic_xml",
    markers: &[
        Marker::new("<function_calls>", read),
        Marker::new("<invoke", read),
        Marker::new("{", json_bare::read).weak(),
        Marker::new("[", json_bare::read).weak(),
    ],
};

const STYLE: Style =
    Style { format: "anthropic_xml", wraps: &["<function_calls>"], closes: &["</function_calls>"], ..PLAIN };

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(invoke::read(cx, opening, &STYLE))
}
