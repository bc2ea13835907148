//! Phi-4: `functools[{…}]`, and `<|tool_call|>[{…}]<|/tool_call|>`.

use super::{Dialect, Marker, Opening, Reading, granite};
use crate::parse::draft::Shape;
use crate::parse::machine::Cx;
use crate::parse::read::json_body::{self, Body};

pub(super) const PHI4: Dialect = Dialect {
    name: "phi4",
    markers: &[Marker::new("functools[", read), Marker::new("<|tool_call|>", granite::read)],
};

const BODY: Body =
    Body { format: "phi4", opens: &[], closes: &[], stops: &["functools["], shape: Shape::Marked };

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    // The bracket belongs to the list.
    let opening = Opening { after: opening.after - 1, ..opening };
    json_body::reading(cx, opening, &BODY)
}
