//! Granite: `<|tool_call|>[{…}]`, and older ones `<tool_call>[{…}]`.

use super::{Dialect, Marker, Opening, Reading, hermes};
use crate::parse::draft::Shape;
use crate::parse::machine::Cx;
use crate::parse::read::json_body::{self, Body};

pub(super) const GRANITE: Dialect = Dialect {
    name: "granite",
    markers: &[Marker::new("<|tool_call|>", read), Marker::new("<tool_call>", hermes::read)],
};

const BODY: Body =
    Body { format: "granite", opens: &[], closes: &[], stops: &["<|tool_call|>"], shape: Shape::Marked };

pub(super) fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    json_body::reading(cx, opening, &BODY)
}
