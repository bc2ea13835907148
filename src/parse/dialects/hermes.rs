//! Hermes, Qwen, and the house format: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.

use super::{Dialect, Marker, Opening, Reading};
use crate::parse::draft::Shape;
use crate::parse::machine::Cx;
use crate::parse::read::json_body::{self, Body};

pub(super) const HERMES: Dialect = Dialect { name: "hermes", markers: &[Marker::new("<tool_call>", read)] };

const BODY: Body = Body {
    format: "hermes",
    opens: &["<tool_call>"],
    closes: &["</tool_call>"],
    stops: &["</tool_call>", "<tool_call>"],
    shape: Shape::Marked,
};

pub(super) fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(json_body::read(cx, opening, &BODY))
}
