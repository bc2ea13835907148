//! Apertus: `<|tools_prefix|>[{"get_weather": {…}}]<|tools_suffix|>`.

use super::{Dialect, Marker, Opening, Reading};
use crate::parse::draft::Shape;
use crate::parse::machine::Cx;
use crate::parse::read::json_body::{self, Body};

pub(super) const APERTUS: Dialect =
    Dialect { name: "apertus", markers: &[Marker::new("<|tools_prefix|>", read)] };

const BODY: Body = Body {
    format: "apertus",
    opens: &[],
    closes: &["<|tools_suffix|>"],
    stops: &["<|tools_suffix|>", "<|tools_prefix|>"],
    shape: Shape::Keyed,
};

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    json_body::reading(cx, opening, &BODY)
}
