//! Nemotron: `<TOOLCALL>[{…}]</TOOLCALL>`.

use super::{Dialect, Marker, Opening, Reading};
use crate::parse::draft::Shape;
use crate::parse::machine::Cx;
use crate::parse::read::json_body::{self, Body};

pub(super) const NEMOTRON: Dialect =
    Dialect { name: "nemotron", markers: &[Marker::new("<TOOLCALL>", read)] };

const BODY: Body = Body {
    format: "nemotron",
    opens: &["<TOOLCALL>"],
    closes: &["</TOOLCALL>"],
    stops: &["</TOOLCALL>", "<TOOLCALL>"],
    shape: Shape::Marked,
};

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    json_body::reading(cx, opening, &BODY)
}
