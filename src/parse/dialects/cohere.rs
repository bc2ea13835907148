//! Cohere Command: `<|START_ACTION|>[{"tool_name": …, "parameters": {…}}]<|END_ACTION|>`.

use super::{Dialect, Marker, Opening, Reading};
use crate::parse::draft::Shape;
use crate::parse::machine::Cx;
use crate::parse::read::json_body::{self, Body};

pub(super) const COHERE: Dialect =
    Dialect { name: "cohere", markers: &[Marker::new("<|START_ACTION|>", read)] };

const BODY: Body = Body {
    format: "cohere",
    opens: &[],
    closes: &["<|END_ACTION|>"],
    stops: &["<|END_ACTION|>", "<|START_ACTION|>"],
    shape: Shape::Marked,
};

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    json_body::reading(cx, opening, &BODY)
}
