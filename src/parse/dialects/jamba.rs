//! Jamba: `<tool_calls>[{…}]</tool_calls>`.

use super::{Dialect, Marker, Opening, Reading};
use crate::parse::draft::Shape;
use crate::parse::machine::Cx;
use crate::parse::read::json_body::{self, Body};

pub(super) const JAMBA: Dialect = Dialect { name: "jamba", markers: &[Marker::new("<tool_calls>", read)] };

const BODY: Body = Body {
    format: "jamba",
    opens: &["<tool_calls>"],
    closes: &["</tool_calls>"],
    stops: &["</tool_calls>", "<tool_calls>"],
    shape: Shape::Marked,
};

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    json_body::reading(cx, opening, &BODY)
}
